"""Loaders that were known as ``context_bench.datasets.code``."""

from __future__ import annotations

from context_bench.datasets import (
    humaneval,
    mbpp,
)

__all__ = [
    "humaneval",
    "mbpp",
]
