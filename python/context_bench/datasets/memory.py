"""Loaders that were known as ``context_bench.datasets.memory``."""

from __future__ import annotations

from context_bench.datasets import (
    locomo,
    longmemeval,
)

__all__ = [
    "locomo",
    "longmemeval",
]
