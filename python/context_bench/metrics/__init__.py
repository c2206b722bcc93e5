"""Metrics: named numbers computed from all rows of one system.

Failed and unscored rows are left out of means and counted separately; a number without any rows
is NaN.
"""

from __future__ import annotations

from context_bench.metrics.quality import (
    MeanScore,
    PassRate,
    PerDatasetBreakdown,
    PerQATypeMetric,
)
from context_bench.metrics.token_stats import (
    CompressionRatio,
    CostOfPass,
    Latency,
    ParetoRank,
    TokenEfficiencyMetric,
)

__all__ = [
    "CompressionRatio",
    "CostOfPass",
    "Latency",
    "MeanScore",
    "ParetoRank",
    "PassRate",
    "PerDatasetBreakdown",
    "PerQATypeMetric",
    "TokenEfficiencyMetric",
]
