"""``AnswerQuality``: token overlap with the reference answer."""

from __future__ import annotations

from context_bench.evaluators import AnswerQuality

__all__ = ["AnswerQuality"]
