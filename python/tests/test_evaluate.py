"""Runs of `evaluate`: objects of both worlds, and what happens when they fail."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from context_bench import EvaluationWarning, OpenAIProxy, builtin_system, evaluate
from context_bench.evaluators import AnswerQuality
from context_bench.metrics import CostOfPass, MeanScore, ParetoRank, PassRate

Example = dict[str, Any]


class Echo:
    """Answers with the context."""

    name = "echo"

    def process(self, example: Example) -> Example:
        return {**example, "response": example.get("context", "")}


class Called:
    """A system whose `process` is a function."""

    def __init__(self, function: Any, name: str = "called") -> None:
        self.name = name
        self.process = function


class Length:
    name = "length"

    def score(self, original: Example, processed: Example) -> dict[str, float]:
        return {"kept": len(processed["response"])}


def some(n: int) -> list[Example]:
    return [{"id": i, "context": f"text {i}", "answer": f"text {i}"} for i in range(n)]


@pytest.mark.parametrize("max_workers", [None, 1, 2, 16])
def test_rows_come_in_dataset_order_with_any_number_of_workers(max_workers: int | None) -> None:
    def slow_at_first(example: Example) -> Example:
        time.sleep(0.02 if example["id"] < 3 else 0)
        return {**example, "response": example["context"]}

    result = evaluate(
        [Called(slow_at_first, "a"), Echo()], some(40), [AnswerQuality(), Length()],
        [MeanScore("exact_match"), MeanScore(score_field="kept")],
        max_workers=max_workers, progress=False,
    )  # fmt: skip
    assert [row.system for row in result.rows] == ["a"] * 40 + ["echo"] * 40
    assert [row.example_id for row in result.rows] == [*range(40), *range(40)]
    assert result.counts["a"]["scored"] == 40
    assert result.config["max_workers"] == (max_workers or 1)
    assert all(set(row.scores) >= {"f1", "kept"} for row in result.rows)


def test_one_worker_means_the_calling_thread() -> None:
    threads = set()

    def note(example: Example) -> Example:
        threads.add(threading.current_thread())
        return {**example, "response": ""}

    def generate() -> Iterator[Example]:
        for example in some(5):
            threads.add(threading.current_thread())
            yield example

    class Noting:
        name = "noting"

        def score(self, original: Example, processed: Example) -> dict[str, float]:
            threads.add(threading.current_thread())
            return {"x": 1.0}

    evaluate([Called(note)], generate(), [Noting()], progress=False)
    assert threads == {threading.current_thread()}


def test_ids_keep_their_type_and_missing_ones_are_positions() -> None:
    dataset: list[Example] = [{"id": 1}, {"id": "1"}, {}, {"id": "é"}, {"id": None}]
    result = evaluate([Echo()], dataset, [], progress=False)
    assert [row.example_id for row in result.rows] == [1, "1", 2, "é", 4]


def test_a_system_that_raises_costs_its_row_and_keeps_the_traceback() -> None:
    def fail_at_two(example: Example) -> Example:
        if example["id"] == 2:
            raise ValueError("bad luck")
        return {**example, "response": example["context"]}

    with pytest.warns(EvaluationWarning, match="1 of 5 rows failed: ValueError: bad luck"):
        result = evaluate(
            [Called(fail_at_two)], some(5), [AnswerQuality()], [MeanScore("f1")], progress=False
        )
    (row,) = result.failures
    assert row.example_id == 2 and row.error is not None
    assert row.error.message == "ValueError: bad luck"
    assert row.error.traceback is not None and "fail_at_two" in row.error.traceback
    assert result.summary["called"] == {"mean_score": 1.0}
    assert result.statistics["called"]["mean_score"]["n"] == 4
    assert "fail_at_two" in result.to_json()


@pytest.mark.parametrize(
    ("returned", "found"), [(None, "None"), ("text", "a str"), ([1], "a list")]
)
def test_a_system_that_returns_something_else_is_named(returned: Any, found: str) -> None:
    with pytest.warns(EvaluationWarning):
        result = evaluate(
            [Called(lambda _: returned, "odd")], some(2), [AnswerQuality()], progress=False
        )
    for row in result.rows:
        assert row.error is not None
        assert row.error.message == f"system `odd` returned {found} instead of a dict"


def test_an_evaluator_that_raises_leaves_the_row_unscored() -> None:
    class Picky:
        name = "picky"

        def score(self, original: Example, processed: Example) -> Any:
            if original["id"] == 1:
                raise KeyError("missing")
            return {"good": "yes"} if original["id"] == 2 else {"good": True}

    with pytest.warns(EvaluationWarning, match="2 of 4 rows unscored"):
        result = evaluate(
            [Echo()], some(4), [Picky(), AnswerQuality()], [MeanScore("good")], progress=False
        )
    unscored = result.rows[1].unscored
    assert "KeyError: 'missing'" in unscored["picky"] and "Traceback" in unscored["picky"]
    assert result.rows[1].scores["f1"] == 1.0
    assert "is not a number" in result.rows[2].unscored["good"]
    assert result.summary["echo"]["mean_score"] == 1.0
    assert result.counts["echo"]["unscored"] == 2


def test_async_systems_and_evaluators_run_side_by_side() -> None:
    running = most = 0

    class Slow:
        name = "slow"

        async def process(self, example: Example) -> Example:
            nonlocal running, most
            running += 1
            most = max(most, running)
            until = time.monotonic() + 120
            while most < 2 and time.monotonic() < until:  # The first waits for the second.
                await asyncio.sleep(0.01)
            running -= 1
            if example["id"] == 7:
                raise RuntimeError("seven")
            return {**example, "response": example["context"]}

    class Judge:
        name = "judge"

        async def score(self, original: Example, processed: Example) -> dict[str, float]:
            await asyncio.sleep(0)
            return {"fine": 1.0}

    with pytest.warns(EvaluationWarning, match="seven"):
        result = evaluate([Slow()], some(20), [Judge()], max_workers=10, progress=False)
    assert 2 <= most <= 10
    assert sum(row.scores.get("fine", 0) for row in result.rows) == 19
    error = result.rows[7].error
    assert error is not None and error.traceback is not None
    assert "in process" in error.traceback


def test_what_user_code_changes_stays_with_it() -> None:
    dataset: list[Example] = [{"id": 0, "context": "c", "nested": {"list": [1]}}]
    seen: list[Example] = []

    def vandal(example: Example) -> Example:
        example["context"] = "gone"
        example["nested"]["list"].append(2)
        return {"response": "r"}

    class Seeing:
        name = "seeing"

        def score(self, original: Example, processed: Example) -> dict[str, float]:
            seen.append(original)
            return {"x": 0.0}

    evaluate([Called(vandal, "a"), Called(vandal, "b")], dataset, [Seeing()], progress=False)
    assert dataset == [{"id": 0, "context": "c", "nested": {"list": [1]}}]
    assert seen == [dataset[0]] * 2


def test_values_that_json_cannot_hold_reach_user_code_as_they_are() -> None:
    odd = {"bytes": b"\xff", "set": {1}, "big": 2**80, "nan": float("nan"), "tuple": (1, 2)}
    seen = {}

    def note(example: Example) -> Example:
        seen.update(example)
        return {"response": "x", "object": threading}

    class Noting:
        name = "noting"

        def score(self, original: Example, processed: Example) -> dict[str, float]:
            return {"same": float(processed["object"] is threading)}

    result = evaluate([Called(note)], [odd], [Noting()], progress=False)
    assert seen["big"] == 2**80 and seen["tuple"] == (1, 2) and seen["bytes"] == b"\xff"
    assert result.rows[0].scores == {"same": 1.0}


def test_conversations_are_held_turn_by_turn() -> None:
    turns = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]

    class Talker:
        name = "talker"

        def process(self, example: Example) -> Example:
            raise AssertionError("not for conversations")

        def process_conversation(self, turns: list[dict[str, str]]) -> list[dict[str, str]]:
            return [{"role": "assistant", "content": turn["content"].upper()} for turn in turns]

    class Last:
        name = "last"

        def score(self, original: Example, processed: Example) -> dict[str, float]:
            assert processed["turn_responses"] == ["ONE", "TWO"]
            return {"last": float(processed["response"] == "TWO")}

    dataset = [{"id": 0, "multi_turn": True, "turns": turns}]
    result = evaluate([Talker()], dataset, [Last()], progress=False)
    assert result.rows[0].scores == {"last": 1.0}


def test_metrics_keep_their_order_and_may_be_anything_with_compute() -> None:
    class Spread:
        name = "spread"

        def compute(self, rows: Any) -> dict[str, float]:
            values = [row.scores["f1"] for row in rows]
            return {"spread": max(values) - min(values), "n": len(rows)}

    result = evaluate(
        [Echo()], some(3), [AnswerQuality()],
        [PassRate(0.5, "f1"), Spread(), MeanScore("f1")], progress=False,
    )  # fmt: skip
    assert list(result.summary["echo"]) == ["pass_rate", "spread", "n", "mean_score"]
    assert result.config["metrics"] == ["pass_rate", "spread", "mean_score"]


def test_a_metric_that_raises_does_not_lose_the_rows() -> None:
    class Broken:
        name = "broken"

        def compute(self, rows: Any) -> dict[str, float]:
            raise ZeroDivisionError("oh")

    with pytest.raises(ZeroDivisionError) as caught:
        evaluate([Echo()], some(3), [AnswerQuality()], [Broken()], progress=False)
    assert len(caught.value.partial_result.rows) == 3  # type: ignore[attr-defined]


def test_ranks_are_computed_from_all_systems() -> None:
    short = Called(lambda example: {"response": example["context"]}, "short")
    result = evaluate(
        [Echo(), short], some(3), [AnswerQuality()],
        [MeanScore("f1"), CostOfPass(score_field="f1"), ParetoRank()], progress=False,
    )  # fmt: skip
    ranks = {name: numbers["pareto_rank"] for name, numbers in result.summary.items()}
    assert ranks == {"echo": 2.0, "short": 1.0}


@pytest.mark.parametrize(
    ("systems", "message"),
    [
        ([object()], "`object` object has no method `process`"),
        ([Echo], "the class `Echo` was passed as a system"),
        ([Called(len, name=3)], "`name` of `Called` must be a str, found int"),  # type: ignore[arg-type]
        (Echo(), "`systems` must be a list"),
    ],
)
def test_what_cannot_be_a_system_is_named(systems: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        evaluate(systems, some(1), [], progress=False)


def test_a_score_that_nobody_gives_is_an_error_before_anything_is_called() -> None:
    calls: list[Example] = []
    system = Called(lambda example: calls.append(example) or example)
    with pytest.raises(ValueError, match="no evaluator of this run yields the score `f2`"):
        evaluate([system], some(3), [AnswerQuality()], [MeanScore("f2")], progress=False)
    assert calls == []
    # Evaluators in Python do not say what they give: the rows are kept.
    with pytest.warns(EvaluationWarning, match="no row has the score `f2`"):
        result = evaluate([Echo()], some(3), [Length()], [MeanScore("f2")], progress=False)
    assert result.summary["echo"]["mean_score"] != result.summary["echo"]["mean_score"]


def test_a_dataset_must_yield_dicts() -> None:
    with pytest.raises(TypeError, match="iterable of dicts, found a int"):
        evaluate([Echo()], 3, [], progress=False)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="example 2 of the dataset must be a dict, found a int"):
        evaluate([Echo()], iter([{}, {}, 3]), [], progress=False)  # type: ignore[list-item]


def test_a_generator_that_raises_ends_the_run_with_its_exception() -> None:
    def broken() -> Iterator[Example]:
        yield from some(3)
        raise OSError("disk on fire")

    with pytest.raises(OSError, match="disk on fire"):
        evaluate([Echo()], broken(), [AnswerQuality()], progress=False)


@pytest.mark.parametrize(("max_examples", "left"), [(0, 0), (2, 2), (9, 5), (-2, 3), (None, 5)])
def test_max_examples(max_examples: int | None, left: int) -> None:
    pulled = 0

    def generate() -> Iterator[Example]:
        nonlocal pulled
        for example in some(5):
            pulled += 1
            yield example

    result = evaluate([Echo()], generate(), [], max_examples=max_examples, progress=False)
    assert len(result.rows) == left == result.config["num_examples"]
    if max_examples is not None and max_examples >= 0:
        assert pulled <= max_examples


def test_latency_is_the_time_inside_the_system() -> None:
    ended: list[float] = []
    scored: dict[int, float] = {}

    def sleep(example: Example) -> Example:
        time.sleep(0.03)
        ended.append(time.monotonic())
        return {**example, "response": ""}

    class SlowScore:
        name = "slow_score"

        def score(self, original: Example, processed: Example) -> dict[str, float]:
            scored[original["id"]] = time.monotonic()
            time.sleep(0.1)
            return {"x": 1.0}

    began = time.monotonic()
    result = evaluate([Called(sleep)], some(6), [SlowScore()], max_workers=1, progress=False)
    whole = time.monotonic() - began
    latencies = [row.latency for row in result.rows]
    assert all(latency >= 0.03 for latency in latencies)
    # One call after the other: what one waits for its turn belongs to another.
    assert sum(latencies) <= whole
    # A call begins where the one before has ended, and is over before it is scored.
    for i in range(1, 6):
        assert latencies[i] <= scored[i] - ended[i - 1]


def test_native_and_python_systems_run_together(url: str, examples: list[Example]) -> None:
    half = builtin_system("truncate:ratio=0.5", name="half")
    result = evaluate(
        [OpenAIProxy(url, name="proxy"), Echo(), half], examples, [AnswerQuality(), Length()],
        [MeanScore("recall")], max_workers=4, progress=False,
    )  # fmt: skip
    assert list(result.summary) == ["proxy", "echo", "half"]
    assert result.rows[0].metadata["total_tokens"] > 0
    assert result.counts["proxy"]["requests"] == 3


def test_a_dataset_by_name_is_read_natively() -> None:
    result = evaluate(
        [builtin_system("passthrough")], "demo", [AnswerQuality()], [MeanScore("f1")],
        max_examples=7, progress=False,
    )  # fmt: skip
    assert len(result.rows) == 7
    assert {row.dataset for row in result.rows} == {"demo"}
    with pytest.raises(ValueError, match="unknown dataset `dmeo`\nhint: did you mean `demo`"):
        evaluate([Echo()], "dmeo", [], progress=False)


def test_an_own_tokenizer_counts() -> None:
    result = evaluate(
        [Echo()], [{"context": "a b c"}], [], tokenizer=lambda text: len(text), progress=False
    )
    assert (result.rows[0].input_tokens, result.rows[0].output_tokens) == (5, 10)
    with pytest.warns(EvaluationWarning, match="2 of 2 rows failed: tokens cannot be counted"):
        evaluate([Echo()], some(2), [], tokenizer=lambda text: 1 // 0, progress=False)


@pytest.mark.parametrize("max_workers", [None, 2])
def test_only_a_slow_example_is_too_late(max_workers: int | None) -> None:
    def answer(example: Example) -> Example:
        if example["id"] == 0:
            time.sleep(5)
        return {**example, "response": "c"}

    examples = [{"id": i, "context": "c", "answer": "c"} for i in range(6)]
    with pytest.warns(EvaluationWarning):
        result = evaluate(
            [Called(answer)], examples, [AnswerQuality()], [MeanScore("f1")],
            example_timeout=2, max_workers=max_workers, progress=False,
        )  # fmt: skip
    # The others wait for the thread that the slow one holds, and that is not their time.
    assert [row.example_id for row in result.failures] == [0]
    assert result.rows[0].error is not None and result.rows[0].error.kind == "timeout"
