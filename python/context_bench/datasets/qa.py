"""Questions to answer, most of them from a given text."""

from __future__ import annotations

from context_bench.datasets.loading import Examples, Path, load

__all__ = [
    "frames",
    "hotpotqa",
    "musique",
    "narrativeqa",
    "natural_questions",
    "qasper",
    "quality",
    "triviaqa",
]


def frames(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions that need several Wikipedia articles; no article is given."""
    return load("frames", n, config=config, split=split, path=path)


def hotpotqa(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions that combine facts from two of ten Wikipedia paragraphs."""
    return load("hotpotqa", n, config=config, split=split, path=path)


def musique(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions of two to four hops over twenty paragraphs."""
    return load("musique", n, config=config, split=split, path=path)


def narrativeqa(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions about books and films, over the summary or the whole story."""
    return load("narrativeqa", n, config=config, split=split, path=path)


def natural_questions(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions from web search with short answers; no passage is given."""
    return load("natural-questions", n, config=config, split=split, path=path)


def qasper(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions about research papers, over the whole paper."""
    return load("qasper", n, config=config, split=split, path=path)


def quality(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions about stories of some 5,000 words that require reading the whole story."""
    return load("quality", n, config=config, split=split, path=path)


def triviaqa(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Trivia with evidence from web search."""
    return load("triviaqa", n, config=config, split=split, path=path)
