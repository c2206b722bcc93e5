"""Loaders that the original tool has in this module."""

from __future__ import annotations

from context_bench.datasets.agent_traces import bfcl_simple
from context_bench.datasets.qa import hotpotqa
from context_bench.datasets.reasoning import gsm8k

__all__ = [
    "bfcl_simple",
    "gsm8k",
    "hotpotqa",
]
