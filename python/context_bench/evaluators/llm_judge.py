"""``LLMJudge``: a model as judge."""

from __future__ import annotations

from context_bench.evaluators import LLMJudge

__all__ = ["LLMJudge"]
