"""The rest of the package: names, functions, datasets, cache, command line."""

from __future__ import annotations

import importlib
import json
import pickle
import pkgutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import context_bench
import pytest
from kit import EXAMPLES, Counting
from context_bench import ClaudeCLI, EvaluationWarning, OpenAIProxy, _sandbox, datasets, evaluate
from context_bench._native import NativeEvaluator
from context_bench.cache import Cache
from context_bench.evaluators import (
    AnswerQuality,
    CodeExecution,
    IFEvalChecker,
    LLMJudge,
    MathEquivalence,
    MultipleChoiceAccuracy,
    NLILabelMatch,
    OfficialJudge,
    SummarizationQuality,
    SwebenchReport,
)
from context_bench.evaluators.rouge import rouge_l
from context_bench.metrics import MeanScore
from context_bench.metrics.quality import normalize_answer
from context_bench.registry import get_metric, load_dataset, register_metric, registry
from context_bench.types import Evaluator, MemorySystem, Metric, System
from context_bench.utils.tokens import count_tokens, count_tokens_dict, set_tokenizer


def test_native_objects_satisfy_the_protocols() -> None:
    assert isinstance(OpenAIProxy("http://localhost:1"), System)
    assert isinstance(ClaudeCLI(), System)
    assert isinstance(AnswerQuality(), Evaluator)
    assert isinstance(MeanScore(), Metric)
    assert not isinstance(AnswerQuality(), MemorySystem)
    for name in context_bench.__all__:
        assert hasattr(context_bench, name)


def test_everything_public_is_documented_and_typed() -> None:
    folder = Path(context_bench.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_native.pyi").exists()
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(context_bench.__path__, "context_bench.")
        if not found.name.rsplit(".")[-1].startswith("_")
    ]
    assert len(modules) > 20
    for module in modules:
        assert module.__doc__, module.__name__
        for name in getattr(module, "__all__", []):
            thing = getattr(module, name)
            if callable(thing) and getattr(thing, "__module__", "").startswith("context_bench"):
                assert thing.__doc__, f"{module.__name__}.{name}"


@pytest.mark.parametrize(
    ("evaluator", "original", "response", "score", "value"),
    [
        (AnswerQuality(), {"answer": "Paris"}, "The capital is Paris.", "f1", 0.5),
        (MathEquivalence(), {"answer": "1/2"}, r"so \boxed{\frac{1}{2}}", "math_equiv", 1.0),
        (MultipleChoiceAccuracy(), {"correct_letter": "B"}, "(B)", "mc_accuracy", 1.0),
        (NLILabelMatch(), {"answer": "Entailment"}, "Label: entailment", "nli_accuracy", 1.0),
        (SummarizationQuality(), {"answer": "a b"}, "a b", "rouge_l_f1", 1.0),
        (IFEvalChecker(),
         {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}, "a, b",
         "ifeval_strict", 0.0),
    ],
)  # fmt: skip
def test_evaluators_by_hand(
    evaluator: Evaluator, original: dict[str, Any], response: str, score: str, value: float
) -> None:
    assert evaluator.score(original, {"response": response})[score] == value


def test_generated_code_runs_in_the_sandbox_of_this_interpreter() -> None:
    task = {"context": "def f(x):\n", "test": "def check(f):\n    assert f(2) == 4", "entry_point": "f"}
    right = CodeExecution(timeout=20).score(task, {"response": "    return x * 2\n"})
    wrong = CodeExecution(timeout=20).score(task, {"response": "    return x\n"})
    assert (right["pass_at_1"], wrong["pass_at_1"]) == (1.0, 0.0)


