"""Datasets from files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from context_bench import _native

__all__ = ["load_file", "load_jsonl"]


def load_jsonl(path: str | os.PathLike[str], n: int | None = None) -> list[dict[str, Any]]:
    """The examples of a file of JSON lines; those without ``id`` get their line number.

    A line that is no JSON object is an error that names file and line.
    """
    return load_file(path, n)


def load_file(
    path: str | os.PathLike[str],
    n: int | None = None,
    *,
    skip_bad_lines: bool = False,
    map: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """The examples of a file: JSON lines, JSON, CSV, TSV or Parquet, also compressed.

    ``map={"question": "prompt", "answer": "expected"}`` gives keys of the file the names that
    systems and evaluators know.
    """
    if n is not None and n < 0:
        raise ValueError(f"`n` cannot be {n}\nhint: leave it out to read all examples")
    named = None if map is None else list(map.items())
    return _native.load_dataset(os.fspath(path), n=n, skip_bad_lines=skip_bad_lines, map=named)
