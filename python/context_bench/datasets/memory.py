"""Questions about long conversations."""

from __future__ import annotations

from context_bench.datasets.loading import Examples, Path, load

__all__ = [
    "locomo",
    "longmemeval",
]


def locomo(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Long conversations of two friends over months, with questions about them."""
    return load("locomo", n, config=config, split=split, path=path)


def longmemeval(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions about a history of chat sessions."""
    return load("longmemeval", n, config=config, split=split, path=path)
