"""Tasks over very long texts."""

from __future__ import annotations

from context_bench.datasets.loading import Examples, Path, load

__all__ = [
    "infinitebench",
    "longbench",
    "longbench_v2",
    "nolima",
]


def infinitebench(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Twelve tasks over texts of 100,000 tokens and more."""
    return load("infinitebench", n, config=config, split=split, path=path)


def longbench(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """21 tasks over long English and Chinese texts and code."""
    return load("longbench", n, config=config, split=split, path=path)


def longbench_v2(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Hard questions over 8,000 to 2,000,000 words."""
    return load("longbench-v2", n, config=config, split=split, path=path)


def nolima(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """A fact hidden in a long text, asked about in other words."""
    return load("nolima", n, config=config, split=split, path=path)
