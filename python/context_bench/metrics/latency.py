"""``Latency``: time inside systems."""

from __future__ import annotations

from context_bench.metrics.token_stats import Latency

__all__ = ["Latency"]
