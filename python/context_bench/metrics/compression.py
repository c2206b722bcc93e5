"""``CompressionRatio``: tokens that a layer saves."""

from __future__ import annotations

from context_bench.metrics.token_stats import CompressionRatio

__all__ = ["CompressionRatio"]
