"""Texts to summarize."""

from __future__ import annotations

from context_bench.datasets.loading import Examples, Path, load

__all__ = [
    "dialogsum",
    "govreport",
    "meetingbank",
    "multi_news",
    "qmsum",
    "summscreenfd",
]


def dialogsum(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Everyday dialogues and their summaries."""
    return load("dialogsum", n, config=config, split=split, path=path)


def govreport(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Reports of United States agencies and their summaries."""
    return load("govreport", n, config=config, split=split, path=path)


def meetingbank(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Transcripts of city council meetings and their minutes."""
    return load("meetingbank", n, config=config, split=split, path=path)


def multi_news(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Several news articles about one event, to be summarized together."""
    return load("multi-news", n, config=config, split=split, path=path)


def qmsum(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions about meetings, answered by summarizing the transcript."""
    return load("qmsum", n, config=config, split=split, path=path)


def summscreenfd(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Transcripts of television episodes and their recaps."""
    return load("summscreenfd", n, config=config, split=split, path=path)
