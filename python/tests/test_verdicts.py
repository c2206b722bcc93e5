"""Gates, stopping, controls and sweeps from Python, in the words of the program."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from context_bench import EvalResult, evaluate, evaluate_memory
from context_bench.evaluators import AnswerQuality
from context_bench.metrics import MeanScore


class Answers:
    """A system that knows the answers but for some."""

    def __init__(self, name: str, wrong: int) -> None:
        self.name = name
        self.wrong = wrong
        self.cache_key = f"{name} {wrong}"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        said = "no idea" if example["n"] < self.wrong else example["answer"]
        return {**example, "response": said}


def questions(numbers: range) -> list[dict[str, Any]]:
    # Without an id, which is their place then.
    return [{"n": n, "answer": f"wörd {n}"} for n in numbers]


def run(systems: list[Answers], numbers: range = range(40), **settings: Any) -> EvalResult:
    return evaluate(
        systems,
        questions(numbers),
        [AnswerQuality()],
        [MeanScore("f1")],
        progress=False,
        **settings,
    )


def test_gates_say_what_failed_and_nothing_is_raised(tmp_path: Path) -> None:
    policy = tmp_path / "policy é.txt"
    policy.write_text("error_rate > 0\n")
    systems = [Answers("gold", 0), Answers("half", 20)]
    rules = ["f1 < baseline - 0.02", "mean_score < 0.1"]
    result = run(systems, fail_if=rules, policy=policy, baseline="gold")
    assert [gate["status"] for gate in result.gates] == ["passed", "failed", "passed"]
    (failed,) = result.failed_gates
    assert failed["rule"] == rules[0] and failed["system"] == "half"
    assert failed["flips"]["n_lost"] == 20
    assert json.loads(result.to_json())["gates"] == result.gates
    again = pickle.loads(pickle.dumps(result))
    assert again.gates == result.gates
    assert again.to_json() == result.to_json()
    assert run(systems, fail_if="f1 < 0.1").failed_gates == []
    with pytest.raises(ValueError, match="percentage"):
        run(systems, fail_if="f1 < baseline - 2%")


def test_a_stored_run_is_matched_by_content(tmp_path: Path) -> None:
    run([Answers("app", 0)], range(0, 30), cache_dir=tmp_path)
    # Ten examples are gone, ten are new, and no id means what it meant.
    gate = {"fail_if": "f1 < baseline - 0.1", "baseline_run": "last"}
    result = run([Answers("app", 15)], range(10, 40), cache_dir=tmp_path, **gate)
    (failed,) = result.failed_gates
    assert failed["matched"] == {"paired": 20, "only_baseline": 10, "only_system": 10}
    assert failed["left"] == pytest.approx(0.75) and failed["flips"]["n_lost"] == 5
    with pytest.raises(ValueError, match="no store to find the baseline run `last` in"):
        run([Answers("app", 15)], **gate)


def test_a_number_that_is_all_there_is_is_no_place(tmp_path: Path) -> None:
    class Says:
        name = "says"
        cache_key = "says"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {**example, "response": f"{example['id']}"}

    class Knows:
        name = "knows"

        def score(self, original: dict[str, Any], output: dict[str, Any]) -> dict[str, float]:
            return {"f1": float(output["response"] == f"{original['id']}")}

    def ask(ids: range, **settings: Any) -> EvalResult:
        examples = [{"id": n} for n in ids]
        return evaluate(
            [Says()], examples, [Knows()], cache_dir=tmp_path, progress=False, **settings
        )

    ask(range(4))
    result = ask(range(2, 6), fail_if="f1 < baseline", baseline_run="last")
    (gate,) = result.gates
    assert gate["matched"] == {"paired": 2, "only_baseline": 2, "only_system": 2}


def test_a_run_stops_when_it_is_decided() -> None:
    # So many that calls which are under way by then are few of them.
    systems = [Answers("gold", 0), Answers("none", 4000)]
    result = run(systems, range(4000), margin=0.05, stop_when_decided=True)
    assert result.stopping is not None and result.stopping["ended_early"]
    assert result.stopping["systems"]["none"]["verdict"] == "worse"
    assert len(result.rows) < 8000 and result.stopping["saved"] > 0
    assert result.compare().verdicts == {"none": "worse"}
    with pytest.raises(ValueError, match="needs a margin"):
        run(systems, stop_when_decided=True)


def test_a_control_is_the_same_system_again() -> None:
    result = run([Answers("gold", 3)], control="gold")
    (control,) = result.controls
    assert control["system"] == "gold" and control["control"] == "gold (control)"
    assert set(result.summary) == {"gold", "gold (control)"}


def test_sweeps_have_curves() -> None:
    result = evaluate(
        [],
        "demo",
        [AnswerQuality()],
        [MeanScore("f1")],
        max_examples=12,
        sweep="truncate:ratio=0.2..1/3",
        repeats=1,
        progress=False,
    )
    (sweep,) = result.sweeps
    assert len(sweep["points"]) == 3 and len(result.summary) == 3


def test_sweeps_of_memories() -> None:
    turns = [{"speaker": "a", "text": f"note {n} says wörd{n}"} for n in range(12)]
    pairs = [{"question": f"what does note {n} say?", "answer": f"wörd{n}"} for n in range(6)]
    result = evaluate_memory(
        [],
        [{"id": "c", "turns": turns, "qa_pairs": pairs}],
        [AnswerQuality()],
        sweep="bm25:top_k=1..9/3",
        progress=False,
    )
    (sweep,) = result.sweeps
    assert [point["value"] for point in sweep["points"]] == [1, 5, 9]
    assert len(result.rows) == 18


def test_an_executor_cannot_stop_a_run_early() -> None:
    from context_bench.distributed import Ray

    with pytest.raises(ValueError, match="stop.when.decided"):
        run([Answers("gold", 0)], executor=Ray(), margin=0.1, stop_when_decided=True)
