"""Loaders that were known as ``context_bench.datasets.qa``."""

from __future__ import annotations

from context_bench.datasets import (
    frames,
    musique,
    narrativeqa,
    natural_questions,
    qasper,
    quality,
    triviaqa,
)

__all__ = [
    "frames",
    "musique",
    "narrativeqa",
    "natural_questions",
    "qasper",
    "quality",
    "triviaqa",
]
