"""A part of a run is never taken for the whole, from Python as little as elsewhere."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from context_bench import EvaluationWarning
from context_bench.cache import Cache

PROGRAM = """
import sys, time
from context_bench import evaluate
from context_bench.evaluators import AnswerQuality
from context_bench.metrics import MeanScore

class Slow:
    name = "slow"
    def __init__(self):
        self.left = int(sys.argv[2])
    def process(self, example):
        if self.left == 0:
            time.sleep(3600)
        self.left -= 1
        return {**example, "response": "text"}

examples = [{"id": i, "context": f"text {i}", "answer": "text"} for i in range(30)]
evaluate([Slow()], examples, [AnswerQuality()], [MeanScore("f1")], cache_dir=sys.argv[1],
         progress=False)
"""


def started(cache: Path, answers: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(cache), str(answers)])


def test_a_killed_run_is_loaded_as_a_part(tmp_path: Path) -> None:
    process = started(tmp_path, 10)
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            assert process.poll() is None
            if (tmp_path / "store.sqlite").exists():
                runs = Cache(tmp_path).runs()
                if runs and runs[0]["rows"] == 10:
                    break
            time.sleep(0.05)
        with pytest.warns(EvaluationWarning, match="is still running: 20 of 30 rows not begun"):
            Cache(tmp_path).load()
    finally:
        process.kill()
        process.wait()
    with pytest.warns(EvaluationWarning, match="was killed: 20 of 30 rows not begun") as told:
        result = Cache(tmp_path).load()
    assert len(told) == 1 and told[0].filename == __file__
    counts = result.counts["slow"]
    assert (counts["planned"], counts["scored"], counts["not_begun"]) == (30, 10, 20)
    assert result.interrupted
    assert result.part_of is not None
    for text in (result.to_markdown(), result.to_csv(), str(result)):
        assert result.part_of in text
    assert json.loads(result.to_json())["part_of"] == result.part_of
    for line in result.to_jsonl().splitlines():
        assert json.loads(line)["part_of"] == result.part_of
    assert pickle.loads(pickle.dumps(result)).to_markdown() == result.to_markdown()

    assert started(tmp_path, 30).wait() == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = Cache(tmp_path).load()
    assert whole.part_of is None
    assert whole.counts["slow"]["not_begun"] == 0
