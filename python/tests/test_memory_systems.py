"""Memories of the package: records, adapters without their packages, and the child process."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
import textwrap
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from context_bench import MemorySystem
from context_bench.datasets import sample_search_pool, split_conversations
from context_bench.memory_systems import (
    BUILTIN_MEMORIES,
    Mem0Memory,
    MissingPackageError,
    ZepMemory,
    open_memory,
    serve,
)
from context_bench.memory_systems._relay_memory import REQUIREMENTS, RelayMemory, Usage, batches, spoken
from context_bench.memory_types import (
    BenchmarkExample,
    BenchmarkQuery,
    ConversationTurn,
    Declaration,
    DocumentChunk,
    IngestResult,
    Item,
    PlatformEvent,
    QueryResult,
    item_text,
    render_item,
    to_turn,
)
from memory_relay import memory_relay


# The worked cases cb-0386 to cb-0389, and what they leave open.
@pytest.mark.parametrize(
    ("item", "line"),
    [
        (ConversationTurn("hi", "user", speaker="Ann"), "Ann (USER): hi"),
        (ConversationTurn("hi", "assistant"), "ASSISTANT: hi"),
        (DocumentChunk("t", "d1", 3), "[DOC d1 #3] t"),
        (DocumentChunk("t", "d1", 3, source="wiki"), "[DOC wiki #3] t"),
        (PlatformEvent("m", "slack", "2024-01-01"), "[SLACK 2024-01-01] unknown: m"),
        (PlatformEvent("m", "slack", "2024-01-01", author="Bo"), "[SLACK 2024-01-01] Bo: m"),
        (Declaration("k", "v"), "[DECL k] v"),
    ],
)
def test_items_as_lines(item: Item, line: str) -> None:
    assert render_item(item) == line


def test_items_as_turns_and_texts() -> None:
    turn = ConversationTurn("hi", "user", speaker="Ann", session_id="2")
    assert to_turn(turn) == {"content": "hi", "role": "user", "speaker": "Ann", "session_id": "2"}
    given = {"role": "user", "content": "x", "mine": 1}
    assert to_turn(given) == given and to_turn(given) is not given
    event = PlatformEvent("m", "slack", "2024-01-01")
    assert to_turn(event) == {
        "role": "user", "content": "[SLACK 2024-01-01] unknown: m", "timestamp": "2024-01-01",
    }  # fmt: skip
    assert item_text(Declaration("city", "Rome")) == "city: Rome" and item_text(event) == "m"


def test_records_have_the_defaults_of_the_documentation() -> None:
    query = BenchmarkQuery("q", "a")
    assert (query.query_type, query.evidence, query.metadata) == ("", None, {})
    example = BenchmarkExample("1", [ConversationTurn("c", "user")], [query])
    assert (example.dataset, example.metadata) == ("", {})
    answer = QueryResult("a", 1.0)
    assert (answer.context_tokens, answer.details) == (0, {})
    assert IngestResult(1, 2.0).details == {}
    assert answer.details is not QueryResult("a", 1.0).details


def test_conversations_are_split_as_pythons_own_shuffle_does() -> None:
    examples = [{"id": n} for n in range(11)]
    train, test = split_conversations(examples)
    expected = list(examples)
    random.Random(42).shuffle(expected)
    assert (train, test) == (expected[:8], expected[8:])
    assert examples == [{"id": n} for n in range(11)]
    assert split_conversations([], 0.5) == ([], [])
    assert split_conversations(iter("abc"), 1.0, seed=1)[1] == []
    with pytest.raises(ValueError, match="`train_frac` must be between 0 and 1"):
        split_conversations(examples, 80)


def test_a_search_pool_has_no_example_twice() -> None:
    pool = sample_search_pool(range(200), seed=7)
    assert pool == random.Random(7).sample(range(200), 100) and len(set(pool)) == 100
    assert sorted(sample_search_pool(range(3), n=10)) == [0, 1, 2]
    with pytest.raises(ValueError, match="`n` cannot be negative"):
        sample_search_pool([], n=-1)


def test_the_install_line_is_that_of_the_extra() -> None:
    declared = [text.replace(" ", "") for text in metadata.requires("context-bench-rs") or ()]
    for extra, requirement in REQUIREMENTS.items():
        name, versions = requirement.split(">=")
        bounds = set(f">={versions}".split(","))
        found = [text for text in declared if text.startswith(name) and extra in text]
        assert len(found) == 1, declared
        assert set(found[0].partition(";")[0].removeprefix(name).strip("()").split(",")) == bounds


@pytest.mark.parametrize(
    ("memory", "line"),
    [(Mem0Memory, "pip install 'mem0ai>=2.2,<3'"), (ZepMemory, "pip install 'graphiti-core>=0.31,<1'")],
)
def test_a_missing_package_is_an_error_with_the_install_line(
    memory: Any, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("mem0", "graphiti_core", "openai"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError, match="is not installed") as raised:
        memory("http://127.0.0.1:1")
    assert line in str(raised.value)


def test_memories_by_name() -> None:
    with pytest.raises(ValueError, match="unknown memory `mem1`(?s:.*)did you mean `mem0`"):
        open_memory("mem1")
    with pytest.raises(ValueError, match="no argument `top`"):
        open_memory("mem0", relay_url="http://127.0.0.1:1", top=3)
    with pytest.raises(ValueError, match="`mem0` cannot be made: missing a required argument"):
        open_memory("mem0")
    with pytest.raises(ValueError, match="no module `nowhere_at_all`"):
        open_memory("nowhere_at_all:Memory")
    with pytest.raises(ValueError, match="has no `Nothing`"):
        open_memory("context_bench:Nothing")
    with pytest.raises(ValueError, match="`top_k` must be at least 1"):
        open_memory("mem0", relay_url="http://127.0.0.1:1", top_k=0)
    assert "bm25" in BUILTIN_MEMORIES


class Plain:
    """The documented form."""

    name = "plain"
    last_context_tokens = 7

    def __init__(self, relay_url: str = "") -> None:
        self.relay_url = relay_url
        self.said: list[str] = []

    def reset(self) -> None:
        self.said = []

    def ingest(self, turns: Any) -> None:
        self.said += [turn["content"] for turn in turns]

    def query(self, question: str) -> str:
        if question == "fail":
            raise KeyError("nothing")
        print("a library that prints")
        return " ".join(self.said)


class Typed(Plain):
    """The typed form, which saves itself and is asynchronous."""

    name = "typed"
    version = "3"

    async def ingest(self, turns: Any) -> IngestResult:
        super().ingest(turns)
        return IngestResult(len(turns), 1.0, {"usage": {"total_tokens": 3}, "seen": len(turns)})

    def query(self, question: str, budget: int | None = None, *, asked: str | None = None) -> Any:
        return QueryResult(
            f"{budget} {asked}", 1.0, 2, {"k": 1}, context="c", recalled=["1"],
            usage={"total_tokens": 1}, retrieve_seconds=0.25, answer_seconds=0.5,
        )  # fmt: skip

    def save(self) -> bytes:
        return "\n".join(self.said).encode()

    def load(self, state: bytes) -> bool:
        self.said = state.decode().split("\n")
        return True


def served(memory: MemorySystem, *requests: Any) -> list[Any]:
    lines = b"\n".join(json.dumps(request).encode() for request in requests)
    replies = io.BytesIO()
    serve(memory, io.BytesIO(lines + b"\n\n"), replies)
    return [json.loads(line) for line in replies.getvalue().splitlines()]


TURN = {"id": "1", "role": "user", "content": "Ünder"}


def test_a_plain_memory_is_served(capfd: pytest.CaptureFixture[str]) -> None:
    replies = served(
        Plain(),
        {"op": "hello"},
        {"op": "ingest", "turns": [TURN]},
        {"op": "query", "question": "q", "asked": "2024", "budget_tokens": 5},
        {"op": "query", "question": "fail"},
        {"op": "save"},
        {"op": "load", "state": "eA=="},
        {"op": "reset"},
        {"op": "query", "question": "q"},
        {"op": "dance"},
        {"op": "ingest"},
        7,
    )
    assert replies[:9] == [
        {"ok": True, "name": "plain", "version": "", "saves": False},
        {"ok": True},
        {"ok": True, "answer": "Ünder", "context_tokens": 7},
        {"ok": False, "error": "KeyError: 'nothing'"},
        {"ok": True, "state": None},
        {"ok": True, "loaded": False},
        {"ok": True},
        {"ok": True, "answer": "", "context_tokens": 7},
        {"ok": False, "error": "ValueError: unknown operation 'dance'"},
    ]
    assert [reply["ok"] for reply in replies[9:]] == [False, False]


def test_a_typed_memory_is_served() -> None:
    typed = Typed()
    replies = served(
        typed,
        {"op": "hello"},
        {"op": "ingest", "turns": [TURN]},
        {"op": "query", "question": "q", "asked": "2024", "budget_tokens": 5},
        {"op": "save"},
        {"op": "load", "state": "YQpi"},
        {"op": "load", "state": "no base64!"},
    )
    assert replies[:5] == [
        {"ok": True, "name": "typed", "version": "3", "saves": True},
        {"ok": True, "usage": {"total_tokens": 3}, "details": {"seen": 1}},
        {"ok": True, "answer": "5 2024", "context_tokens": 2, "context": "c", "recalled": ["1"],
         "usage": {"total_tokens": 1}, "retrieve_seconds": 0.25, "answer_seconds": 0.5,
         "details": {"k": 1}},
        {"ok": True, "state": "w5xuZGVy"},
        {"ok": True, "loaded": True},
    ]  # fmt: skip
    assert not replies[5]["ok"] and typed.said == ["a", "b"]


def test_the_process_keeps_its_output_clean(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(textwrap.dedent("""
        import os
        print("printed while importing")

        class Memory:
            name = "mine"
            def __init__(self, size=1):
                self.size = size
            def reset(self): os.write(1, b"written to the descriptor\\n")
            def ingest(self, turns): os.system("echo from a child process")
            def query(self, question):
                print("printed")
                assert os.read(0, 10) == b"", "the requests are not for others"
                return "x" * self.size
    """))
    requests = [
        {"op": "hello"}, {"op": "reset"}, {"op": "ingest", "turns": []},
        {"op": "query", "question": "q"},
    ]  # fmt: skip
    # It takes no relay, so none is forced on it.
    command = ["-m", "context_bench.memory_systems", "mine:Memory", "--relay", "http://x", "--set", "size=3"]
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, timeout=600,
        input="".join(json.dumps(request) + "\n" for request in requests), check=True,
    )  # fmt: skip
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"ok": True, "name": "mine", "version": "", "saves": False},
        {"ok": True},
        {"ok": True},
        {"ok": True, "answer": "xxx"},
    ]
    for text in ("while importing", "to the descriptor", "from a child process", "printed"):
        assert text in done.stderr
    command[2] = "mine:Other"
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, timeout=600,
        input="", check=False,
    )  # fmt: skip
    assert done.returncode == 1 and not json.loads(done.stdout)["ok"]
    assert "error: the module `mine` has no `Other`" in done.stderr


class Facts(RelayMemory):
    """Has facts instead of a store."""

    def __init__(self, url: str) -> None:
        super().__init__(url, "m", "key", 60.0, name="facts", top_k=3)

    def _search(self, question: str) -> list[tuple[str, float | None]]:
        return [("Ann lives in Oslo, near the harbour with the old ships", 0.9), ("Ann has a dog", 0.5)]


def test_answers_through_the_relay_rest_on_what_fits() -> None:
    with memory_relay() as relay:
        whole = Facts(relay.url).query("Who has a dog?")
        assert whole.answer == "Ann has a dog" and whole.details["num_retrieved"] == 2
        assert whole.usage == {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        assert whole.context_tokens > 12
        tight = Facts(f"{relay.url}/v1").query("Who has a dog?", budget=8, asked="8 May")
        assert tight.context == "- Ann has a dog" and "8 May" in relay.asked[-1]
        nothing = Facts(relay.url).query("Who has a dog?", budget=0)
        assert nothing.context == "" and "(no relevant context found)" in relay.asked[-1]


def test_turns_are_handed_over_by_session() -> None:
    turns = [{"role": "user", "content": str(n), "session_id": "ab"[n // 3]} for n in range(5)]
    found = [[turn["content"] for turn in batch] for batch in batches(turns, 2)]
    assert found == [["0", "1"], ["2"], ["3", "4"]]
    assert list(batches([], 2)) == []
    turn = {"content": "hi", "speaker": "Ann", "timestamp": "8 May"}
    assert spoken(turn) == "[8 May] Ann: hi" and spoken({"content": "hi"}) == "hi"
    # As LoCoMo has it: the content also says who speaks and when.
    shown = {**turn, "content": "[8 May] Ann: hi [shares a cat]", "text": "hi", "picture": "a cat"}
    assert spoken(shown) == "[8 May] Ann: hi [shares a cat]"


def test_usage_is_summed_up() -> None:
    usage = Usage()
    usage.add({"total_tokens": 2, "details": {"cached": 1}, "cached": True})
    usage.add({"total_tokens": 3})
    usage.add(None)
    assert usage.take() == {"total_tokens": 5} and usage.take() is None
