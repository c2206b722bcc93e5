"""Metrics: all rows of one system as named numbers.

All of them are native. Failed and unscored rows are left out of means and counted
beside them; a number that rests on nothing is NaN.
"""

from __future__ import annotations

from context_bench.metrics.quality import MeanScore, PassRate, PerDatasetBreakdown
from context_bench.metrics.token_stats import (
    CompressionRatio,
    CostOfPass,
    Latency,
    ParetoRank,
)

__all__ = [
    "CompressionRatio",
    "CostOfPass",
    "Latency",
    "MeanScore",
    "ParetoRank",
    "PassRate",
    "PerDatasetBreakdown",
]
