"""``NLILabelMatch``: labels of natural-language inference."""

from __future__ import annotations

from context_bench.evaluators import NLILabelMatch

__all__ = ["NLILabelMatch"]