@pytest.mark.parametrize("make", [CodeExecution, partial(NativeEvaluator, "code_execution")])
def test_code_runs_without_a_sandbox_only_when_that_is_allowed(
    monkeypatch: pytest.MonkeyPatch, make: Callable[..., NativeEvaluator]
) -> None:
    # A launcher that is not there: no sandbox holds.
    monkeypatch.setattr(_sandbox, "__file__", "nowhere.py")
    task = {"context": "def f(x):\n", "test": "def check(f):\n    assert f(2) == 4", "entry_point": "f"}
    right = {"response": "    return x * 2\n"}
    for refused in ({}, {"allow_unsandboxed": False}, {"allow_unsandboxed": None}):
        with pytest.raises((ValueError, RuntimeError), match="sandbox"):
            make(timeout=20, **refused).score(task, right)
    assert make(timeout=20, allow_unsandboxed=True).score(task, right)["pass_at_1"] == 1.0
    for wrong in (0, 1, "no", "False", "true", [], ()):
        with pytest.raises(TypeError, match="`allow_unsandboxed` must be a bool"):
            make(allow_unsandboxed=wrong)


@pytest.mark.parametrize("stem", [False, True])
def test_words_are_stemmed_as_asked(stem: bool) -> None:
    scores = SummarizationQuality(stem=stem).score({"answer": "runs"}, {"response": "running"})
    assert scores["rouge_l_f1"] == float(stem)


def test_a_subclass_of_a_native_evaluator_is_asked_itself(examples: list[dict[str, Any]]) -> None:
    class Halved(AnswerQuality):
        def score(self, original: Any, processed: Any) -> dict[str, float]:
            return {name: value / 2 for name, value in super().score(original, processed).items()}

    class Gold:
        name = "gold"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {**example, "response": example["answer"]}

    result = evaluate([Gold()], examples, [Halved()], progress=False)
    assert [row.scores["f1"] for row in result.rows] == [0.5] * 3


def test_a_judge_rates(serve: Callable[..., str]) -> None:
    judge = LLMJudge(serve("--reply", "4"))
    assert judge.score({"answer": "x", "question": "q"}, {"response": "y"}) == {"judge_score": 0.75}


def test_a_judge_has_a_scale_a_template_and_a_mode(serve: Callable[..., str]) -> None:
    url = serve("--reply", "4")
    original, processed = {"answer": "x", "question": "q"}, {"response": "y"}
    assert LLMJudge(url, scale="1-10").score(original, processed) == {
        "judge_score": pytest.approx(3 / 9)
    }
    mine = LLMJudge(url, template="Rate {response} from 1 to 5.", score="mine")
    assert mine.score(original, processed) == {"mine": 0.75}
    # Whoever is shown first wins, in both orders: that is no win.
    pair = LLMJudge(serve("--reply", "[[A]]"), mode="pairwise", baseline="answer")
    assert pair.score(original, processed) == {"judge_score": 0.5, "judge_consistency": 0.0}
    with pytest.raises(ValueError, match="has no effect with `mode=pairwise`"):
        LLMJudge(url, mode="pairwise", scale="1-10").score(original, processed)


def test_judges_of_benchmarks(serve: Callable[..., str]) -> None:
    original = {"id": "q", "question": "q", "answer": "x", "type": "multi-session"}
    processed = {"response": "y"}
    yes = serve("--reply", "Yes. Decision: TRUE [[7]]")
    assert OfficialJudge("frames", yes).score(original, processed) == {"frames": 1.0}
    assert OfficialJudge("longmemeval", yes).score(original, processed) == {"longmemeval": 1.0}
    turns = [{"role": "user", "content": text} for text in ("a", "b")]
    talk = OfficialJudge("mt_bench", yes)
    rated = talk.score({"turns": turns}, {"response": "2", "turn_responses": ["1", "2"]})
    assert rated == {"mt_bench": 7.0, "mt_bench_turn1": 7.0, "mt_bench_turn2": 7.0}
    with pytest.raises(RuntimeError, match="neither `m` nor `M`"):
        OfficialJudge("alpaca_eval", yes, baseline="answer").score(original, processed)
    won = OfficialJudge("alpaca_eval", serve("--reply", "m")).score(original, processed)
    assert won["alpaca_eval"] in (0.0, 1.0) and won["alpaca_length"] == 0.0
    with pytest.raises(ValueError, match="no parameter `baseline`"):
        OfficialJudge("frames", yes, baseline="answer")


