"""Mathematics and other reasoning."""

from __future__ import annotations

from context_bench.datasets.loading import Examples, Path, load

__all__ = [
    "bbh",
    "drop",
    "gsm8k",
    "math_dataset",
    "mgsm",
]


def bbh(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """The 27 tasks of BIG-Bench that were hardest for language models."""
    return load("bbh", n, config=config, split=split, path=path)


def drop(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions that require counting, comparing and computing over a paragraph."""
    return load("drop", n, config=config, split=split, path=path)


def gsm8k(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Grade-school word problems with a number as the answer."""
    return load("gsm8k", n, config=config, split=split, path=path)


def math_dataset(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Competition mathematics with worked solutions."""
    return load("math", n, config=config, split=split, path=path)


def mgsm(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Grade-school word problems in eleven languages."""
    return load("mgsm", n, config=config, split=split, path=path)
