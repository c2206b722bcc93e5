"""``PassRate``: the share of rows that pass."""

from __future__ import annotations

from context_bench.metrics.quality import PassRate

__all__ = ["PassRate"]