def test_the_report_of_a_harness(tmp_path: Path) -> None:
    report = tmp_path / "m.run.json"
    report.write_text('{"resolved_ids": ["a"], "unresolved_ids": ["b"]}', encoding="utf-8")
    resolved = SwebenchReport(report)
    said = {"response": "--- a/t.py\n+++ b/t.py\n@@ -1 +1 @@\n-a\n+b\n"}
    assert resolved.score({"id": "a"}, said) == {"resolved": 1.0}
    assert resolved.score({"id": "b"}, said) == {"resolved": 0.0}
    # Whatever the report says, nothing was submitted.
    assert resolved.score({"id": "a"}, {"response": ""}) == {"resolved": 0.0}
    with pytest.raises(RuntimeError, match="none of the 2 instances"):
        resolved.score({"id": "c"}, said)
    with pytest.raises(ValueError, match="cannot read"):
        SwebenchReport(tmp_path / "nowhere.json")


def test_texts_and_tokens() -> None:
    assert normalize_answer("The U.S.A. — state-of-the-art!") == "us — stateof art"
    assert rouge_l("a b c", "a c")["rouge_l_recall"] == 1.0
    assert count_tokens("hello world") == 2
    assert count_tokens_dict({"a": "hello world", "n": 5, "l": ["x"]}) == 2
    assert count_tokens_dict({"a": "x", "b": "y"}, text_fields=["a"]) == 1
    assert count_tokens("abc", tokenizer=len) == 3
    set_tokenizer("whitespace")
    try:
        assert count_tokens("hello, big world") == 3
        with pytest.raises(ValueError, match="unknown tokenizer"):
            set_tokenizer("cl100k")
    finally:
        set_tokenizer(None)


def test_the_registry_names_what_is_near() -> None:
    register_metric("mean", MeanScore)
    assert get_metric("mean") is MeanScore
    with pytest.raises(KeyError, match="No metric registered with name 'maen'.*Did you mean 'mean'"):
        registry.get("metric", "maen")
    assert registry.list("nothing") == []
    assert len(load_dataset("demo", n=3)) == 3


def test_datasets_from_files_and_local_copies(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"context": "a"}\n\n{"id": "x", "context": "b", "deep": [1, null]}\n')
    loaded = datasets.load_jsonl(file)
    assert [example["id"] for example in loaded] == [0, "x"]
    assert loaded[1]["deep"] == [1, None] and "dataset" not in loaded[0]
    assert len(datasets.load_jsonl(file, n=1)) == 1
    file.write_text('{"context": "a"}\nnot json\n')
    with pytest.raises(ValueError, match="(?s)mine.jsonl:2.*pass `skip_bad_lines`"):
        datasets.load_jsonl(file)
    assert len(datasets.load_file(file, skip_bad_lines=True)) == 1
    copy = tmp_path / "gsm.jsonl"
    copy.write_text('{"question": "2+2?", "answer": "four #### 4"}\n')
    assert datasets.gsm8k(n=1, path=copy)[0]["answer"] == "4"
    with pytest.raises(ValueError, match="unknown dataset `hotpot`"):
        datasets.load("hotpot")


def test_every_loader_names_a_dataset(tmp_path: Path) -> None:
    known = set(datasets.names())
    others = {"Prompt", "demo", "load", "load_file", "load_jsonl", "names", "prompt"}
    others |= {"sample_search_pool", "split_conversations"}
    for name in set(datasets.__all__) - others:
        # The name is known; only the copy is not there.
        with pytest.raises(ValueError, match=tmp_path.name):
            getattr(datasets, name)(n=1, path=tmp_path / "nowhere.jsonl")
    from context_bench.datasets import knowledge, qa

    assert qa.musique is datasets.musique and knowledge.mmlu is datasets.mmlu
    for name in ("hotpotqa", "mmlu", "bfcl", "longbench-v2", "demo"):
        assert name in known
    assert len(datasets.demo(5)) == 5


