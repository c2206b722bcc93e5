"""Instructions to follow."""

from __future__ import annotations

from context_bench.datasets.loading import Examples, Path, load

__all__ = [
    "alpaca_eval",
    "ifeval",
]


def alpaca_eval(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Open instructions with the answers of a reference model; needs a judge."""
    return load("alpaca-eval", n, config=config, split=split, path=path)


def ifeval(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Instructions that a program can check."""
    return load("ifeval", n, config=config, split=split, path=path)
