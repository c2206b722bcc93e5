"""Import paths, defaults and forms that users of the original tool have."""

from __future__ import annotations

import importlib
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import context_bench
import pytest
from context_bench import EvalResult, EvalRow, OpenAIProxy, evaluate
from context_bench.cache import Cache, ResultCache
from context_bench.evaluators import AnswerQuality, LLMJudge
from context_bench.evaluators.rouge import rouge_l
from context_bench.metrics import CostOfPass, Latency, MeanScore, PassRate
from fronts import Program, package, same
from kit import EXAMPLES, Counting

PATHS = {
    "evaluators.answer_quality": "AnswerQuality",
    "evaluators.code_execution": "CodeExecution",
    "evaluators.ifeval_checker": "IFEvalChecker",
    "evaluators.llm_judge": "LLMJudge",
    "evaluators.math_equivalence": "MathEquivalence",
    "evaluators.multiple_choice": "MultipleChoiceAccuracy",
    "evaluators.nli_label_match": "NLILabelMatch",
    "evaluators.rouge": "SummarizationQuality",
    "evaluators.summarization_quality": "SummarizationQuality",
    "metrics.compression": "CompressionRatio",
    "metrics.cost_of_pass": "CostOfPass",
    "metrics.latency": "Latency",
    "metrics.mean_score": "MeanScore",
    "metrics.pareto": "ParetoRank",
    "metrics.pass_rate": "PassRate",
    "metrics.per_dataset": "PerDatasetBreakdown",
    "metrics.quality": "MeanScore",
    "metrics.token_stats": "ParetoRank",
    "systems.claude_cli": "ClaudeCLI",
    "systems.openai_proxy": "OpenAIProxy",
}


@pytest.mark.parametrize("path", PATHS)
def test_a_class_is_the_same_from_every_place(path: str) -> None:
    module = importlib.import_module(f"context_bench.{path}")
    parent = importlib.import_module(f"context_bench.{path.split('.')[0]}")
    name = PATHS[path]
    assert getattr(module, name) is getattr(parent, name) and name in module.__all__
    assert module.__doc__


def test_the_cache_has_its_name(tmp_path: Path, url: str) -> None:
    assert ResultCache is Cache
    proxy = OpenAIProxy(url, name="proxy")
    evaluate([proxy], EXAMPLES, [AnswerQuality()], cache_dir=tmp_path, progress=False)
    kept = ResultCache(tmp_path)
    assert kept.cached_count == 3 and kept.cache_path.exists()


def test_rouge_l_has_the_names_of_the_evaluator() -> None:
    found = rouge_l("The budget was approved by the committee.", "The committee approved the budget.")
    expected = {"rouge_l_precision": 3 / 7, "rouge_l_recall": 3 / 5, "rouge_l_f1": 0.5}
    assert found == pytest.approx(expected)


# Defaults ---------------------------------------------------------------------------


