"""``MathEquivalence``: mathematical answers."""

from __future__ import annotations

from context_bench.evaluators import MathEquivalence

__all__ = ["MathEquivalence"]
