"""Overlap of answers with what was expected."""

from __future__ import annotations

from context_bench.evaluators import AnswerQuality

__all__ = ["AnswerQuality"]
