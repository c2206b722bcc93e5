"""What the documentation of the original shows, in our own words: it must work as is."""

from __future__ import annotations

from typing import Any

from context_bench import evaluate
from context_bench.evaluators import AnswerQuality
from context_bench.metrics import (
    CompressionRatio,
    CostOfPass,
    Latency,
    MeanScore,
    PassRate,
    PerDatasetBreakdown,
)
from context_bench.metrics.token_stats import ParetoRank
from context_bench.registry import load_dataset, register_dataset, registry
from context_bench.results import EvalRow
from context_bench.types import Metric, System


class MySystem:
    """`name` as a property, not an attribute."""

    @property
    def name(self) -> str:
        return "my-system"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {**example, "response": example["answer"]}


class Worse:
    name = "worse"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {**example, "response": "I do not know, and I say so at length."}


class MaxScore:
    name = "max-score"

    def __init__(self, score_field: str = "f1") -> None:
        self.score_field = score_field

    def compute(self, rows: list[EvalRow]) -> dict[str, float]:
        scores = [row.scores.get(self.score_field, 0.0) for row in rows]
        return {"max_score": max(scores) if scores else 0.0}


HOTPOTQA = [{"id": i, "context": "c", "answer": f"word {i}", "dataset": "hotpotqa"} for i in range(3)]
GSM8K = [{"id": i, "context": "c", "answer": str(i), "dataset": "gsm8k"} for i in range(2)]


def test_datasets_are_joined_and_broken_down() -> None:
    result = evaluate(
        systems=[MySystem()],
        dataset=HOTPOTQA + GSM8K,
        evaluators=[AnswerQuality()],
        metrics=[MeanScore(score_field="f1"), PerDatasetBreakdown(score_field="f1")],
        progress=False,
    )
    broken_down = {
        key: score
        for key, score in result.summary["my-system"].items()
        if key.startswith("dataset:")
    }
    assert broken_down == {"dataset:gsm8k": 1.0, "dataset:hotpotqa": 1.0}
    assert list(broken_down) == sorted(broken_down)


def test_metrics_of_both_kinds_and_ranks_afterwards() -> None:
    result = evaluate(
        systems=[MySystem(), Worse()],
        dataset=HOTPOTQA,
        evaluators=[AnswerQuality()],
        metrics=[
            MeanScore(score_field="f1"),
            PassRate(score_field="f1", threshold=0.7),
            CompressionRatio(),
            CostOfPass(score_field="f1", threshold=0.7),
            Latency(),
            MaxScore(score_field="f1"),
        ],
        max_workers=4,
        progress=False,
    )
    assert result.summary["my-system"]["max_score"] == 1.0
    keys = ["mean_score", "pass_rate", "compression_ratio", "mean_input_tokens",
            "mean_output_tokens", "cost_of_pass", "num_passing", "latency_mean", "latency_median",
            "latency_p95", "latency_p99", "max_score"]  # fmt: skip
    assert list(result.summary["my-system"]) == keys
    ranks = ParetoRank.rank_systems(
        result.summary, quality_field="mean_score", cost_field="cost_of_pass"
    )
    assert ranks == {"my-system": 1, "worse": 2}
    assert result.summary["worse"]["cost_of_pass"] == float("inf")
    assert len(result.filter(system="worse").rows) == 3


def test_registering_both_ways() -> None:
    def my_loader(n: int | None = None) -> list[dict[str, Any]]:
        return HOTPOTQA[:n]

    registry.register("dataset", "my-data", my_loader)
    register_dataset("my-other-data", my_loader)
    assert load_dataset("my-data", n=2) == HOTPOTQA[:2]
    assert {"my-data", "my-other-data"} <= set(registry.list("dataset"))


def test_protocols_are_checked_by_members() -> None:
    assert isinstance(MySystem(), System)
    assert isinstance(MaxScore(), Metric)
    assert not isinstance(MaxScore(), System)


def test_a_single_score_by_hand() -> None:
    scores = AnswerQuality().score({"answer": "Paris"}, {"response": "The capital is Paris."})
    assert scores == {"f1": 0.5, "exact_match": 0.0, "recall": 1.0, "contains": 1.0}
