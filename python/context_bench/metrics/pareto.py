"""``ParetoRank``: which systems are better and cheaper."""

from __future__ import annotations

from context_bench.metrics.token_stats import ParetoRank

__all__ = ["ParetoRank"]