def test_both_front_ends_ask_for_the_same_model(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text('{"id": 1, "context": "c", "question": "q", "answer": "Paris"}\n')
    asked = []
    for ask in (
        lambda url: program("run", "--proxy", url, "--dataset", file, "--quiet"),
        lambda url: evaluate([OpenAIProxy(url)], str(file), [AnswerQuality()], progress=False),
    ):
        with Counting() as server:
            import threading

            threading.Thread(target=server.serve_forever, daemon=True).start()
            ask(server.url)
            asked += [body["model"] for body in server.bodies]
            server.shutdown()
    assert len(asked) == 2 and len(set(asked)) == 1
    for made in (OpenAIProxy, LLMJudge):
        assert inspect.signature(made).parameters["model"].default == asked[0]


# Generation -------------------------------------------------------------------------


def test_generation_parameters_are_sent_and_kept(counting: Counting, tmp_path: Path) -> None:
    def ask(**settings: Any) -> None:
        proxy = OpenAIProxy(counting.url, name="p", **settings)
        evaluate([proxy], EXAMPLES[:1], [], cache_dir=tmp_path, progress=False)

    ask(temperature=0.5, max_tokens=8, top_p=0.9, stop=["\n", "END"], seed=7)
    sent = counting.bodies[0]
    del sent["messages"], sent["model"]
    assert sent == {
        "temperature": 0.5, "max_tokens": 8, "top_p": 0.9, "stop": ["\n", "END"], "seed": 7,
    }  # fmt: skip
    ask(temperature=0.5, max_tokens=8, top_p=0.9, stop=["\n", "END"], seed=7)
    assert len(counting.bodies) == 1
    # Each of them decides answers.
    ask(temperature=0.5, max_tokens=8, top_p=0.9, stop=["\n", "END"], seed=8)
    ask(temperature=0.0)
    ask()
    assert len(counting.bodies) == 4
    assert counting.bodies[2]["temperature"] == 0.0
    assert set(counting.bodies[3]) == {"model", "messages"}
    ask(temperature=0.1, extra_body={"temperature": 0.2})
    assert counting.bodies[4]["temperature"] == 0.2


def test_generation_parameters_can_be_seen_changed_and_copied(counting: Counting) -> None:
    proxy = OpenAIProxy(counting.url, temperature=1, stop="x")
    assert proxy.generation == {"temperature": 1, "stop": "x"} and proxy.extra_body == {}
    proxy.generation = {"max_tokens": 3}
    copy = pickle.loads(pickle.dumps(proxy))
    assert copy.generation == {"max_tokens": 3}
    copy.process({"context": "c"})
    assert counting.bodies[0]["max_tokens"] == 3 and "temperature" not in counting.bodies[0]


# Models -----------------------------------------------------------------------------


def test_both_front_ends_report_an_unlisted_model(
    program: Program, serve: Callable[..., str], tmp_path: Path
) -> None:
    url = serve("--models", "gpt-4o-mini,other")
    file = tmp_path / "one.jsonl"
    file.write_text('{"id": 1, "context": "c", "question": "q", "answer": "Paris"}\n')
    spec = {
        "systems": [{"proxy": url, "name": "mine", "model": "gpt-4o-mimi"}],
        "benchmarks": [{"dataset": str(file)}],
    }
    ours, theirs = program.spec(spec, tmp_path), package(lambda: context_bench.run(spec, progress=False))
    same(ours, theirs)
    assert theirs.remarks == [
        f"the model `gpt-4o-mimi` that `mine` asks for is not among those that {url}/v1/models lists"
    ]
    proxy = OpenAIProxy(url, model="gpt-4o-mimi", name="mine")
    with pytest.warns(context_bench.EvaluationWarning, match="did you mean `gpt-4o-mini`") as said:
        evaluate([proxy], EXAMPLES, [AnswerQuality()], cache_dir=tmp_path / "c", progress=False)
    assert said[0].filename == __file__
    # What the store has answers of is known to work.
    again = package(lambda: evaluate([proxy], EXAMPLES, [], cache_dir=tmp_path / "c", progress=False))
    assert again.remarks == []


def test_an_odd_answer_of_an_endpoint_does_no_harm(counting: Counting) -> None:
    """It knows no GET at all."""
    proxy = OpenAIProxy(counting.url, model="any")
    assert package(lambda: evaluate([proxy], EXAMPLES, [], progress=False)).remarks == []


# Showing ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result(url: str) -> EvalResult:
    systems = [OpenAIProxy(url, name="one"), OpenAIProxy(url, name="two", temperature=1)]
    metrics = [MeanScore("f1"), PassRate(0.7, "f1"), CostOfPass(0.7, "f1"), Latency()]
    examples = [{**EXAMPLES[n % 3], "id": n} for n in range(300)]
    return evaluate(systems, examples, [AnswerQuality()], metrics, max_workers=8, progress=False)


def test_a_result_is_shown_on_one_screen(result: EvalResult) -> None:
    shown = repr(result)
    assert shown == str(result) and shown.startswith("EvalResult: 600 rows, 2 systems\n")
    lines = shown.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert "0.667 ±0.0" in shown and "300/0" in shown and "EvalRow(" not in shown
    many = EvalResult(rows=[], summary={f"s{n}": {"mean_score": 0.5} for n in range(90)})
    assert len(repr(many).splitlines()) <= 24 and "more lines" in repr(many)
    assert "No results" in repr(EvalResult(rows=[], summary={}))


def test_notebooks_and_markdown_spell_numbers_as_the_terminal_does(result: EvalResult) -> None:
    html, markdown = result._repr_html_(), result._repr_markdown_()
    assert markdown == result.to_markdown()
    passing = int(result.summary["one"]["num_passing"])
    for text in ("0.667 ±0.0", "67%", str(passing)):
        assert f"<td>{text}" in html and f"| {text}" in markdown, text
    assert f"<td>{passing}</td>" in html and f"| {passing} |" in markdown
    shown = repr(result)
    (mean,) = {line.split()[1] + " " + line.split()[2] for line in shown.splitlines() if line.startswith("one")}
    assert f"<td>{mean}</td>" in html and f"| {mean} |" in markdown


def test_whole_numbers_of_a_summary_by_hand_stay_whole() -> None:
    rows = [EvalRow("s", 1, {"f1": 1.0}, 3, 2)]
    made = EvalResult(rows=rows, summary={"s": {"mean_score": 0.5, "num_passing": 3}})
    assert "| 0.5000 | 3 |" in made.to_markdown()
