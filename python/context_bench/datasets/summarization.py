"""Loaders that were known as ``context_bench.datasets.summarization``."""

from __future__ import annotations

from context_bench.datasets import (
    dialogsum,
    govreport,
    meetingbank,
    multi_news,
    qmsum,
    summscreenfd,
)

__all__ = [
    "dialogsum",
    "govreport",
    "meetingbank",
    "multi_news",
    "qmsum",
    "summscreenfd",
]
