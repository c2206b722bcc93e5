"""``CodeExecution``: generated code and its tests."""

from __future__ import annotations

from context_bench.evaluators import CodeExecution

__all__ = ["CodeExecution"]
