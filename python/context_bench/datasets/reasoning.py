"""Loaders that were known as ``context_bench.datasets.reasoning``."""

from __future__ import annotations

from context_bench.datasets import (
    bbh,
    drop,
    math_dataset,
    mgsm,
)

__all__ = [
    "bbh",
    "drop",
    "math_dataset",
    "mgsm",
]
