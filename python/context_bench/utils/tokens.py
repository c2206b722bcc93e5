"""Token counting, with a tokenizer that can be exchanged.

Counts are those of the encoding ``cl100k_base`` unless another one is set for the
process (``set_tokenizer``) or passed to ``evaluate(..., tokenizer=...)``. Spellings of
special tokens count as plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from context_bench import _native

__all__ = ["Tokenizer", "count_tokens", "count_tokens_dict", "current", "names", "set_tokenizer"]

#: A name of a built-in tokenizer, or a function from a text to a number of tokens.
Tokenizer = str | Callable[[str], int]

_current: Tokenizer | None = None


def names() -> list[str]:
    """The built-in tokenizers, the default first."""
    return _native.tokenizer_names()


def current() -> Tokenizer | None:
    """The tokenizer that was set for this process, if one was."""
    return _current


def set_tokenizer(tokenizer: Tokenizer | None) -> None:
    """Counts with this tokenizer from now on; ``None`` goes back to the default."""
    global _current
    if isinstance(tokenizer, str):
        _native.count_tokens("", tokenizer)  # an unknown name is an error now
    _current = tokenizer


def count_tokens(text: str, tokenizer: Tokenizer | None = None) -> int:
    """How many tokens a text has.

    >>> count_tokens("hello world")
    2
    """
    chosen = tokenizer if tokenizer is not None else _current
    if callable(chosen):
        return chosen(text)
    return _native.count_tokens(text, chosen or names()[0])


def field_names(text_fields: Iterable[str] | str) -> list[str]:
    """Names of fields; a text is one name and not its letters."""
    return [text_fields] if isinstance(text_fields, str) else list(text_fields)


def count_tokens_dict(
    fields: Mapping[str, Any],
    text_fields: Iterable[str] | str | None = None,
    tokenizer: Tokenizer | None = None,
) -> int:
    """How many tokens the top-level texts of a dict have together.

    Nested values, numbers and ``None`` never count. With ``text_fields`` only those
    keys do.
    """
    wanted = None if text_fields is None else set(field_names(text_fields))
    return sum(
        count_tokens(value, tokenizer)
        for key, value in fields.items()
        if isinstance(value, str) and (wanted is None or key in wanted)
    )
