"""`result.compare`: systems beside a baseline, as Python sees them."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from context_bench import EvalResult, evaluate
from context_bench.evaluators import AnswerQuality
from context_bench.metrics import MeanScore


class Answers:
    """A system that knows the answers but for some."""

    def __init__(self, name: str, wrong: int) -> None:
        self.name = name
        self.wrong = wrong

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        said = "no idea" if example["id"] < self.wrong else example["answer"]
        return {**example, "response": said}


@pytest.fixture(scope="module")
def result() -> EvalResult:
    dataset = [{"id": i, "answer": f"wörd {i}"} for i in range(60)]
    systems = [Answers("gold", 0), Answers("half", 30), Answers("same", 0)]
    return evaluate(systems, dataset, [AnswerQuality()], [MeanScore("f1")], progress=False)


def test_verdicts_and_sentences(result: EvalResult) -> None:
    found = result.compare(margin=0.05)
    assert found.baseline == "gold" and found.score == "f1" and found.margin == 0.05
    assert found.verdicts == {"half": "worse", "same": "inconclusive"}
    assert found.sentences[0].startswith("half against gold: ")
    assert found.sentences[0].endswith("worse by more than 5 points.")
    assert "more examples would decide" in found.sentences[1]
    assert str(found).splitlines()[0] == "Against gold"
    assert str(found).endswith(".")
    assert "| half |" in found.to_markdown()
    difference = found.systems[0]["differences"][0]
    assert difference["difference"] == -0.5
    assert difference["flips"] == {"gained": 0, "lost": 30, "same": 30}
    flips = found.systems[0]["flips"]
    assert flips[0]["system_answer"] == "no idea" and flips[0]["baseline_answer"] == "wörd 0"
    assert result.compare(baseline="half").verdicts == {"gold": "better", "same": "better"}


def test_it_is_the_member_of_the_json(result: EvalResult) -> None:
    written = json.loads(result.to_json())["comparison"]
    assert {one["system"]: one["verdict"] for one in written["systems"]} == {
        "half": "worse",
        "same": "inconclusive",
    }
    assert written["format"] == result.compare().to_dict()["format"] == 1
    again = pickle.loads(pickle.dumps(result))
    assert json.loads(again.to_json())["comparison"] == written
    assert again.compare().verdicts == result.compare().verdicts
    assert "Against gold" in repr(result) or "more lines" in repr(result)


def test_dataframe(result: EvalResult) -> None:
    pytest.importorskip("pandas")
    frame = result.compare(margin=0.05).to_dataframe()
    main = frame[(frame.scope == "all") & (frame.measure == "f1")]
    assert list(main.system) == ["half", "same"]
    assert (main.low <= main.difference).all() and (main.difference <= main.high).all()


def test_the_same_seed_gives_the_same_numbers(result: EvalResult) -> None:
    first = result.compare(seed=7, resamples=500).to_dict()
    assert result.compare(seed=7, resamples=500).to_dict() == first


def test_what_cannot_be_compared(result: EvalResult) -> None:
    with pytest.raises(ValueError, match="no system `golt`\nhint: did you mean"):
        result.compare(baseline="golt")
    with pytest.raises(ValueError, match="no score `f2`"):
        result.compare(score="f2")
    with pytest.raises(ValueError, match="margin must be a number of 0 or more"):
        result.compare(margin=-0.1)
    with pytest.raises(ValueError, match="a comparison takes two"):
        result.filter(system="gold").compare()