def test_a_store_that_cannot_be_read_is_warned_of_and_nothing_is_asked_again(
    counting: Counting, tmp_path: Path
) -> None:
    def run(dataset: Iterable[dict[str, Any]]) -> context_bench.EvalResult:
        proxy = OpenAIProxy(counting.url, name="proxy")
        return evaluate([proxy], dataset, [AnswerQuality()], cache_dir=tmp_path, progress=False)

    def breaking() -> Iterator[dict[str, Any]]:
        with closing(sqlite3.connect(tmp_path / "store.sqlite")) as other:
            other.execute("ALTER TABLE responses RENAME TO gone")
        yield from EXAMPLES

    run(EXAMPLES)
    with pytest.warns(EvaluationWarning) as caught:
        result = run(breaking())
    assert len(counting.bodies) == 3
    assert [row.error and row.error.kind for row in result.rows] == ["store"] * 3
    assert result.store is not None and result.store["unread"] == 3
    told = [str(warning.message) for warning in caught]
    told = [text for text in told if "could not be read for 3 of the examples" in text]
    assert len(told) == 1 and "no such table: responses" in told[0], told


def test_a_second_run_asks_nothing(counting: Counting, tmp_path: Path) -> None:
    def run(model: str, **settings: Any) -> context_bench.EvalResult:
        proxy = OpenAIProxy(counting.url, model=model, name="proxy", **settings)
        return evaluate(
            [proxy], EXAMPLES, [AnswerQuality()], [MeanScore("f1")],
            cache_dir=tmp_path, progress=False,
        )  # fmt: skip

    first, second = run("m"), run("m")
    assert len(counting.bodies) == 3
    assert [r.scores for r in first.rows] == [r.scores for r in second.rows]
    assert [r.cached for r in second.rows] == [True] * 3
    assert second.rows[0].metadata == first.rows[0].metadata
    run("other")
    assert len(counting.bodies) == 6
    run("m", system_prompt="be brief")
    assert len(counting.bodies) == 9
    cache = Cache(tmp_path)
    assert [r["status"] for r in cache.runs()] == ["finished"] * 4
    loaded = cache.load(cache.runs()[0]["id"], metrics=[MeanScore("f1")])
    assert loaded.summary == first.summary
    assert [r.example_id for r in loaded.rows] == [1, "b", 3]
    assert [(r.cached, r.latency) for r in loaded.rows] == [(False, r.latency) for r in first.rows]
    assert len(counting.bodies) == 9


def test_the_context_goes_where_the_layout_says(counting: Counting, tmp_path: Path) -> None:
    example = {"id": 1, "context": "C", "question": "Q", "answer": "Paris"}
    proxy = OpenAIProxy(counting.url)
    assert proxy.layout == "system"
    roles = []
    for layout in ("system", "user", "tool", "system"):
        proxy.layout = layout
        evaluate([proxy], [example], [AnswerQuality()], cache_dir=tmp_path, progress=False)
        roles.append([m["role"] for m in counting.bodies[-1]["messages"]])
    assert roles[:3] == [["system", "user"], ["user"], ["user", "assistant", "tool"]]
    assert len(counting.bodies) == 3
    assert counting.bodies[1]["messages"][0]["content"] == "C\n\nQ"
    assert pickle.loads(pickle.dumps(OpenAIProxy(counting.url, layout="tool"))).layout == "tool"
    with pytest.raises(ValueError, match="no layout `sytem`"):
        OpenAIProxy(counting.url, layout="sytem")


