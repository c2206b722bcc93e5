"""Arms of proxies behind a tap, in the words of the program."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.evaluators import AnswerQuality
from context_bench.metrics import MeanScore

FAKE = Path(__file__).parents[2] / "crates/context-bench-cli/tests/it/proxy/fake_proxy.py"


def profile(folder: Path, mode: str) -> Path:
    """A profile of the proxy that the tests of the program use."""
    text = {
        "proxy": "fake",
        "about": "a proxy for tests",
        "install": "it comes with the tests",
        "command": ["python3", str(FAKE), "{port}", "{tap}", mode, str(folder)],
        "ready": {"url": "http://127.0.0.1:{port}/ready", "timeout": 300},
    }
    path = folder / "fake.yaml"
    path.write_text(json.dumps(text))
    return path


def processes_with(text: str) -> list[str]:
    """Processes that have not ended and have this text in their command line."""
    lines = (path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists())
    return [line.decode(errors="replace") for line in lines if text.encode() in line]


def test_three_arms_of_a_proxy_that_the_run_starts(
    url: str, examples: list[dict[str, Any]], tmp_path: Path
) -> None:
    result = evaluate(
        [],
        examples,
        [AnswerQuality()],
        [MeanScore("f1")],
        proxies=[profile(tmp_path, "shortens")],
        upstream=url,
        tap={"log": tmp_path / "tap.jsonl"},
        requests={"model": "m"},
        progress=False,
    )
    assert list(result.summary) == ["direct", "fake:passthrough", "fake"]
    for arm in result.wire.values():
        assert (arm["calls"], arm["unattributed"]["calls"]) == (len(examples), 0)
    assert result.wire["direct"]["verdict"] == "transparent"
    assert all(row.wire is not None and row.wire["calls"]["primary"] == 1 for row in result.rows)
    calls = [json.loads(line) for line in (tmp_path / "tap.jsonl").read_text().splitlines()]
    assert sum(call["kind"] == "call" for call in calls) == 3 * len(examples)
    assert processes_with(str(tmp_path)) == []
    again = pickle.loads(pickle.dumps(result))
    assert again.wire == result.wire
    assert set(result.filter(system="fake").wire) == {"fake"}


def test_arms_can_be_chosen_and_stand_beside_other_systems(
    url: str, examples: list[dict[str, Any]]
) -> None:
    class Shout:
        name = "shout"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {**example, "response": "PARIS"}

    result = evaluate(
        [Shout()], examples, [AnswerQuality()], upstream=url, arms=["direct"], progress=False
    )
    assert set(result.summary) == {"direct", "shout"}
    assert set(result.wire) == {"direct"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"proxies": ["kompact"]}, "upstream"),
        ({"upstream": "http://localhost:9", "arms": ["transfrom"]}, "transfrom"),
        ({"upstream": "http://localhost:9", "tap": {"exlusive": True}}, "exlusive"),
        ({"upstream": "http://localhost:9", "proxies": ["kompct"]}, "did you mean `kompact`"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(
    settings: dict[str, Any], said: str, examples: list[dict[str, Any]]
) -> None:
    with pytest.raises(ValueError, match=said):
        evaluate([], examples, [AnswerQuality()], progress=False, **settings)


def test_a_single_name_is_no_list(examples: list[dict[str, Any]]) -> None:
    make: Callable[..., Any] = evaluate
    with pytest.raises(TypeError, match="must be a list"):
        make([], examples, [], proxies="kompact", upstream="http://localhost:9")
