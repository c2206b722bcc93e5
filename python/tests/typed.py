"""Typed use of the package: checked by mypy and pyright, never run."""

from __future__ import annotations

from typing import Any

from context_bench import EvalResult, EvalRow, OpenAIProxy, evaluate, evaluate_memory
from context_bench.comparison import Comparison
from context_bench.evaluators import AnswerQuality
from context_bench.datasets import split_conversations
from context_bench.memory_systems import Mem0Memory
from context_bench.memory_types import (
    BenchmarkExample,
    BenchmarkQuery,
    ConversationTurn,
    IngestResult,
    Item,
    QueryResult,
)
from context_bench.metrics import MeanScore, ParetoRank, PassRate, PerQATypeMetric
from context_bench.tasks import TaskManager
from context_bench.types import Evaluator, MemorySystem, Metric, System, Turn


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


class Plain:
    name = "plain"

    def reset(self) -> None: ...

    def ingest(self, turns: list[Turn]) -> None: ...

    def query(self, question: str) -> str:
        return question


class Typed:
    name = "typed"

    def reset(self) -> None: ...

    def ingest(self, items: list[Item]) -> IngestResult:
        return IngestResult(len(items), 0.0)

    async def query(self, question: str, budget: int | None = None) -> QueryResult:
        return QueryResult(question, 0.0, context_tokens=budget or 0)


memories: list[MemorySystem] = [Plain(), Typed(), Mem0Memory("http://localhost:8000")]
talk = BenchmarkExample("1", [ConversationTurn("hi", "user")], [BenchmarkQuery("q", "a")])
train, test = split_conversations([talk])
remembered: EvalResult = evaluate_memory(
    [*memories, Plain, "bm25"], test, [AnswerQuality()], [PerQATypeMetric()], max_workers=2
)

systems: list[System] = [Halve(), Async(), OpenAIProxy("http://localhost:7878")]
evaluators: list[Evaluator] = [AnswerQuality(), Kept()]
metrics: list[Metric] = [MeanScore(score_field="f1"), PassRate(0.5), Spread(), ParetoRank()]
result: EvalResult = evaluate(systems, [{"context": "text"}], evaluators, metrics)
tapped: EvalResult = evaluate(
    [],
    [{"context": "text"}],
    evaluators,
    proxies=["kompact", "mine=http://localhost:7878", {"proxy": "headroom"}],
    upstream="https://api.openai.com",
    arms=["direct", "transform"],
    tap={"exclusive": True},
    requests={"model": "gpt-4o-mini", "api": "openai"},
)
calls: int = tapped.wire["kompact"]["calls"]
scores: dict[str, float] = result.rows[0].scores
mean: float = result.summary["halve"]["mean_score"]
text: str = result.filter(system="halve").to_json()
names: list[str] = [task.name for task in TaskManager("tasks").load("all").tasks]
compared: Comparison = result.compare(baseline="halve", margin=0.02)
verdicts: dict[str, str | None] = compared.verdicts
gated: EvalResult = evaluate(
    systems,
    "demo",
    evaluators,
    baseline="halve",
    margin=0.02,
    score_field="f1",
    fail_if=["f1 < baseline - 0.02"],
    policy="policy.txt",
    baseline_run="last",
    stop_when_decided=True,
    control="halve",
    sweep="extractive:ratio=0.1..0.8/3",
    repeats=2,
)
failed: list[dict[str, Any]] = gated.failed_gates
decided: dict[str, Any] | None = gated.stopping
curves: list[dict[str, Any]] = [*gated.sweeps, *gated.controls]