@pytest.mark.parametrize("api", ["openai", "responses", "anthropic"])
def test_endpoints_are_asked_by_every_api(
    api: str, serve: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The endpoint of the test kit answers in the format of the path that is asked."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    variable = "ANTHROPIC_API_KEY" if api == "anthropic" else "OPENAI_API_KEY"
    monkeypatch.setenv(variable, "k-0123456789")
    url = serve("--require-key", "k-0123456789")
    proxy = OpenAIProxy(url, api=api, layout="tool", seed=1, stop=["\n"], max_tokens=9)
    assert proxy.api == api
    answered = proxy.process({"context": "C", "question": "Q"})
    assert answered["response"] == "Paris"
    assert ("input_tokens" in answered["api_usage"]) == (api != "openai")
    assert answered["api_reply"]["finish_reason"] == "stop"
    turns = [{"role": "user", "content": "Q"}] * 2
    assert [turn["content"] for turn in proxy.process_conversation(turns)] == ["Paris"] * 2
    result = evaluate(
        [proxy], EXAMPLES, [AnswerQuality()], cache_dir=tmp_path, progress=False
    )
    assert [row.error for row in result.rows] == [None] * 3
    assert all(row.completion_tokens == 1 for row in result.rows)
    assert all(row.prompt_tokens for row in result.rows)
    assert pickle.loads(pickle.dumps(proxy)).api == api


def test_apis_are_known_by_name(counting: Counting) -> None:
    with pytest.raises(ValueError, match="no API `antropic`(.|\n)*did you mean `anthropic`"):
        OpenAIProxy(counting.url, api="antropic")
    with pytest.raises(ValueError, match="is for `anthropic`"):
        OpenAIProxy(counting.url + "/v1/messages")


def test_stored_answers_are_read_with_sql(counting: Counting, tmp_path: Path) -> None:
    example = {"id": "q", "context": "C " * 900, "question": "Q", "answer": "Paris"}
    proxy = OpenAIProxy(counting.url, name="p")
    evaluate([proxy], [example], [AnswerQuality()], cache_dir=tmp_path, progress=False)
    cache = Cache(tmp_path)
    query = "SELECT system, example_id, context, question, response FROM answers"
    row = {"system": "p", "example_id": "q", "context": "C " * 900, "question": "Q"}
    assert cache.sql(query) == [{**row, "response": "Paris"}]
    with pytest.raises(ValueError, match="would change the store"):
        cache.sql("DELETE FROM runs")
    # Also what an object was sent is shown by the program.
    command = [sys.executable, "-m", "context_bench", "show", "last", "q", "--cache-dir"]
    shown = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=True)
    for text in ["--- p", "[system] C C C", "[user] Q\n", "response: Paris"]:
        assert text in shown.stdout


def test_systems_in_python_are_reused_by_their_cache_key(tmp_path: Path) -> None:
    calls = 0

    class Counter:
        name = "counter"
        cache_key: Any = {"version": 1}

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            nonlocal calls
            calls += 1
            return {**example, "response": "x"}

    def run(system: Any) -> None:
        evaluate([system], EXAMPLES, [AnswerQuality()], cache_dir=tmp_path, progress=False)

    run(Counter())
    run(Counter())
    assert calls == 3
    Counter.cache_key = {"version": 2}
    run(Counter())
    assert calls == 6
    Counter.cache_key = None
    for _ in range(2):
        with pytest.warns(EvaluationWarning, match="`counter` are stored but not reused"):
            run(Counter())
    assert calls == 12


def test_what_a_proxy_sends(counting: Counting) -> None:
    proxy = OpenAIProxy(
        counting.url + "/", model="m", system_prompt="S", extra_body={"temperature": 0}
    )
    assert proxy.name == f"openai_proxy_{counting.url.removeprefix('http://')}"
    out = proxy.process({"id": 1, "context": "C", "question": "Q"})
    assert out["response"] == "Paris" and out["api_usage"]["total_tokens"] == 4 and out["id"] == 1
    body = counting.bodies[0]
    assert body["temperature"] == 0 and body["model"] == "m"
    assert [m["content"] for m in body["messages"]] == ["S", "C", "Q"]
    replies = proxy.process_conversation([{"role": "user", "content": "hi"}])
    assert replies == [{"role": "assistant", "content": "Paris"}]

    def build(example: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"role": "user", "content": example["context"].upper()}]

    own = OpenAIProxy(counting.url, name="own", system_prompt="S", build_messages=build)
    assert own.process({"context": "abc"})["response"] == "Paris"
    result = evaluate([own], [{"id": 5, "context": "abc"}], [], max_workers=2, progress=False)
    assert result.rows[0].example_id == 5 and result.rows[0].metadata["total_tokens"] == 4
    for body in counting.bodies[-2:]:
        assert body["messages"] == [{"role": "user", "content": "ABC"}]


def test_own_messages_are_reused_by_their_cache_key(counting: Counting, tmp_path: Path) -> None:
    proxy = OpenAIProxy(counting.url, build_messages=lambda _: [{"role": "user", "content": "x"}])

    def run() -> None:
        evaluate([proxy], EXAMPLES, [], cache_dir=tmp_path, progress=False)

    with pytest.warns(EvaluationWarning, match="not reused"):
        run()
    proxy.cache_key = "x, version 1"  # type: ignore[attr-defined]
    run()
    run()
    assert len(counting.bodies) == 6
    proxy.cache_key = "x, version 2"  # type: ignore[attr-defined]
    run()
    assert len(counting.bodies) == 9


