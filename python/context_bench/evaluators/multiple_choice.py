"""``MultipleChoiceAccuracy``: multiple-choice answers."""

from __future__ import annotations

from context_bench.evaluators import MultipleChoiceAccuracy

__all__ = ["MultipleChoiceAccuracy"]
