"""``prompt``: the official prompt of a dataset."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

from context_bench import _native
from context_bench.datasets.loading import Path, _reference

__all__ = ["Prompt", "prompt"]


class Prompt:
    """How the authors of a dataset ask a model about its examples."""

    def __init__(self, native: _native.NativePrompt) -> None:
        self._native = native

    def messages(self, example: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Returns the messages about an example, with its current ``context``."""
        return self._native.messages(example)

    def generation(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the authors' generation settings (``max_tokens``, ``stop``, ``temperature``);
        empty for datasets without an official prompt."""
        return self._native.generation(example)


def prompt(
    name: str,
    *,
    config: str | None = None,
    split: str | None = None,
    path: Path | None = None,
) -> Prompt:
    """Returns the official prompt of a dataset, for systems that ask models themselves.

    Worked examples are loaded once, from the same source as the records. For a dataset without
    an official prompt, the messages are the plain ones: context, then question.

    Args:
        name: The dataset, also as ``name[:config][@split]``.
        config: The config, for datasets with several.
        split: The split of the records.
        path: A local copy with the same layout as on the hub.

    Raises:
        ValueError: If there is no such dataset, or its worked examples cannot be read.
    """
    local = None if path is None else os.fspath(path)
    native = _native.NativePrompt(_reference(name, config, split), local)
    for notice in native.notices():
        warnings.warn(notice, stacklevel=2)
    return Prompt(native)
