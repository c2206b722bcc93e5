"""What user code gives is what user code gets: objects, subclasses, failures."""

from __future__ import annotations

import datetime
import pickle
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kit import Counting

from context_bench import EvalRow, OpenAIProxy, evaluate
from context_bench.cache import Cache
from context_bench.evaluators import AnswerQuality
from context_bench.metrics import MeanScore
from context_bench.registry import register_dataset
from context_bench.runner import EvaluationWarning
from context_bench.utils.tokens import count_tokens_dict

Example = dict[str, Any]


class Chunker:
    name = "chunker"
    cache_key = "v1"

    def __init__(self, **added: Any) -> None:
        self.added = added
        self.calls = 0

    def process(self, example: Example) -> Example:
        self.calls += 1
        return {**example, "response": "x", **self.added}


class Same:
    """Scores 1 when a field of the output is what was expected."""

    name = "same"

    def __init__(self, field: str, expected: Any) -> None:
        self.field, self.expected = field, expected

    def score(self, original: Example, processed: Example) -> dict[str, float]:
        found = processed.get(self.field)
        return {"same": float(found == self.expected and type(found) is type(self.expected))}


@pytest.mark.parametrize(
    "value", [{"a", "b"}, (0, 3), b"ab", {1: "a"}, 10**30, [("x",)], float("inf")]
)
def test_an_answer_that_json_changes_is_never_scored_from_a_copy(
    value: Any, tmp_path: Path
) -> None:
    system = Chunker(kept=value)
    for calls in (1, 2):
        with pytest.warns(EvaluationWarning, match="`kept` contains something that JSON cannot represent"):
            result = evaluate(
                [system],
                [{"id": 1, "context": "c"}],
                [Same("kept", value)],
                [MeanScore("same")],
                cache_dir=tmp_path,
                progress=False,
            )
        assert result.summary["chunker"]["mean_score"] == 1.0
        assert (system.calls, result.rows[0].cached) == (calls, False)
        # It is kept all the same, as far as JSON can.
        kept = Cache(tmp_path).load()
        assert kept.part_of is None and len(kept.rows) == 1


def test_what_the_example_has_as_well_is_at_hand_as_it_is(tmp_path: Path) -> None:
    day = datetime.date(2020, 1, 1)
    system = Chunker(kept=[1, 2])
    for cached in (False, True):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = evaluate(
                [system],
                [{"id": 1, "context": "c", "when": day, "span": (0, 3)}],
                [Same("when", day), Same("span", (0, 3))],
                cache_dir=tmp_path,
                progress=False,
            )
        assert result.rows[0].scores == {"same": 1.0}
        assert result.rows[0].cached is cached
    assert system.calls == 1


def test_fields_that_a_native_system_leaves_alone_stay_what_they_are(url: str) -> None:
    day = datetime.date(2020, 1, 1)
    example = {"id": 1, "context": "c", "when": day, "span": (0, 3)}
    proxy = OpenAIProxy(url, name="p")
    direct = proxy.process(example)
    assert (direct["when"], direct["span"], direct["response"]) == (day, (0, 3), "Paris")
    for expected in (("when", day), ("span", (0, 3))):
        rows = evaluate([proxy], [example], [Same(*expected)], progress=False).rows
        assert rows[0].scores == {"same": 1.0}


def test_nothing_is_sent_that_only_stands_for_something_else(counting: Counting) -> None:
    day = datetime.date(2020, 1, 1)
    proxy = OpenAIProxy(counting.url, name="p")
    with pytest.raises(TypeError, match="`context` contains a value of type `datetime.date`"):
        proxy.process({"context": day})
    with pytest.raises(TypeError, match="`extra_body` contains a value of type `set`"):
        OpenAIProxy(counting.url, extra_body={"x": {1}})
    own = OpenAIProxy(counting.url, build_messages=lambda e: [{"role": "user", "content": day}])
    with pytest.raises(TypeError, match="`build_messages` contains a value of type"):
        own.process({"context": "c"})
    with pytest.warns(EvaluationWarning, match="1 of 1 rows failed"):
        result = evaluate([proxy], [{"context": [day]}], [], progress=False)
    assert "cannot be sent as JSON" in result.rows[0].error.message  # type: ignore[union-attr]
    assert counting.bodies == []


