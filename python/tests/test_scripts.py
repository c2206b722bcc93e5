"""The scripts behind `make demo-model` and `make compare-proxies`: with two questions a real model
answers behind the program, as users start it. Tests with real proxies are in Rust."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"
MODEL = ROOT / "target/model-venv/bin/python"
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/context-bench"

needs_model = pytest.mark.skipif(not MODEL.exists(), reason="no small model; `make demo-model` installs it")


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.syspath_prepend(str(ROOT / "examples/proxies"))
    yield
    for name in ("demo_model", "provider", "questions", "small_model", "wild_tree"):
        sys.modules.pop(name, None)


def test_questions_are_a_part_of_the_demo_with_their_answers(scripts: None) -> None:
    import demo_model

    examples: list[dict[str, Any]] = demo_model.examples()
    assert len({example["id"] for example in examples}) == 24
    assert examples == demo_model.examples()
    places = []
    for example in examples:
        assert example["answer"] in example["context"]
        assert demo_model.WORDS <= len(example["context"].split()) < 2 * demo_model.WORDS
        places.append(example["context"].index(example["answer"]) / len(example["context"]))
    # No way of cutting is favoured: answers are in all thirds.
    for third in range(3):
        assert sum(third / 3 <= place < (third + 1) / 3 for place in places) >= 5


def test_tool_outputs_hold_their_answers_in_every_layout(scripts: None) -> None:
    import questions

    for layout in questions.LAYOUTS:
        examples: list[dict[str, Any]] = list(questions.examples(8, layout))
        assert examples == list(questions.examples(8, layout))
        assert [example["kind"] for example in examples[:4]] == ["order", "machine", "log", "search"]
        for example in examples:
            held = max((turn["content"] or "" for turn in example["turns"]), key=len)
            assert example["answer"] in held and len(held) > 10_000
            assert any(example["question"] in (turn["content"] or "") for turn in example["turns"])


def test_the_provider_answers_what_arrived_and_nothing_else(scripts: None) -> None:
    import provider
    import questions

    for layout in questions.LAYOUTS:
        for example in questions.examples(8, layout):
            body: dict[str, Any] = {"messages": example["turns"], "tools": questions.TOOLS}
            assert str(example["answer"]) in provider.found_in(provider.texts(body))
            # As if a proxy had dropped every record.
            turns = [dict(turn) for turn in body["messages"]]
            held = max(turns, key=lambda turn: len(turn["content"] or ""))
            held["content"] = example["question"] if layout == "user" else "[]"
            assert provider.found_in(provider.texts({"messages": turns})) == "not found"


def command(folder: Path, questions: int) -> list[str]:
    line = [str(MODEL), str(SCRIPTS / "demo_model.py"), "--program", str(PROGRAM), "--folder", str(folder)]
    return [*line, "--questions", str(questions), "--words", "60", "--output", "json"]


@needs_model
@pytest.mark.slow
def test_a_real_model_answers(tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path, 2), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert sorted(result["summary"]) == ["direct", "extractive 10%", "extractive 25%", "truncate 50%"]
    for counts in result["counts"].values():
        assert (counts["scored"], counts["failed"], counts["requests"]) == (2, 0, 2)
    # The model counts what it read: less of it behind a layer that leaves text out.
    read = {name: 0 for name in result["summary"]}
    for row in result["rows"]:
        read[row["system"]] += row["metadata"]["prompt_tokens"]
    assert read["direct"] > read["truncate 50%"] > read["extractive 10%"] > 0
    # One or two paragraphs are read well even by this model.
    assert result["summary"]["direct"]["mean_score"] > 0


@needs_model
def test_the_model_ends_with_the_script() -> None:
    running = subprocess.Popen(
        [str(MODEL), str(SCRIPTS / "small_model.py"), "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert "answers at http://127.0.0.1:" in running.stdout.readline()
    running.send_signal(signal.SIGTERM)
    assert running.wait(60) == 0
