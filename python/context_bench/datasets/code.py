"""Code to write."""

from __future__ import annotations

from context_bench.datasets.loading import Examples, Path, load

__all__ = [
    "humaneval",
    "mbpp",
]


def humaneval(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Python functions to complete from signature and docstring, with tests."""
    return load("humaneval", n, config=config, split=split, path=path)


def mbpp(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Short Python tasks with three assertions each."""
    return load("mbpp", n, config=config, split=split, path=path)
