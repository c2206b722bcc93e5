"""Loaders that were known as ``context_bench.datasets.knowledge``."""

from __future__ import annotations

from context_bench.datasets import (
    arc_challenge,
    gpqa,
    hellaswag,
    mmlu,
    mmlu_pro,
    truthfulqa,
    winogrande,
)

__all__ = [
    "arc_challenge",
    "gpqa",
    "hellaswag",
    "mmlu",
    "mmlu_pro",
    "truthfulqa",
    "winogrande",
]