def test_a_proxy_that_fails_says_why() -> None:
    proxy = OpenAIProxy("http://127.0.0.1:1", max_retries=0)
    with pytest.raises(RuntimeError, match="hint: check that the endpoint is running"):
        proxy.process({"context": "x"})
    with pytest.raises(ValueError, match="hint"):
        OpenAIProxy("not a url at all")
    twice = [OpenAIProxy("http://h", name="a"), OpenAIProxy("http://i", name="a")]
    with pytest.raises(ValueError, match="two systems are called `a`\nhint: give each"):
        evaluate(twice, EXAMPLES, [], progress=False)
    broken = OpenAIProxy("http://127.0.0.1:1", build_messages=lambda example: 1 // 0)  # type: ignore[arg-type, return-value]
    with pytest.warns(EvaluationWarning, match="ZeroDivisionError"):
        result = evaluate([broken], [{}], [], progress=False)
    error = result.rows[0].error
    assert error is not None and error.traceback is not None and "1 // 0" in error.traceback


def test_claude_is_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="`claude` was not found"):
        ClaudeCLI().process({"context": "x"})
    program = tmp_path / "claude"
    program.write_text(f"#!{sys.executable}\nimport sys\nprint(sys.argv[1:], sys.stdin.read())\n")
    program.chmod(0o755)
    out = ClaudeCLI(model="m", allowed_tools=["A", "B"]).process({"context": "C", "question": "Q"})
    assert out["response"].startswith("['-p', '--print', '--model', 'm', '--allowedTools', 'A,B']")
    assert "C\n\nQuestion: Q\n\nAnswer concisely." in out["response"]
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('no credit')\n")
    with pytest.raises(RuntimeError, match="exited with code 1: no credit"):
        ClaudeCLI().process({"context": "C"})
    program.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(9)\n")
    with pytest.raises(TimeoutError, match="within 0.2 s"):
        ClaudeCLI(timeout=0.2).process({"context": "C"})


def program(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "context_bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, **settings)


def test_the_program_is_the_same_one(url: str, tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text("\n".join(json.dumps(example) for example in EXAMPLES))
    arguments = ["--proxy", url, "--dataset", str(file), "--output", "json", "--quiet"]
    done = program(*arguments)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["config"]["num_examples"] == 3
    script = Path(sys.executable).parent / "context-bench"
    shown = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert context_bench.__version__ in shown.stdout
    assert program("--nonsense").returncode == 2
    assert program("--proxy", url, "--dataset", "dmeo").returncode == 2
    assert "did you mean `demo`" in program("--proxy", url, "--dataset", "dmeo").stderr


def test_the_program_knows_registered_datasets(url: str, tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(
        "import sys\nfrom context_bench.__main__ import main\n"
        "from context_bench.registry import register_dataset\n"
        "register_dataset('mine', lambda n=None: [{'id': i, 'answer': 'Paris'} for i in range(n or 9)])\n"
        "register_dataset('broken', lambda n=None: 1 // 0)\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(script), "--proxy", url, "--output", "json", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=600)

    done = run("--dataset", "mine", "-n", "2")
    assert json.loads(done.stdout)["config"]["num_examples"] == 2, done.stderr
    broken = run("--dataset", "broken")
    assert broken.returncode == 2 and "ZeroDivisionError" in broken.stderr


def test_ctrl_c_in_the_program_is_an_exit_code(counting: Counting, tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    # All of them would take minutes.
    examples = [{**EXAMPLES[0], "id": i} for i in range(200)]
    file.write_text("\n".join(json.dumps(example) for example in examples))
    counting.delay = 1.0
    command = [sys.executable, "-m", "context_bench", "--proxy", counting.url, "--dataset", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not counting.bodies and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "Traceback" not in err and "KeyboardInterrupt" not in err


def test_a_closed_pipe_is_not_an_error() -> None:
    command = f"{sys.executable} -m context_bench ls datasets | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stderr == ""
