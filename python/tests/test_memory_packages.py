"""The real packages ``mem0ai`` and ``graphiti-core``, installed from the registry, with a relay
of ours for their model calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from context_bench.memory_systems._relay_memory import REQUIREMENTS
from memory_relay import CONVERSATIONS, MemoryRelay, memory_relay, words

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def packages() -> Path:
    """A folder with both packages and all that they need, for ``PYTHONPATH``. It stays for the
    next run."""
    tag = f"{sys.version_info[0]}.{sys.version_info[1]}"
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    folder = target / f"memory-packages-{tag}"
    ready = folder / "ready"
    wanted = list(REQUIREMENTS.values())
    if not ready.exists() or ready.read_text().splitlines() != wanted:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade"]
        done = subprocess.run(
            [*command, "--disable-pip-version-check", "--target", str(folder), *wanted],
            capture_output=True, text=True, timeout=1200, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            pytest.skip(f"{wanted} could not be installed: {done.stderr.strip()[-300:]}")
        ready.write_text("\n".join(wanted))
    return folder


@pytest.fixture
def relay() -> Iterator[MemoryRelay]:
    with memory_relay() as server:
        yield server


def environment(packages: Path, home: Path) -> dict[str, str]:
    """Variables of a process that has the packages."""
    variables = {
        **os.environ,
        "PYTHONPATH": str(packages),
        "HOME": str(home),
        # With this key, mem0 asks another service unless it is kept from it.
        "OPENROUTER_API_KEY": "not-for-the-relay",
    }
    variables.pop("OPENAI_API_KEY", None)
    return variables


class Child:
    """A memory as a child process, spoken to as the program does."""

    def __init__(self, packages: Path, home: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "context_bench.memory_systems", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment(packages, home),
        )  # fmt: skip

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        reply: dict[str, Any] = json.loads(self.process.stdout.readline())
        return reply

    def done(self, **request: Any) -> dict[str, Any]:
        reply = self.ask(**request)
        assert reply.pop("ok"), reply
        return reply

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout=600)


@pytest.mark.slow
def test_three_conversations_stay_apart(
    packages: Path, relay: MemoryRelay, tmp_path: Path
) -> None:
    child = Child(packages, tmp_path, "mem0", "--relay", relay.url, "--model", "m")
    hello = child.done(op="hello")
    assert hello["name"] == "mem0" and hello["version"].startswith("2.") and hello["saves"]
    for conversation in CONVERSATIONS:
        others = {
            pair["answer"].lower()
            for other in CONVERSATIONS
            if other is not conversation
            for pair in other["qa_pairs"]
        }
        child.done(op="reset")
        turns = [{"id": str(n), **turn} for n, turn in enumerate(conversation["turns"])]
        ingested = child.done(op="ingest", turns=turns)
        assert ingested["details"]["memories"] == 3
        assert ingested["usage"]["completion_tokens"] == 10
        for pair in conversation["qa_pairs"]:
            answer = child.done(op="query", question=pair["question"])
            assert pair["answer"] in answer["answer"]
            assert not words(answer["context"]) & others
            assert 0 < answer["context_tokens"] < 60
            assert answer["usage"]["completion_tokens"] == 10
    # What was saved of the last conversation is all that is needed to answer again.
    state = child.done(op="save")["state"]
    extracted = sum("## New Messages" in request for request in relay.asked)
    child.done(op="reset")
    assert child.done(op="query", question="Where do I live?")["context_tokens"] == 0
    assert child.done(op="load", state=state)["loaded"]
    assert "Cairo" in child.done(op="query", question="Where do I live?")["answer"]
    assert sum("## New Messages" in request for request in relay.asked) == extracted == 3
    # A memory that is reset and told nothing has nothing to say.
    child.done(op="reset")
    nothing = child.done(op="query", question="Where do I live?")
    assert nothing["context_tokens"] == 0 and nothing["answer"] == "I do not know."
    # A budget that no fact fits into leaves none.
    child.done(op="ingest", turns=CONVERSATIONS[0]["turns"])
    bounded = child.done(op="query", question="Where do I live?", budget_tokens=3)
    assert bounded["context_tokens"] == 0 and bounded["details"]["num_retrieved"] == 0
    assert child.end() == 0
    # Everything went to the relay, and nothing was left in the home folder.
    assert relay.models == {"m", "text-embedding-3-small"} and relay.n_embeddings > 0
    assert not list(tmp_path.iterdir())


RUN = """
import json, sys
from context_bench import evaluate_memory
from context_bench.evaluators import AnswerQuality
url, data, store = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
result = evaluate_memory(
    ["mem0"], data, [AnswerQuality()], relay=url, model="m", max_workers=3, cache_dir=store, progress=False
)
print(json.dumps([[row.example_id, row.response, row.error and row.error.message, row.metadata] for row in result.rows]))
"""


@pytest.mark.slow
def test_runs_ask_it_side_by_side_and_keep_what_it_took_in(
    packages: Path, relay: MemoryRelay, tmp_path: Path
) -> None:
    def run(conversations: list[dict[str, Any]]) -> Any:
        command = [sys.executable, "-W", "ignore", "-c", RUN, relay.url, json.dumps(conversations)]
        done = subprocess.run(
            [*command, str(tmp_path / "store")], env=environment(packages, tmp_path),
            capture_output=True, text=True, timeout=1200, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def asked() -> tuple[int, int]:
        extracted = sum("## New Messages" in request for request in relay.asked)
        return extracted, len(relay.asked) - extracted

    run([{**one, "qa_pairs": one["qa_pairs"][:1]} for one in CONVERSATIONS])
    assert asked() == (3, 3)
    # Another process, with further questions: no fact is extracted and no question asked again.
    rows = run(CONVERSATIONS)
    assert asked() == (3, 6)
    expected = [
        (f"{one['id']}_{n}", pair["answer"])
        for one in CONVERSATIONS
        for n, pair in enumerate(one["qa_pairs"])
    ]
    assert [row[0] for row in rows] == [example_id for example_id, _ in expected]
    for (_, response, error, metadata), (_, answer) in zip(rows, expected, strict=True):
        assert error is None and answer in response
        assert metadata["ingest_usage"]["completion_tokens"] == 10
        assert metadata["ingest_details"]["memories"] == 3
        assert metadata["completion_tokens"] == 10
        assert metadata["retrieve_latency"] > 0 and metadata["answer_latency"] > 0
    assert [bool(row[3].get("ingest_kept")) for row in rows] == [False, True] * 3


@pytest.mark.slow
def test_the_program_runs_it_as_a_child_process(
    packages: Path, relay: MemoryRelay, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    data = tmp_path / "people.jsonl"
    data.write_text("".join(json.dumps(one) + "\n" for one in CONVERSATIONS))
    command = [
        sys.executable, "-m", "context_bench", "memory", "--system", "mem0:batch_turns=2",
        "--relay", relay.url, "--model", "m", "--top-k", "3", "--dataset", str(data),
        "--max-workers", "2", "--output", "json",
    ]  # fmt: skip
    done = subprocess.run(
        command, env=environment(packages, home), capture_output=True, text=True,
        timeout=1200, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    expected = [pair["answer"] for one in CONVERSATIONS for pair in one["qa_pairs"]]
    for row, answer in zip(rows, expected, strict=True):
        assert row["scores"]["contains"] == 1.0 and answer in row["response"]
        # Three turns are two batches of at most two.
        assert row["metadata"]["ingest_usage"]["completion_tokens"] == 20
    assert relay.models == {"m", "text-embedding-3-small"}


@pytest.mark.slow
def test_an_endpoint_that_fails_is_an_error_of_its_request(
    packages: Path, relay: MemoryRelay, tmp_path: Path
) -> None:
    # Nobody listens at the address of the relay any more.
    gone = relay.url
    relay.server_close()
    relay.shutdown()
    child = Child(packages, tmp_path, "mem0", "--relay", gone, "--model", "m", "--set", "timeout=5")
    child.done(op="reset")
    failed = child.ask(op="ingest", turns=CONVERSATIONS[0]["turns"])
    assert not failed["ok"] and "onnect" in failed["error"]
    assert child.ask(op="hello")["ok"]
    assert child.end() == 0


@pytest.mark.slow
def test_zep_without_its_database_is_an_error(packages: Path, tmp_path: Path) -> None:
    nowhere = "neo4j_uri=bolt://127.0.0.1:1"
    child = Child(packages, tmp_path, "zep", "--relay", "http://127.0.0.1:1", "--set", nowhere)
    failed = child.ask(op="hello")
    assert not failed["ok"] and "graph database at bolt://127.0.0.1:1" in failed["error"]
    assert "hint: start Neo4j there" in failed["error"]
    assert child.end() == 1
