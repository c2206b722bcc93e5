"""``evaluate_memory``: memories of one's own and built-in ones over conversations."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import context_bench.datasets
import pytest
from context_bench import EvaluationWarning, MemorySystem, evaluate_memory
from context_bench.evaluators import AnswerQuality
from context_bench.memory_types import (
    BenchmarkExample,
    BenchmarkQuery,
    ConversationTurn,
    Declaration,
    IngestResult,
    QueryResult,
)
from context_bench.metrics import MeanScore, PerQATypeMetric, TokenEfficiencyMetric
from memory_relay import CONVERSATIONS

ANSWERS = {"Name?": "Alice"}
ALICE = {
    "id": "c1",
    "dataset": "test",
    "turns": [
        {"role": "user", "content": "My name is Alice.", "mood": "calm"},
        {"role": "assistant", "content": "Hi Alice"},
    ],
    "qa_pairs": [
        {"question": "Name?", "answer": "Alice", "type": "single_hop"},
        {"question": "Year?", "answer": "1990", "type": "temporal"},
    ],
}


class Stub:
    """Knows answers by heart and writes down how it is used."""

    name = "stub"

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.turns: list[Any] = []

    def reset(self) -> None:
        self.log.append("reset")

    def ingest(self, turns: Sequence[Any]) -> None:
        self.turns += turns
        self.log.append(("ingest", len(turns)))

    def query(self, question: str) -> str:
        self.log.append(("query", question))
        return ANSWERS[question]


class Words:
    """Answers with the turn that shares most words with the question."""

    name = "words"
    made = 0

    def __init__(self) -> None:
        type(self).made += 1
        self.turns: list[str] = []

    def reset(self) -> None:
        self.turns = []

    def ingest(self, turns: Sequence[Any]) -> None:
        self.turns += [turn["content"] for turn in turns]

    def query(self, question: str) -> str:
        asked = set(question.lower().strip("?").split())
        return max(self.turns, key=lambda turn: len(asked & set(turn.lower().strip(".").split())))


def run(*systems: Any, dataset: Any = CONVERSATIONS, **settings: Any) -> context_bench.EvalResult:
    settings = {"evaluators": [AnswerQuality()], "progress": False, **settings}
    return evaluate_memory(systems, dataset, **settings)


def test_the_worked_case_of_the_original() -> None:
    # cb-0384, with words as tokens as there; a question that fails is no answer of score 0 here.
    stub = Stub()
    assert isinstance(stub, MemorySystem)
    metrics = [PerQATypeMetric(), TokenEfficiencyMetric()]
    with pytest.warns(EvaluationWarning):
        result = run(stub, dataset=[ALICE], metrics=metrics, tokenizer="whitespace")
    assert stub.log == ["reset", ("ingest", 2), ("query", "Name?"), ("query", "Year?")]
    right, failed = result.rows
    assert (right.system, right.example_id, right.dataset) == ("stub", "c1_0", "test")
    assert right.scores == {"f1": 1.0, "exact_match": 1.0, "recall": 1.0, "contains": 1.0}
    assert (right.input_tokens, right.output_tokens) == (6, 1)
    metadata = right.metadata
    assert (metadata["qa_type"], metadata["conversation_id"], metadata["turn_count"]) == (
        "single_hop", "c1", 2,
    )  # fmt: skip
    assert metadata["ingest_latency"] >= 0 and metadata["query_latency"] == right.latency
    assert (failed.example_id, failed.metadata["qa_type"]) == ("c1_1", "temporal")
    assert failed.error is not None and "KeyError" in failed.error.message
    assert failed.scores == {}
    summary = result.summary["stub"]
    assert summary["f1_single_hop"] == 1.0 and summary["mean_input_tokens"] == 6.0
    assert result.config["systems"] == ["stub"]
    assert result.config["metrics"] == ["per_qa_type", "token_efficiency"]
    assert result.config["num_examples"] == 1


def test_a_memory_gets_what_the_user_passed() -> None:
    stub = Stub()
    with pytest.warns(EvaluationWarning):
        run(stub, dataset=[ALICE])
    assert stub.turns == ALICE["turns"]
    items: list[Any] = [ConversationTurn("My name is Alice.", "user"), Declaration("name", "Alice")]
    typed = BenchmarkExample("t", items, [BenchmarkQuery("Name?", "Alice", "fact")], "typed")
    stub = Stub()
    result = run(stub, dataset=[typed])
    assert stub.turns == items and stub.turns[1] is items[1]
    row = result.rows[0]
    assert (row.example_id, row.dataset, row.metadata["qa_type"]) == ("t_0", "typed", "fact")
    assert row.scores["f1"] == 1.0


def test_typed_results_become_rows() -> None:
    class Typed(Stub):
        cache_key = "1"

        async def ingest(self, turns: Any) -> IngestResult:
            return IngestResult(len(turns), 1.0, {"usage": {"total_tokens": 9}, "facts": 2})

        async def query(self, question: str, budget: int | None = None) -> QueryResult:
            return QueryResult(
                "Alice", 5.0, 42, {"budget": budget, "num_retrieved": 3}, context="seen",
                usage={"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
                retrieve_seconds=0.5, answer_seconds=0.25,
            )  # fmt: skip

    row = run(Typed(), dataset=[ALICE], budget_tokens=100).rows[0]
    assert row.input_tokens == 42 and row.response == "Alice"
    metadata = row.metadata
    assert (metadata["budget"], metadata["num_retrieved"]) == (100, 3)
    assert (metadata["prompt_tokens"], metadata["total_tokens"]) == (7, 9)
    assert (metadata["retrieve_latency"], metadata["answer_latency"]) == (0.5, 0.25)
    assert metadata["ingest_usage"] == {"total_tokens": 9}
    assert metadata["ingest_details"] == {"facts": 2}


def test_last_context_tokens_count() -> None:
    class Counted(Words):
        last_context_tokens = 12

    assert {row.input_tokens for row in run(Counted()).rows} == {12}


def test_evaluators_get_the_question_and_the_end_of_the_conversation() -> None:
    seen = []

    class Look:
        name = "look"

        def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
            seen.append((original, processed))
            return {"look": 1.0}

    run(Words(), dataset=CONVERSATIONS[:1], evaluators=[Look()])
    # Scores are computed side by side.
    original, processed = next(one for one in seen if one[0]["id"] == "Ann_0")
    assert original["question"] == "Where do I live?"
    assert original["answer"] == "Oslo" and original["dataset"] == "people"
    assert original["context"].splitlines()[0] == "USER: My name is Ann."
    assert processed["response"] == "I live in Oslo and my dog is called Rex."


def test_conversations_stay_apart_however_they_are_served() -> None:
    expected = [pair["answer"] for one in CONVERSATIONS for pair in one["qa_pairs"]]
    for workers in (None, 4):
        for system in (Words(), Words, lambda: Words()):
            result = run(system, max_workers=workers)
            assert [row.example_id for row in result.rows][:3] == ["Ann_0", "Ann_1", "Bob_0"]
            for row, answer in zip(result.rows, expected, strict=True):
                assert answer in row.response


def test_a_class_serves_conversations_side_by_side() -> None:
    together = threading.Barrier(2)

    class Meeting(Words):
        made = 0

        def ingest(self, turns: Any) -> None:
            together.wait(timeout=600)  # passes only if two conversations are taken in at once
            super().ingest(turns)

    result = run(Meeting, dataset=CONVERSATIONS[:2], max_workers=4)
    assert all(row.error is None for row in result.rows) and Meeting.made <= 3


def test_a_failure_stays_with_its_conversation() -> None:
    class Choosy(Words):
        name = "choosy"

        def ingest(self, turns: Any) -> None:
            if "Bob" in turns[0]["content"]:
                raise ValueError("not this one")
            super().ingest(turns)

    with pytest.warns(EvaluationWarning):
        result = run(Choosy(), Words())
    failed = [row for row in result.rows if row.error is not None]
    assert [(row.system, row.example_id) for row in failed] == [
        ("choosy", "Bob_0"), ("choosy", "Bob_1"),
    ]  # fmt: skip
    assert failed[0].error is not None and "ingest: ValueError: not this one" in failed[0].error.message


def test_built_in_memories_by_name() -> None:
    result = run("bm25:top_k=1", Words(), "none", "oracle", metrics=[MeanScore(score_field="contains")])
    assert list(result.summary) == ["bm25:top_k=1", "words", "none", "oracle"]
    assert result.config["num_examples"] == 3
    with pytest.raises(ValueError, match="bm52"):
        run("bm52")
    with pytest.raises(ValueError, match="`mem0` needs a model(?s:.*)relay=URL"):
        run("mem0")


def test_questions_are_chosen_by_kind_and_conversations_by_number() -> None:
    both = [{**CONVERSATIONS[0], "qa_pairs": [
        {"question": "Where do I live?", "answer": "Oslo", "type": "temporal_a"},
        {"question": "How is my dog called?", "answer": "Rex", "type": "fact"},
    ]}, *CONVERSATIONS[1:]]  # fmt: skip
    result = run(Words(), dataset=both, qa_types="temporal*")
    assert [row.example_id for row in result.rows] == ["Ann_0"]
    assert len(run(Words(), dataset=(one for one in both), max_examples=2).rows) == 4
    assert len(run(Words(), dataset=both, max_examples=-1).rows) == 4


def test_a_file_of_conversations(tmp_path: Path) -> None:
    path = tmp_path / "people.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in CONVERSATIONS))
    result = run(Words(), "naive", dataset=path, max_examples=2)
    assert len(result.rows) == 8
    words = result.filter(system="words").rows
    assert all(answer in row.response for row, answer in zip(words, ("Oslo", "Rex", "Lima", "Fido")))


def test_data_by_name_gives_the_same_turns_as_its_loader(shared: Any) -> None:
    path = shared("data", "full", "locomo10.json")
    by_name, by_loader = Words(), Words()
    settings: dict[str, Any] = {"max_examples": 1, "qa_types": "temporal"}
    first = run(by_name, dataset=f"locomo={path}", **settings)
    loaded = context_bench.datasets.locomo(n=1, path=path)
    second = run(by_loader, dataset=loaded, **settings)
    assert by_name.turns == by_loader.turns and ": " in by_name.turns[0]
    assert [row.response for row in first.rows] == [row.response for row in second.rows]


def test_without_evaluators_those_of_the_data_are_used(shared: Any) -> None:
    path = shared("data", "full", "locomo10.json")
    result = run("bm25", "none", dataset=f"locomo={path}", max_examples=1, evaluators=None)
    assert "locomo" in result.rows[0].scores and "recall_at_10" in result.rows[0].scores
    assert result.summary["bm25"]["mean_score"] > result.summary["none"]["mean_score"]


class Saving(Words):
    """Saves itself, and counts what is asked of it."""

    name = "saving"
    cache_key = "v1"
    calls: list[str] = []

    def ingest(self, turns: Any) -> None:
        self.calls.append("ingest")
        super().ingest(turns)

    def query(self, question: str) -> str:
        self.calls.append("query")
        return super().query(question)

    def save(self) -> bytes:
        return json.dumps(self.turns).encode()

    def load(self, state: bytes) -> bool:
        self.turns = json.loads(state)
        return True


def test_a_store_keeps_answers_and_what_was_taken_in(tmp_path: Path) -> None:
    Saving.calls.clear()
    first = run(Saving(), cache_dir=tmp_path)
    assert (Saving.calls.count("ingest"), Saving.calls.count("query")) == (3, 6)
    again = run(Saving, cache_dir=tmp_path)
    assert len(Saving.calls) == 9 and all(row.cached for row in again.rows)
    assert [row.response for row in again.rows] == [row.response for row in first.rows]
    assert again.rows[0].metadata["qa_type"] == "single_hop"
    # One more question about a conversation that is known.
    more = [{**CONVERSATIONS[0], "qa_pairs": [{"question": "What is my name?", "answer": "Ann"}]}]
    row = run(Saving(), dataset=more, cache_dir=tmp_path).rows[0]
    assert Saving.calls[9:] == ["query"] and "Ann" in row.response


def test_a_spec_of_memories_takes_objects_too() -> None:
    spec = {"memory": {"top_k": 1}, "systems": [{"system": "bm25"}]}
    result = context_bench.run(
        spec, systems=[Words(), Saving], dataset=CONVERSATIONS, evaluators=[AnswerQuality()],
        progress=False,
    )  # fmt: skip
    assert list(result.summary) == ["bm25", "words", "saving"]
    assert result.rows[0].metadata["qa_type"] == "single_hop"
    with pytest.raises(TypeError, match="has no `reset`"):
        context_bench.run(spec, systems=[AnswerQuality()], dataset=CONVERSATIONS)


def test_wrong_arguments_say_what_is_wrong() -> None:
    class NoMemory:
        name = "none"

        def query(self, question: str) -> str:
            return question

    with pytest.raises(TypeError, match="has no `reset`(?s:.*)needs `name`, `reset`"):
        run(NoMemory())
    with pytest.raises(TypeError, match="has no `name`"):
        run(type("Nameless", (Words,), {"name": None}))
    with pytest.raises(ValueError, match="words"):
        run(Words(), Words())
    with pytest.raises(TypeError, match="`systems` must be a list"):
        evaluate_memory(7, CONVERSATIONS, [AnswerQuality()])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="iterable of conversations, found a int"):
        run(Words(), dataset=7)
    with pytest.raises(TypeError, match="example 0 of the dataset must be a dict with `turns`"):
        run(Words(), dataset=[7])
    with pytest.raises(TypeError, match="`turns` of example 0 must be a list, found a str"):
        run(Words(), dataset=[{"turns": "hi", "qa_pairs": []}])
    with pytest.raises(TypeError, match="turn 0 of example 0 must be a dict"):
        run(Words(), dataset=[{"turns": ["hi"], "qa_pairs": []}])
    with pytest.raises(ValueError, match="no questions"):
        run(Words(), dataset=[{"turns": [{"role": "user", "content": "hi"}], "qa_pairs": []}])
    with pytest.raises(ValueError, match="cannot be negative"):
        run(Words(), dataset="locomo", max_examples=-1)

    class Silent(Words):
        name = "silent"

        def query(self, question: str) -> Any:
            return None

    with pytest.warns(EvaluationWarning):
        result = run(Silent(), dataset=CONVERSATIONS[:1])
    assert result.rows[0].error is not None
    assert "`query` must return a text" in result.rows[0].error.message
