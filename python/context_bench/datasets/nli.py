"""Loaders that were known as ``context_bench.datasets.nli``."""

from __future__ import annotations

from context_bench.datasets import (
    contract_nli,
    scifact,
)

__all__ = [
    "contract_nli",
    "scifact",
]
