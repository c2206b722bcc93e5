"""Rows and results: what users read, filter, change and export."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
from pathlib import Path
from typing import Any

import pytest
from context_bench import EvalResult, EvalRow, EvaluationWarning, evaluate
from context_bench.evaluators import AnswerQuality
from context_bench.metrics import Latency, MeanScore, PassRate
from context_bench.reporters import to_html, to_json, to_markdown
from context_bench.reporters.html import to_html as same_to_html


class Picky:
    name = "picky"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if example["id"] == "bad":
            raise ValueError("<b>no</b>")
        return {**example, "response": example["answer"]}


@pytest.fixture
def result() -> EvalResult:
    dataset = [{"id": 1, "answer": "one", "dataset": "x"}, {"id": "bad"}, {"id": "ü", "answer": "two"}]
    with pytest.warns(EvaluationWarning):
        return evaluate(
            [Picky()], dataset, [AnswerQuality()], [MeanScore("f1"), Latency()], progress=False
        )


def test_errors_of_repeats_rest_on_examples() -> None:
    answers = ["yes"] * 3 + ["no"] * 3 + ["yes", "no", "yes"] + ["no", "no", "yes"]
    dataset = [{"id": i // 3, "n": i, "answer": word} for i, word in enumerate(answers)]

    class Yes:
        name = "yes"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {**example, "response": "yes"}

    metrics = [MeanScore("f1"), PassRate(score_field="f1")]
    result = evaluate([Yes()], dataset, [AnswerQuality()], metrics, progress=False)
    for name in ("mean_score", "pass_rate"):
        found = result.statistics["yes"][name]
        assert (found["n"], found["examples"]) == (12, 4)
        # Shares of 1, 0, 2/3 and 1/3: their standard deviation over two, by hand.
        assert math.isclose(found["stderr"], math.sqrt(10 / 18 / 12))
    again = pickle.loads(pickle.dumps(result))
    assert again.statistics == result.statistics
    assert json.loads(again.to_json())["statistics"] == result.statistics


def row(**changes: Any) -> EvalRow:
    fields = {"system": "s", "example_id": 1, "scores": {"f1": 0.5}, "input_tokens": 3,
              "output_tokens": 2}  # fmt: skip
    return EvalRow(**{**fields, **changes})


def test_a_row_is_built_by_position_like_the_original() -> None:
    made = EvalRow("s", "x", {"f1": 1}, 10, 5, {"k": 1}, 0.25, "d")
    assert (made.system, made.example_id, made.scores) == ("s", "x", {"f1": 1})
    assert (made.input_tokens, made.output_tokens, made.metadata) == (10, 5, {"k": 1})
    assert (made.latency, made.dataset, made.error, made.cached) == (0.25, "d", None, False)
    assert row().metadata == {} and row().latency == 0.0 and row().dataset == ""


def test_a_row_is_a_dataclass_to_whoever_asks() -> None:
    assert dataclasses.is_dataclass(EvalRow)
    names = [field.name for field in dataclasses.fields(EvalRow)]
    assert names == ["system", "example_id", "scores", "input_tokens", "output_tokens",
                     "metadata", "latency", "dataset"]  # fmt: skip
    assert dataclasses.asdict(row())["scores"] == {"f1": 0.5}
    assert dataclasses.replace(row(), latency=2.0).latency == 2.0
    assert row() == row() and row() != row(latency=1.0) and row() != 3


def test_changed_scores_count_in_metrics_and_exports() -> None:
    changed = row()
    changed.scores["f1"] = 1.0
    changed.scores["new"] = 2
    assert MeanScore("f1").compute([changed]) == {"mean_score": 1.0}
    exported = json.loads(EvalResult(rows=[changed], summary={}).to_json())
    assert exported["rows"][0]["scores"] == {"f1": 1.0, "new": 2.0}


def test_rows_that_only_look_like_rows_will_do() -> None:
    @dataclasses.dataclass
    class Mine:
        scores: dict[str, float]
        system: str = "s"
        example_id: int = 0
        input_tokens: int = 1
        output_tokens: int = 1

    assert MeanScore("f1").compute([Mine({"f1": 0.25})]) == {"mean_score": 0.25}  # type: ignore[list-item]
    with pytest.raises(TypeError, match="rows must be EvalRow objects, found a int"):
        MeanScore("f1").compute([1])  # type: ignore[list-item]


def test_a_missing_score_is_nan() -> None:
    assert math.isnan(MeanScore("f2").compute([row()])["mean_score"])
    assert MeanScore("f1").compute([row(), row(scores={"f1": None})]) == {"mean_score": 0.5}
    assert MeanScore("f1").compute([]) == {"mean_score": 0.0}


@pytest.mark.parametrize(
    "again", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy]
)
def test_nothing_of_a_row_is_lost_in_a_copy(result: EvalResult, again: Any) -> None:
    for before in result.rows:
        after = again(before)
        assert after == before
        assert repr(after.error) == repr(before.error)
        assert after.unscored == before.unscored
    if again is not copy.copy:
        assert again(result).summary.keys() == result.summary.keys()


def test_filter_keeps_numbers_and_drops_systems_without_rows(result: EvalResult) -> None:
    assert [r.example_id for r in result.filter(system="picky", dataset="x").rows] == [1]
    assert result.filter(dataset="x").summary == result.summary
    empty = result.filter(unknown=1)
    assert (empty.rows, empty.summary, empty.counts) == ([], {}, {})
    assert empty.timing == result.timing and empty.config == result.config


def test_json_is_strict_and_says_what_happened(result: EvalResult) -> None:
    parsed = json.loads(result.to_json(), parse_constant=pytest.fail)
    assert list(parsed)[:4] == ["rows", "summary", "timing", "config"]
    assert parsed["rows"][1]["error"]["message"] == "ValueError: <b>no</b>"
    assert [r["example_id"] for r in parsed["rows"]] == [1, "bad", "ü"]
    assert parsed["counts"]["picky"]["failed"] == 1
    assert result.to_json().isascii()
    assert to_json(result) == result.to_json()
    result.summary["picky"]["mine"] = math.inf
    assert json.loads(result.to_json())["summary"]["picky"]["mine"] is None


def test_data_frames_have_one_record_per_row(result: EvalResult) -> None:
    pytest.importorskip("pandas")
    frame = result.to_dataframe()
    columns = ["system", "example_id", "dataset", "input_tokens", "output_tokens", "latency",
               "f1", "exact_match", "recall", "contains", "answer", "response", "error"]  # fmt: skip
    assert list(frame.columns) == columns
    assert list(frame["example_id"]) == [1, "bad", "ü"]
    assert math.isnan(frame["f1"][1])


def test_arrow_and_polars(result: EvalResult) -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("polars")
    table = result.to_arrow()
    assert table.column("example_id").to_pylist() == ["1", "bad", "ü"]
    assert table.column("f1").to_pylist() == [1.0, None, 1.0]
    assert result.to_polars()["f1"].to_list() == [1.0, None, 1.0]


def test_a_parquet_file_is_read_alike_everywhere(result: EvalResult, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    polars = pytest.importorskip("polars")
    path = tmp_path / "rows ü.parquet"
    result.to_parquet(path)
    table = parquet.read_table(path)
    assert table.column("example_id").to_pylist() == ["1", "bad", "ü"]
    assert table.column("f1").to_pylist() == [1.0, None, 1.0]
    assert str(table.schema.field("f1").type) == "double"
    assert table.column("error").to_pylist() == [None, "ValueError: <b>no</b>", None]
    frame = polars.read_parquet(path)
    assert frame["response"].to_list() == [row.response for row in result.rows]
    assert frame["latency"].to_list() == [row.latency for row in result.rows]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    with pytest.raises(OSError, match="cannot write"):
        result.to_parquet(tmp_path / "no" / "such.parquet")


def test_an_optional_package_that_is_missing_is_named(
    result: EvalResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        result.to_dataframe()


def test_reports(result: EvalResult) -> None:
    assert "| picky |" in to_markdown(result).replace("  ", " ")
    page = to_html(result)
    assert page == result.to_html() and same_to_html is to_html
    assert page.startswith("<!doctype html>") and "default-src 'none'" in page
    assert "<script src" not in page and "https:" not in page and "<b>no</b>" not in page
    shown = result._repr_html_()
    assert "<td>2/1</td>" in shown and "mean_score" in shown and "<b>no</b>" not in shown
    assert "No results" in EvalResult(rows=[], summary={})._repr_html_()
