"""Multiple-choice questions about knowledge."""

from __future__ import annotations

from context_bench.datasets.loading import Examples, Path, load

__all__ = [
    "arc_challenge",
    "gpqa",
    "hellaswag",
    "mmlu",
    "mmlu_pro",
    "truthfulqa",
    "winogrande",
]


def arc_challenge(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Science questions of school exams that simple retrieval answers wrongly."""
    return load("arc-challenge", n, config=config, split=split, path=path)


def gpqa(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions in biology, physics and chemistry, written by experts."""
    return load("gpqa", n, config=config, split=split, path=path)


def hellaswag(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Which of four sentences continues a description."""
    return load("hellaswag", n, config=config, split=split, path=path)


def mmlu(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Multiple-choice questions in 57 subjects, from school to profession."""
    return load("mmlu", n, config=config, split=split, path=path)


def mmlu_pro(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Harder multiple-choice questions with up to ten options."""
    return load("mmlu-pro", n, config=config, split=split, path=path)


def truthfulqa(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions that many people answer wrongly because of common misconceptions."""
    return load("truthfulqa", n, config=config, split=split, path=path)


def winogrande(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Which of two names fills the gap in a sentence."""
    return load("winogrande", n, config=config, split=split, path=path)
