"""One spec, two front ends: `context-bench run` and `context_bench.run` find the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import context_bench
import pytest
from fronts import EXAMPLES, FIXTURES, Model, Program, Seen, copy, package, same

Spec = dict[str, Any]

#: Beside the usual config of each dataset, as in the tests of the catalog.
FURTHER = [
    "bbh:word_sorting", "gpqa@train", "gsm8k:socratic", "infinitebench:longbook_choice_eng",
    "infinitebench:passkey", "locomo:qa", "longbench:gov_report", "longbench:trec", "mbpp:full",
    "mgsm:en,de", "mmlu:anatomy", "narrativeqa:story", "triviaqa:rc.wikipedia",
]  # fmt: skip
DATASETS = sorted(folder.name for folder in FIXTURES.iterdir())
LAYERS = [{"system": "truncate:ratio=0.5", "name": "half"}, {"system": "passthrough"}]


@pytest.fixture
def both(program: Program, tmp_path: Path) -> Callable[[Spec], Seen]:
    """Runs a spec in both ways, each with a store of its own, and compares."""

    def run(spec: Spec) -> Seen:
        ours = program.spec({"cache_dir": str(tmp_path / "program"), **spec}, tmp_path)
        spec = {"cache_dir": str(tmp_path / "package"), **spec}
        theirs = package(lambda: context_bench.run(spec, progress=False))
        same(ours, theirs)
        return ours

    return run


@pytest.mark.parametrize("name", [*DATASETS, *FURTHER])
def test_every_dataset(name: str, both: Callable[[Spec], Seen]) -> None:
    seen = both({"systems": LAYERS, "benchmarks": [{"dataset": copy(name)}]})
    if seen.error is not None:
        assert "is for memory systems" in seen.error
        return
    rows, counts = seen.json["rows"], seen.json["counts"]["half"]
    assert len(rows) == 2 * counts["planned"] > 0
    assert all(row["scores"] or row.get("not_applicable") for row in rows)
    assert len(seen.json["datasets"][0]["sha256"]) == 64


def test_every_dataset_at_once(both: Callable[[Spec], Seen], endpoint: Model) -> None:
    """With an endpoint, a judge, repeats, a seed, and the score that all rows share."""
    asked = [name for name in DATASETS if name not in ("humaneval", "mbpp", "locomo", "longmemeval")]
    seen = both({
        "systems": [{"proxy": endpoint.url, "name": "model"}, {"system": "passthrough"}],
        "relay": endpoint.url,
        "benchmarks": [{"dataset": copy(name)} for name in asked],
        "data": {"limit": 2, "repeats": 2},
        "seeds": {"options": 7},
        "scoring": {"judge_url": endpoint.url, "threshold": 0.5, "tokenizer": "whitespace"},
        "limits": {"max_workers": 4},
    })  # fmt: skip
    assert seen.json["provenance"]["score_field"] == "score"
    assert seen.json["provenance"]["tokenizer"] == "whitespace"
    tags = {row["dataset"].split("=")[0].split(":")[0] for row in seen.json["rows"]}
    assert tags == set(asked)


TASKS = ["generated", "spoken", "chosen", "said", "rolled", "functions", "all", "all::likely::said",
         "chosen@cloze", "chosen@generate", "unsafe", "chosne", "all::nobody"]  # fmt: skip


@pytest.mark.parametrize("name", TASKS)
def test_tasks_of_every_kind(
    name: str, tasks: Path, endpoint: Model, both: Callable[[Spec], Seen]
) -> None:
    seen = both({
        "systems": [{"proxy": f"{endpoint.url}/v1", "name": "model", "model": "m"}],
        "benchmarks": [{"task": name}],
        "data": {"include_path": [str(tasks)]},
        "scoring": {"bootstrap_iters": 200},
        "limits": {"max_workers": 2},
    })  # fmt: skip
    wrong = {"unsafe": "runs code", "chosne": "unknown task", "all::nobody": "nobody"}
    if name in wrong:
        assert seen.error is not None and wrong[name] in seen.error
        return
    (found,) = seen.json["tasks"].values()
    assert found["results"] and all(one["scored"] > 0 for one in found["counts"].values())


@pytest.mark.parametrize("file", sorted(path.name for path in (EXAMPLES / "groups").glob("*.yaml")))
def test_the_groups_of_the_examples(
    file: str, endpoint: Model, both: Callable[[Spec], Seen]
) -> None:
    folder = EXAMPLES / "groups"
    seen = both({
        "systems": [{"proxy": f"{endpoint.url}/v1"}],
        "benchmarks": [{"task": str(folder / file)}],
        "data": {"include_path": [str(folder)]},
        "limits": {"max_workers": 2},
    })  # fmt: skip
    assert seen.json["tasks"]


@pytest.mark.parametrize(
    ("task", "data"),
    [
        ("mmlu_stem", {"copies": {"mmlu": str(FIXTURES / "mmlu")}}),
        ("mmlu_anatomy", {"copies": {"mmlu": str(FIXTURES / "mmlu")}}),
        ("mmlu_anatomy@generate", {"copies": {"mmlu": str(FIXTURES / "mmlu")}}),
        ("drop", {"copies": {"drop": str(FIXTURES / "drop")}}),
        ("mmlu_anatomy", {"files": {"test": "questions.jsonl", "dev": "questions.jsonl"}}),
    ],
)
def test_tasks_that_come_with_the_program(
    task: str, data: Spec, endpoint: Model, both: Callable[[Spec], Seen], tmp_path: Path
) -> None:
    record = {"question": "1 + 1?", "subject": "anatomy", "choices": ["1", "2", "3", "4"], "answer": 1}
    (tmp_path / "questions.jsonl").write_text("\n".join([json.dumps(record)] * 6))
    if "files" in data:
        data = {"files": {name: str(tmp_path / file) for name, file in data["files"].items()}}
    both({
        "systems": [{"proxy": f"{endpoint.url}/v1"}],
        "benchmarks": [{"task": task}, {"dataset": copy("hotpotqa")}],
        "data": data,
        "limits": {"max_workers": 4},
    })  # fmt: skip


BROKEN = [
    '{"id": 1, "context": "Paris", "question": "Where?", "answer": "Paris"}',
    '{"id": 1, "context": "Rome", "question": "Where?", "answer": "Rome"}',
    "{no record",
    '{"id": 3, "context": "Oslo", "question": "Where?"}',
]


def test_errors_read_the_same_in_both_front_ends(both: Callable[[Spec], Seen], tmp_path: Path) -> None:
    (tmp_path / "places.jsonl").write_text("\n".join(BROKEN))
    seen = both({
        "systems": [{"system": "passthrough"}, {"command": "false", "name": "broken"}],
        "benchmarks": [{"dataset": str(tmp_path / "places.jsonl")}],
        "data": {"skip_bad_lines": True},
        "scoring": {"text_fields": ["nothing"]},
    })  # fmt: skip
    told = "\n".join(seen.remarks)
    for part in ("left out 1 bad record", "an id that another one has", "no example has text",
                 "`broken`: 3 of 3 rows"):  # fmt: skip
        assert part in told, told
    assert seen.json["config"]["skipped_records"] == 1
