"""``CostOfPass``: tokens per passing row."""

from __future__ import annotations

from context_bench.metrics.token_stats import CostOfPass

__all__ = ["CostOfPass"]
