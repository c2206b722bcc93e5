"""``SummarizationQuality``: ROUGE of summaries."""

from __future__ import annotations

from context_bench.evaluators import SummarizationQuality

__all__ = ["SummarizationQuality"]
