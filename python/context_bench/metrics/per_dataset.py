"""``PerDatasetBreakdown``: the mean score of each dataset."""

from __future__ import annotations

from context_bench.metrics.quality import PerDatasetBreakdown

__all__ = ["PerDatasetBreakdown"]
