"""Loaders that were known as ``context_bench.datasets.agent_traces``."""

from __future__ import annotations

from context_bench.datasets import (
    apigen_mt,
    swe_agent_traces,
    swebench,
    swebench_lite,
    swebench_verified,
)

__all__ = [
    "apigen_mt",
    "swe_agent_traces",
    "swebench",
    "swebench_lite",
    "swebench_verified",
]
