"""Judges and metrics of answers from memory, with the original's names and constructors."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from context_bench import EvalRow, evaluate
from context_bench.evaluators import FalseMemoryRate, MemoryJudge, RetrievalQuality
from context_bench.metrics import MeanScore, PerQATypeMetric, TokenEfficiencyMetric

CASES = Path(__file__).parents[2] / "crates/context-bench-testkit/worked/context-bench.json"

QUESTION = {"question": "When did Ada move?", "answer": "in May", "context": "USER: It was May."}


@pytest.mark.parametrize("judge", [MemoryJudge, FalseMemoryRate])
def test_judges_have_the_original_constructor(judge: type[MemoryJudge | FalseMemoryRate]) -> None:
    parameters = list(inspect.signature(judge).parameters.values())
    assert [(one.name, one.default) for one in parameters] == [
        ("base_url", inspect.Parameter.empty),
        ("model", "claude-haiku-4-5-20251001"),
        ("api_key", None),
        ("timeout", 60.0),
        ("max_retries", 3),
        ("retry_base_delay", 1.0),
    ]
    made = judge("http://localhost:1", "m", "k", 5.0, 0, 0.5)
    assert made.name == {MemoryJudge: "memory_judge", FalseMemoryRate: "false_memory_rate"}[judge]
    with pytest.raises(ValueError, match="`max_retries` must be a whole number"):
        judge("http://localhost:1", max_retries=-1)
    with pytest.raises(ValueError, match="retry_base_delay"):
        judge("http://localhost:1", retry_base_delay=-1.0)
    with pytest.raises(ValueError, match="has no endpoint"):
        judge("")


def test_verdicts_become_scores(serve: Callable[..., str]) -> None:
    said = {"response": "in May"}
    yes, no = serve("--reply", "YES\nSame month."), serve("--reply", "No, it differs.")
    assert MemoryJudge(yes).score(QUESTION, said) == {"memory_judge": 1.0, "memory_judge_raw": 1.0}
    assert MemoryJudge(no).score(QUESTION, said) == {"memory_judge": 0.0, "memory_judge_raw": 0.0}
    assert FalseMemoryRate(yes).score(QUESTION, said) == {"false_memory": 1.0}
    assert FalseMemoryRate(no).score(QUESTION, said) == {"false_memory": 0.0}
    assert FalseMemoryRate(yes).score(QUESTION, {"response": ""}) == {"false_memory": 0.0}
    nobody = "http://127.0.0.1:9"
    empty = MemoryJudge(nobody).score(QUESTION, {"response": " "})
    assert empty == {"memory_judge": 0.0, "memory_judge_raw": 0.0}


@pytest.mark.parametrize("judge", [MemoryJudge, FalseMemoryRate])
def test_a_judge_that_fails_scores_nothing(
    serve: Callable[..., str], judge: type[MemoryJudge | FalseMemoryRate]
) -> None:
    said = {"response": "in May"}
    with pytest.raises(RuntimeError, match="neither yes nor no"):
        judge(serve("--reply", "Maybe")).score(QUESTION, said)
    broken = serve("--fault-share", "1", "--fault-kinds", "500")
    with pytest.raises(RuntimeError, match="the judge failed"):
        judge(broken, max_retries=0).score(QUESTION, said)

    class Memory:
        name = "memory"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {**example, "response": "in May"}

    field = judge("http://localhost:1").score_names[0]
    result = evaluate(
        [Memory()],
        [{"id": 1, **QUESTION}],
        [judge(broken, max_retries=1, retry_base_delay=0.0)],
        [MeanScore(field)],
        progress=False,
    )
    assert result.rows[0].scores == {}
    assert "the judge failed" in result.rows[0].unscored[field]
    assert math.isnan(result.summary["memory"]["mean_score"])
    assert result.counts["memory"]["judge_requests"] == 2


def test_recalled_turns_against_evidence() -> None:
    found = RetrievalQuality(k=2).score(
        {"evidence": ["D1:2", "D1:9"]}, {"response": "", "recalled": ["D1:1", "D1:2", "D1:9"]}
    )
    assert found == {
        "recall_at_2": 0.5,
        "retrieval_recall": 1.0,
        "mrr": 0.5,
        "ndcg_at_2": pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3))),
    }
    with pytest.raises(RuntimeError, match="does not tell what it recalled"):
        RetrievalQuality().score({"evidence": ["D1:2"]}, {"response": ""})
    with pytest.raises(ValueError, match="`k`"):
        RetrievalQuality(k=0)


def test_a_system_that_does_not_tell_what_it_recalled_is_not_measured() -> None:
    class Memory:
        def __init__(self, name: str, told: dict[str, Any]) -> None:
            self.name, self.told = name, told

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {**example, "response": "in May", **self.told}

    result = evaluate(
        [
            Memory("tells", {"recalled": ["D1:2"]}),
            Memory("nothing", {"recalled": []}),
            Memory("silent", {}),
        ],
        [{"id": 1, "evidence": ["D1:2"], **QUESTION}, {"id": 2, **QUESTION}],
        [RetrievalQuality()],
        [MeanScore("recall_at_10")],
        progress=False,
    )
    means = {name: numbers["mean_score"] for name, numbers in result.summary.items()}
    assert means == pytest.approx({"tells": 1.0, "nothing": 0.0, "silent": math.nan}, nan_ok=True)
    counts = {name: counts["not_applicable"] for name, counts in result.counts.items()}
    assert counts == {"tells": 1, "nothing": 1, "silent": 2}
    assert not any(row.unscored for row in result.rows)


def cases(component: str) -> list[dict[str, Any]]:
    return [case for case in json.loads(CASES.read_text()) if case["component"] == component]


#: A missing score is not read as 0 (docs/differences.md).
DIFFERENT = {
    "cb-0321": {"contains_t": math.nan, "contains_mean": math.nan},
    "cb-0439": {"f1_temporal": 1.0, "f1_mean": 1.0},
    "cb-0441": dict.fromkeys(
        (
            "token_efficiency",
            "token_efficiency_raw",
            "mean_score",
            "mean_input_tokens",
            "mean_ingest_latency",
            "mean_query_latency",
        ),
        math.nan,
    ),
}


@pytest.mark.parametrize("metric", [PerQATypeMetric, TokenEfficiencyMetric])
def test_worked_cases_of_metrics(
    metric: type[PerQATypeMetric | TokenEfficiencyMetric],
) -> None:
    found = cases(metric.__name__)
    assert found
    for case in found:
        rows = [
            EvalRow(
                "s", at, row["scores"], row.get("input_tokens", 0), 0, metadata=row.get("metadata")
            )
            for at, row in enumerate(case["input"]["rows"])
        ]
        computed = metric(**case["input"]["params"]).compute(rows)
        expected = DIFFERENT.get(case["id"], case["expected"])
        assert list(computed) == list(expected), case["id"]
        assert computed == pytest.approx(expected, nan_ok=True), case["id"]
    assert metric().score_field == "f1" and metric("recall").score_field == "recall"


def test_worked_cases_of_the_memory_judge(serve: Callable[..., str]) -> None:
    unscored = {"cb-0254", "cb-0256", "cb-0446", "cb-0447"}
    for case in cases("MemoryJudge"):
        given = case["input"]
        if given.get("judge_error"):
            url = serve("--fault-share", "1", "--fault-kinds", "503")
        else:
            url = serve("--reply", given["judge_reply"])
        judge = MemoryJudge(url, max_retries=0)
        if case["id"] in unscored:
            with pytest.raises(RuntimeError):
                judge.score(given["original"], given["processed"])
        else:
            assert judge.score(given["original"], given["processed"]) == case["expected"]
