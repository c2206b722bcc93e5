"""Loaders that were known as ``context_bench.datasets.longcontext``."""

from __future__ import annotations

from context_bench.datasets import (
    infinitebench,
    longbench,
    longbench_v2,
    nolima,
)

__all__ = [
    "infinitebench",
    "longbench",
    "longbench_v2",
    "nolima",
]
