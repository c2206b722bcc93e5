"""Measure what a context layer costs and what it loses.

    from context_bench import OpenAIProxy, evaluate
    from context_bench.evaluators import AnswerQuality
    from context_bench.metrics import MeanScore

A run has four stages, each with an open protocol: a dataset yields examples, systems process
them, evaluators score the outputs, and metrics summarize the scores.
"""

from __future__ import annotations

import os

#: The name of the distribution; ``context-bench`` on PyPI is another project.
__distribution__ = "context-bench-rs"

from context_bench import _installation

_installation.check(os.path.dirname(__file__))

from context_bench._native import __version__
from context_bench.memory import evaluate_memory
from context_bench.results import EvalResult, EvalRow, RowError
from context_bench.runner import EvaluationWarning, evaluate, run
from context_bench.systems import ClaudeCLI, OpenAIProxy, builtin_system
from context_bench.types import Evaluator, MemorySystem, Metric, System

__all__ = [
    "ClaudeCLI",
    "EvalResult",
    "EvalRow",
    "EvaluationWarning",
    "Evaluator",
    "MemorySystem",
    "Metric",
    "OpenAIProxy",
    "RowError",
    "System",
    "__version__",
    "builtin_system",
    "evaluate",
    "evaluate_memory",
    "run",
]
