"""Loaders that were known as ``context_bench.datasets.multi_turn``."""

from __future__ import annotations

from context_bench.datasets import (
    mt_bench,
)

__all__ = [
    "mt_bench",
]
