"""Loaders that were known as ``context_bench.datasets.huggingface``."""

from __future__ import annotations

from context_bench.datasets import (
    bfcl_simple,
    gsm8k,
    hotpotqa,
)

__all__ = [
    "bfcl_simple",
    "gsm8k",
    "hotpotqa",
]
