"""Files of examples: what both front ends say of them, and what Python may do with any row."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import context_bench
import pytest
from context_bench import EvaluationWarning, evaluate
from context_bench.datasets import load_file
from context_bench.evaluators import AnswerQuality
from context_bench.systems import OpenAIProxy
from fronts import Model, Program, Seen, package, same

Spec = dict[str, Any]

OTHER_KEYS = [
    {"prompt": "Capital of France?", "expected": "Paris"},
    {"prompt": "Capital of Italy?", "expected": "Rome"},
]


@pytest.fixture
def both(program: Program, tmp_path: Path) -> Callable[[Spec], Seen]:
    def run(spec: Spec) -> Seen:
        ours = program.spec(spec, tmp_path)
        same(ours, package(lambda: context_bench.run(spec, progress=False)))
        return ours

    return run


def lines(path: Path, records: list[dict[str, Any]]) -> str:
    path.write_text("\n".join(map(json.dumps, records)))
    return str(path)


def test_a_file_with_other_keys(
    both: Callable[[Spec], Seen], endpoint: Model, tmp_path: Path
) -> None:
    file = lines(tmp_path / "q.jsonl", OTHER_KEYS)
    spec: Spec = {"systems": [{"proxy": endpoint.url}], "benchmarks": [{"dataset": file}]}
    seen = both(spec)
    assert seen.error is not None and "`prompt` and `expected`" in seen.error
    seen = both({**spec, "data": {"map": {"question": "prompt", "answer": "expected"}}})
    assert seen.error is None and {row["dataset"] for row in seen.json["rows"]} == {"q"}
    assert all("f1" in row["scores"] for row in seen.json["rows"])


def test_contexts_in_parts_and_other_delimiters(
    both: Callable[[Spec], Seen], endpoint: Model, tmp_path: Path
) -> None:
    parts = [{"context": ["One.", {"text": "Two."}], "question": "?", "answer": "x"}]
    table = tmp_path / "t.csv"
    table.write_text("question;answer\nWhere?;Paris\n")
    seen = both({
        "systems": [{"proxy": endpoint.url}],
        "benchmarks": [{"dataset": lines(tmp_path / "p.jsonl", parts)}, {"dataset": str(table)}],
    })  # fmt: skip
    told = "\n".join(seen.remarks)
    assert "their texts are joined" in told and "separated by `;`" in told


def test_nothing_to_score_is_reported(
    both: Callable[[Spec], Seen], endpoint: Model, tmp_path: Path
) -> None:
    file = lines(tmp_path / "q.jsonl", [{"question": "?"}])
    seen = both({"systems": [{"proxy": endpoint.url}], "benchmarks": [{"dataset": file}]})
    assert seen.code == 3 and any("could be scored" in one for one in seen.remarks)


def test_the_loader_maps_keys(tmp_path: Path) -> None:
    file = lines(tmp_path / "q.jsonl", OTHER_KEYS)
    first = load_file(file, map={"question": "prompt", "answer": "expected"})[0]
    assert first == {"question": "Capital of France?", "answer": "Paris", "id": 0}
    with pytest.raises(ValueError, match="did you mean `prompt`"):
        load_file(file, map={"question": "promt"})


def test_systems_in_python_get_any_row(tmp_path: Path) -> None:
    class Own:
        name = "own"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {**example, "response": example["expected"]}

    file = lines(tmp_path / "q.jsonl", [{**one, "context": ["a"]} for one in OTHER_KEYS])
    for dataset in (OTHER_KEYS, file):
        result = evaluate([Own()], dataset, [], progress=False)
        assert [row.error for row in result.rows] == [None, None]


def test_rows_of_a_program_are_not_checked(endpoint: Model) -> None:
    proxy = OpenAIProxy(endpoint.url)
    with pytest.warns(EvaluationWarning):
        result = evaluate([proxy], OTHER_KEYS, [AnswerQuality()], progress=False)
    assert len(result.rows) == 2


def test_a_file_is_checked_for_an_endpoint_in_python(endpoint: Model, tmp_path: Path) -> None:
    file = lines(tmp_path / "q.jsonl", OTHER_KEYS)
    with pytest.raises(ValueError, match="nothing to ask"):
        evaluate([OpenAIProxy(endpoint.url)], file, [AnswerQuality()], progress=False)
    own = OpenAIProxy(
        endpoint.url, build_messages=lambda row: [{"role": "user", "content": row["prompt"]}]
    )
    assert len(evaluate([own], file, [], progress=False).rows) == 2


@pytest.mark.parametrize("number", [0, -1])
def test_no_workers_are_a_mistake(number: int) -> None:
    with pytest.raises(ValueError, match="`max_workers` must be a whole number above 0"):
        evaluate([], [], [], max_workers=number)


def test_many_questions_for_one_worker(
    both: Callable[[Spec], Seen], endpoint: Model, tmp_path: Path
) -> None:
    file = lines(tmp_path / "q.jsonl", [{"question": f"{i}?", "answer": "x"} for i in range(200)])
    spec: Spec = {"systems": [{"proxy": endpoint.url}], "benchmarks": [{"dataset": file}]}
    assert "one after the other" in "\n".join(both(spec).remarks)
