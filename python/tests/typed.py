"""Typed use of the package: checked by mypy and pyright, never run."""

from __future__ import annotations

from typing import Any

from context_bench import EvalResult, EvalRow, OpenAIProxy, evaluate
from context_bench.evaluators import AnswerQuality
from context_bench.metrics import MeanScore, ParetoRank, PassRate
from context_bench.tasks import TaskManager
from context_bench.types import Evaluator, Metric, System


class Halve:
    name = "halve"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        text: str = example["context"]
        return {**example, "response": text[: len(text) // 2]}


class Async:
    @property
    def name(self) -> str:
        return "async"

    async def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return example


class Kept:
    name = "kept"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"kept": len(processed) / len(original)}


class Spread:
    name = "spread"

    def compute(self, rows: list[EvalRow]) -> dict[str, float]:
        return {"spread": max(row.scores["kept"] for row in rows)}


systems: list[System] = [Halve(), Async(), OpenAIProxy("http://localhost:7878")]
evaluators: list[Evaluator] = [AnswerQuality(), Kept()]
metrics: list[Metric] = [MeanScore(score_field="f1"), PassRate(0.5), Spread(), ParetoRank()]
result: EvalResult = evaluate(systems, [{"context": "text"}], evaluators, metrics)
scores: dict[str, float] = result.rows[0].scores
mean: float = result.summary["halve"]["mean_score"]
text: str = result.filter(system="halve").to_json()
names: list[str] = [task.name for task in TaskManager("tasks").load("all").tasks]
