"""``IFEvalChecker``: verifiable instructions."""

from __future__ import annotations

from context_bench.evaluators import IFEvalChecker

__all__ = ["IFEvalChecker"]
