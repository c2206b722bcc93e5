"""Datasets that need no network: files, and the bundled demo."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from context_bench import _native
from context_bench.datasets.loading import Examples, load

__all__ = ["demo", "load_file", "load_jsonl"]


def demo(n: int | None = None) -> Examples:
    """110 questions about invented documents, bundled with the package."""
    return load("demo", n)


def load_jsonl(path: str | os.PathLike[str], n: int | None = None) -> list[dict[str, Any]]:
    """Loads a file of JSON lines; examples without an ``id`` get their line number.

    Raises:
        ValueError: If a line is not a JSON object; the message names file and line.
    """
    return load_file(path, n)


def load_file(
    path: str | os.PathLike[str],
    n: int | None = None,
    *,
    skip_bad_lines: bool = False,
    map: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Loads a file: JSON lines, JSON, CSV, TSV or Parquet, also compressed.

    Args:
        path: The file.
        n: The maximum number of examples.
        skip_bad_lines: Whether to skip records that cannot be read.
        map: The keys of the file that hold known fields, such as ``{"question": "prompt",
            "answer": "expected"}``.

    Raises:
        ValueError: If the file cannot be read.
    """
    if n is not None and n < 0:
        raise ValueError(f"`n` cannot be {n}\nhint: leave it out to load all examples")
    named = None if map is None else list(map.items())
    return _native.load_dataset(os.fspath(path), n=n, skip_bad_lines=skip_bad_lines, map=named)
