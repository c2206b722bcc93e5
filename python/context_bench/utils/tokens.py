"""Token counting.

The default encoding is ``cl100k_base``. Set another tokenizer for the process with
``set_tokenizer``, or pass one to ``evaluate(..., tokenizer=...)``. Special tokens that are
spelled out in a text count as plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from context_bench import _native

__all__ = ["Tokenizer", "count_tokens", "count_tokens_dict", "current", "names", "set_tokenizer"]

#: The name of a built-in tokenizer, or a function from text to a number of tokens.
Tokenizer = str | Callable[[str], int]

_current: Tokenizer | None = None


def names() -> list[str]:
    """Returns the names of the built-in tokenizers, the default first."""
    return _native.tokenizer_names()


def current() -> Tokenizer | None:
    """Returns the tokenizer that was set for this process, if any."""
    return _current


def set_tokenizer(tokenizer: Tokenizer | None) -> None:
    """Sets the tokenizer of this process; ``None`` restores the default."""
    global _current
    if isinstance(tokenizer, str):
        _native.count_tokens("", tokenizer)  # raises on an unknown name
    _current = tokenizer


def count_tokens(text: str, tokenizer: Tokenizer | None = None) -> int:
    """Returns the number of tokens in a text.

    >>> count_tokens("hello world")
    2
    """
    chosen = tokenizer if tokenizer is not None else _current
    if callable(chosen):
        return chosen(text)
    return _native.count_tokens(text, chosen or names()[0])


def field_names(text_fields: Iterable[str] | str) -> list[str]:
    """Returns a list of field names; a ``str`` is a single name."""
    return [text_fields] if isinstance(text_fields, str) else list(text_fields)


def count_tokens_dict(
    fields: Mapping[str, Any],
    text_fields: Iterable[str] | str | None = None,
    tokenizer: Tokenizer | None = None,
) -> int:
    """Returns the total number of tokens in the top-level texts of a dict.

    Nested values, numbers and ``None`` do not count. With ``text_fields``, only those keys count.
    """
    wanted = None if text_fields is None else set(field_names(text_fields))
    return sum(
        count_tokens(value, tokenizer)
        for key, value in fields.items()
        if isinstance(value, str) and (wanted is None or key in wanted)
    )