def test_subclasses_have_arguments_and_names_of_their_own(url: str) -> None:
    class Mine(OpenAIProxy):
        def __init__(self, port: str, extra: int) -> None:
            super().__init__(port, model="m", max_retries=0)
            self.extra = extra

        @property
        def name(self) -> str:  # type: ignore[override]
            return "mine"

    class Quality(AnswerQuality):
        def __init__(self, weight: float) -> None:
            super().__init__()
            self.weight = weight

    class Mean(MeanScore):
        def __init__(self, field: str, note: str) -> None:
            super().__init__(field)
            self.note = note

    system = Mine(url, extra=5)
    assert (system.model, system.extra, system.max_retries) == ("m", 5, 0)
    metric = Mean("f1", "n")
    result = evaluate(
        [system], [{"context": "c", "answer": "Paris"}], [Quality(2.0)], [metric], progress=False
    )
    assert result.summary[system.name] == {"mean_score": 1.0}

    class Forgets(OpenAIProxy):
        def __init__(self) -> None:
            pass

    with pytest.raises(RuntimeError, match="__init__` was not called"):
        Forgets().process({"context": "c"})

    class Row(EvalRow):
        pass

    assert Row("s", 1, {}, 1, 1).system == "s"


def test_a_proxy_can_be_changed_and_pickled(url: str) -> None:
    proxy = OpenAIProxy(url, model="a", name="p", api_key="k", extra_body={"top_p": 0.5})
    proxy.model, proxy.timeout, proxy.name = "b", 2.0, "q"
    for copy in (proxy, pickle.loads(pickle.dumps(proxy))):
        assert (copy.model, copy.timeout, copy.name, copy.api_key) == ("b", 2.0, "q", "k")
        assert (copy.extra_body, copy.base_url) == ({"top_p": 0.5}, url)
        assert copy.process({"context": "c"})["response"] == "Paris"
    with pytest.raises(ValueError, match="`max_retries` cannot be -1"):
        proxy.max_retries = -1


def test_a_text_that_cannot_be_counted_costs_its_row(tmp_path: Path) -> None:
    def count(text: str) -> int:
        if text == "bad":
            raise ValueError("cannot count")
        return len(text)

    examples = [{"id": i, "context": "bad" if i == 5 else "ok"} for i in range(10)]
    with pytest.warns(EvaluationWarning, match="1 of 10 rows failed: tokens cannot be counted"):
        result = evaluate([Chunker()], examples, [], tokenizer=count, progress=False)
    assert [row.error is not None for row in result.rows].index(True) == 5
    assert result.counts["chunker"]["failed"] == 1


def test_what_a_dataset_gave_before_it_failed_is_asked_and_scored() -> None:
    def examples() -> Iterator[Example]:
        for i in range(100):
            yield {"id": i, "context": "c", "answer": "x"}
        raise OSError("the line is dead")

    for workers in (1, 8):
        system = Chunker()
        with pytest.raises(OSError, match="the line is dead") as raised:
            evaluate(
                [system], examples(), [AnswerQuality()], max_workers=workers, progress=False
            )
        partial = raised.value.partial_result  # type: ignore[attr-defined]
        assert (len(partial.rows), system.calls) == (100, 100)


def test_a_pickled_result_reports_the_same() -> None:
    class Fails(Chunker):
        def process(self, example: Example) -> Example:
            if example["id"] == 1:
                raise ValueError("boom")
            return super().process(example)

    examples = [{"id": i, "answer": "x"} for i in range(4)]
    with pytest.warns(EvaluationWarning):
        result = evaluate(
            [Fails()], examples, [AnswerQuality()], [MeanScore("f1")], progress=False
        )
    copy = pickle.loads(pickle.dumps(result))
    assert copy == result
    assert "failed" in result.to_markdown()
    for form in ("to_markdown", "to_json", "to_jsonl", "to_csv"):
        assert getattr(copy, form)() == getattr(result, form)()


def test_small_mistakes_are_understood_or_explained(tmp_path: Path) -> None:
    assert count_tokens_dict({"a": "x y", "b": "z"}, "b") == count_tokens_dict({"b": "z"})
    example = {"id": uuid.UUID(int=1), "context": "hello world"}
    row = evaluate([Chunker()], [example], [], text_fields="context", progress=False).rows[0]
    assert (row.input_tokens, row.example_id) == (2, str(uuid.UUID(int=1)))
    for workers in (2.5, "many"):
        with pytest.raises(TypeError, match="`max_workers` must be a whole number.*\nhint:"):
            evaluate([Chunker()], [example], [], max_workers=workers, progress=False)  # type: ignore[arg-type]
    register_dataset("faithful", lambda: [{"id": i, "answer": "x"} for i in range(3)])
    rows = evaluate([Chunker()], "faithful", [AnswerQuality()], progress=False).rows
    assert [row.dataset for row in rows] == ["faithful"] * 3
    file = tmp_path / "x.jsonl"
    file.write_text('{"id": 1, "answer": "x"}\n')
    assert len(evaluate([Chunker()], file, [], progress=False).rows) == 1


def test_whole_numbers_of_a_metric_are_shown_as_such() -> None:
    class Count:
        name = "n_rows"

        def compute(self, rows: list[EvalRow]) -> dict[str, int]:
            return {"n_rows": len(rows)}

    result = evaluate([Chunker()], [{"id": 1}] * 3, [], [Count()], progress=False)
    assert "3.0" not in result.to_markdown()
