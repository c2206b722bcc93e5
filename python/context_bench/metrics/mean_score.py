"""``MeanScore``: the mean of a score."""

from __future__ import annotations

from context_bench.metrics.quality import MeanScore

__all__ = ["MeanScore"]
