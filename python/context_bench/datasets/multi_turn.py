"""Conversations of several turns."""

from __future__ import annotations

from context_bench.datasets.loading import Examples, Path, load

__all__ = [
    "mt_bench",
]


def mt_bench(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Two-turn conversations in eight categories; needs a judge."""
    return load("mt-bench", n, config=config, split=split, path=path)
