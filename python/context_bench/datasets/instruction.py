"""Loaders that were known as ``context_bench.datasets.instruction``."""

from __future__ import annotations

from context_bench.datasets import (
    alpaca_eval,
)

__all__ = [
    "alpaca_eval",
]
