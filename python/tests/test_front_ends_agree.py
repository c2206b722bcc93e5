"""Keywords against flags, stores of one front end in the other, and what once differed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import context_bench
import front_tasks
import pytest
from context_bench import EvalResult, OpenAIProxy, datasets, evaluate
from context_bench.cache import Cache
from context_bench.evaluators import AnswerQuality, MultipleChoiceAccuracy
from context_bench.metrics import CompressionRatio, MeanScore, PassRate
from context_bench.systems import builtin_system
from context_bench.tasks import TaskManager
from fronts import FIXTURES, Model, Program, Seen, copy, differences, package, plain

Found = dict[str, Any]


def same_parts(program: Seen, package: Seen, *parts: str) -> None:
    """These parts are equal; of the summary, the metrics that Python asked for."""
    assert program.json is not None and package.json is not None, (program.error, package.error)
    ours, theirs = program.plain, package.plain
    for part in ("rows", "counts", "datasets", "tasks", *parts):
        assert not list(differences(ours[part], theirs[part], part))
    for part in ("summary", "statistics"):
        for system, numbers in theirs.get(part, {}).items():
            for name, value in numbers.items():
                assert ours[part][system][name] == value, (system, name)


def test_the_keywords_of_evaluate_are_flags(
    program: Program, endpoint: Model, tmp_path: Path
) -> None:
    ours = program.run(
        "--proxy", endpoint.url, "--model", "m", "--name", "model", "--relay", endpoint.url,
        "--system", "truncate:ratio=0.5", "--dataset", copy("gpqa"), "--dataset", copy("hotpotqa"),
        "--evaluator", "answer_quality", "--evaluator", "multiple_choice", "--max-examples", 2,
        "--text-field", "context", "--text-field", "question", "--max-workers", 2, "--tokenizer",
        "whitespace", "--example-timeout", 30, "--cache-dir", tmp_path / "a",
    )  # fmt: skip
    proxy = OpenAIProxy(endpoint.url, model="m", name="model")
    theirs = package(
        lambda: evaluate(
            [proxy, builtin_system("truncate:ratio=0.5", relay=proxy)],
            [copy("gpqa"), copy("hotpotqa")],
            [AnswerQuality(), MultipleChoiceAccuracy()],
            [MeanScore("f1"), PassRate(score_field="f1"), CompressionRatio()],
            max_examples=2, text_fields=["context", "question"], max_workers=2,
            tokenizer="whitespace", example_timeout=30, cache_dir=tmp_path / "b", progress=False,
        )
    )  # fmt: skip
    same_parts(ours, theirs)
    assert len(ours.json["rows"]) == 8


FLAGS: dict[str, tuple[list[Any], Found]] = {
    "nothing": ([], {}),
    "limit": (["--limit", 2], {"limit": 2}),
    "a share": (["--limit", 0.5], {"limit": 0.5}),
    "shots": (["--num-fewshot", 1, "--seed", 3], {"num_fewshot": 1, "seed": 3}),
    "limits": (["--max-workers", 4, "--example-timeout", 20],
               {"max_workers": 4, "example_timeout": 20}),
    "fields": (["--text-field", "context"], {"text_fields": ["context"]}),
}  # fmt: skip


@pytest.mark.parametrize("flags", FLAGS)
def test_the_keywords_of_the_task_manager_are_flags(
    flags: str, program: Program, endpoint: Model, tasks: Path, tmp_path: Path
) -> None:
    typed, keywords = FLAGS[flags]
    url = f"{endpoint.url}/v1"
    ours = program.run(
        "--proxy", url, "--model", "m", "--name", "model", "--relay", url, "--system",
        "passthrough", "--tasks", "generated,functions", "--tasks", "rolled", "--include-path",
        tasks, "--cache-dir", tmp_path / "a", *typed,
    )  # fmt: skip
    proxy = OpenAIProxy(url, model="m", name="model")
    theirs = package(
        lambda: TaskManager(tasks).evaluate(
            [proxy, builtin_system("passthrough", relay=proxy)], ["generated,functions", "rolled"],
            [MeanScore()], cache_dir=tmp_path / "b", progress=False, **keywords,
        )
    )  # fmt: skip
    same_parts(ours, theirs)
    assert ours.remarks == theirs.remarks


def test_attempts_are_counted_and_their_errors_clustered(
    program: Program, endpoint: Model, tasks: Path
) -> None:
    spec = {
        "systems": [{"proxy": endpoint.url, "name": "model", "model": "m"}],
        "benchmarks": [{"dataset": copy("hotpotqa")}, {"task": "functions"}],
        "data": {"repeats": 3, "include_path": [str(tasks)]},
    }
    ours = program.run(
        "--proxy", endpoint.url, "--name", "model", "--model", "m", "--repeats", 3,
        "--dataset", copy("hotpotqa"), "--tasks", "functions", "--include-path", tasks,
    )  # fmt: skip
    theirs = package(lambda: context_bench.run(spec, progress=False))
    same_parts(ours, theirs, "config", "provenance")
    assert ours.json["counts"]["model"]["planned"] == 3 * (2 + 3)
    assert "stderr" in ours.json["statistics"]["model"]["mean_score"]


@pytest.mark.parametrize("name", ["gpqa", "gpqa@train"])
def test_the_options_of_gpqa_have_one_order(name: str, program: Program, tmp_path: Path) -> None:
    def letters() -> list[str]:
        # A command gets the example as it is.
        (tmp_path / "spy.py").write_text(
            "import json, sys\nfor line in sys.stdin:\n    letter = json.loads(line)['correct_letter']\n"
            "    print(json.dumps({'response': letter}), flush=True)\n"
        )
        seen = program.run(
            "--command", f"{sys.executable} {tmp_path / 'spy.py'}", "--dataset", copy(name),
        )  # fmt: skip
        assert seen.json is not None, seen.error
        assert {row["scores"]["mc_accuracy"] for row in seen.json["rows"]} == {1.0}
        return [row["reasons"]["mc_accuracy"].split()[1] for row in seen.json["rows"]]

    split = name.partition("@")[2] or None
    loaded = datasets.gpqa(path=FIXTURES / "gpqa", split=split)
    found: list[str] = []

    class Spy:
        name = "spy"

        def process(self, example: Found) -> Found:
            found.append(example["correct_letter"])
            return {**example, "response": example["correct_letter"]}

    evaluate([Spy()], copy(name), [MultipleChoiceAccuracy()], progress=False)
    assert [one["correct_letter"] for one in loaded] == found == letters()


def test_code_that_a_model_wrote_runs_when_it_is_allowed(
    program: Program, endpoint: Model, tasks: Path
) -> None:
    flags = ["--proxy", endpoint.url, "--name", "m", "--tasks", "unsafe", "--include-path", tasks]
    proxy = OpenAIProxy(endpoint.url, model="claude-haiku-4-5-20251001", name="m")

    def ask(**allowed: Any) -> Seen:
        manager = TaskManager(tasks)
        return package(lambda: manager.evaluate([proxy], "unsafe", progress=False, **allowed))

    ours, theirs = program.run(*flags), ask()
    assert ours.code == 2 and ours.json is theirs.json is None
    assert ours.error == theirs.error and "runs code" in str(ours.error)
    same_parts(program.run(*flags, "--confirm-run-unsafe-code"), ask(confirm_run_unsafe_code=True))


def test_drawn_errors_are_equal_however_they_are_asked_for(
    program: Program, endpoint: Model, tasks: Path
) -> None:
    flags = ["--proxy", endpoint.url, "--tasks", "spoken", "--include-path", tasks]
    ours = program.run(*flags).task("spoken")
    manager = TaskManager(tasks)
    answers: dict[str, list[str]] = {}

    class Noting:
        name = "noting"

        def process(self, example: Found) -> Found:
            answer = proxy.process(example)
            answers.setdefault(example["context"], []).append(answer["response"])
            return answer

    # Asked as the program asks: a task sends settings of its own with each question.
    proxy = OpenAIProxy(endpoint.url, model="claude-haiku-4-5-20251001", extra_body={
        "max_tokens": 8, "temperature": 0.0, "stop": ["END"]})  # fmt: skip
    theirs = package(lambda: manager.evaluate([Noting()], "spoken", progress=False))
    task = manager.load("spoken").tasks[0]
    splits = {"test": front_tasks.RECORDS[:6], "train": front_tasks.RECORDS[6:]}
    asked = task.requests(splits)
    scores = task.score(asked, [answers[request["context"]] for request in asked])
    for key in ("bleu_stderr,none", "bleu,none", "exact_match_stderr,none"):
        assert ours[key] == theirs.task("spoken")[key] == scores.summary[key]
    assert ours["bleu_stderr,none"] > 0


def test_what_is_loaded_is_what_is_run(program: Program) -> None:
    loaded = [task.name for task in TaskManager().load("mmlu_stem").tasks]
    seen = program("show", "mmlu_stem", "--output", "json")
    assert loaded == seen.json["members"]


@pytest.mark.parametrize(
    ("path", "asked"), [("", True), ("/v1", True), ("/v1/chat/completions", False)]
)
def test_addresses_are_asked_for_likelihoods_by_both_or_neither(
    path: str, asked: bool, program: Program, endpoint: Model, tasks: Path
) -> None:
    url = f"{endpoint.url}{path}"

    def paths(call: Callable[[], Seen]) -> tuple[Seen, list[str]]:
        endpoint.asked.clear()
        return call(), sorted(endpoint.asked)

    flags = ["--proxy", url, "--model", "m", "--name", "m"]
    ours = paths(lambda: program.run(*flags, "--tasks", "chosen", "--include-path", tasks))
    manager, proxy = TaskManager(tasks), OpenAIProxy(url, model="m", name="m")
    theirs = paths(lambda: package(lambda: manager.evaluate([proxy], "chosen", progress=False)))
    assert ours[1] == theirs[1] and bool(ours[1]) == asked
    assert (ours[0].error, ours[0].remarks) == (theirs[0].error, theirs[0].remarks)
    if asked:
        same_parts(ours[0], theirs[0])
    never = {"likelihoods": {"enabled": False}, "benchmarks": [{"task": "chosen"}],
             "data": {"include_path": [str(tasks)]}}  # fmt: skip
    refused = package(lambda: context_bench.run(never, systems=[proxy], progress=False))
    assert refused.error is not None and "does not give" in refused.error


def stored(spec: Found, cache: Path) -> Found:
    return {**spec, "cache_dir": str(cache)}


@pytest.fixture
def spec(endpoint: Model, tasks: Path) -> Found:
    return {
        "systems": [{"proxy": f"{endpoint.url}/v1", "name": "model", "model": "m"}],
        "benchmarks": [{"task": "all"}, {"task": "functions"}, {"dataset": copy("hotpotqa")}],
        "data": {"include_path": [str(tasks)]},
        "scoring": {"bootstrap_iters": 50},
    }


def test_runs_of_one_are_opened_by_the_other(
    program: Program, spec: Found, tmp_path: Path
) -> None:
    """However a run is made and however it is opened, it is the same run."""
    a, b = tmp_path / "a", tmp_path / "b"
    ran = [program.spec(stored(spec, a), tmp_path),
           package(lambda: context_bench.run(stored(spec, b), progress=False))]  # fmt: skip
    for cache, seen in zip((a, b), ran):
        opened = [program("export", "last", "--cache-dir", cache, "--output", "json"),
                  package(lambda: Cache(cache).load())]  # fmt: skip
        for again in opened:
            same_parts(seen, again)
        assert not list(differences(opened[0].plain, opened[1].plain))
        record = Cache(cache).record()
        record["spec"].pop("output", None)
        assert record["spec"] == {"version": 1, **stored(spec, cache)}
    records = [plain(Cache(cache).record()["plan"]) for cache in (a, b)]
    for record in records:
        record["harness"].pop("cache_dir")
    assert records[0] == records[1]


def test_runs_of_python_are_scored_anew_by_the_program(
    program: Program, spec: Found, tmp_path: Path
) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    program.spec(stored(spec, a), tmp_path)
    package(lambda: context_bench.run(stored(spec, b), progress=False))
    flags = ["--evaluator", "summarization_quality", "--score-field", "rouge_l_f1"]
    for typed in ([], flags):
        ours, theirs = (
            program("rescore", "last", "--cache-dir", cache, "--output", "json", "--quiet", *typed)
            for cache in (a, b)
        )
        assert ours.json is not None and ours.remarks == theirs.remarks
        assert not list(differences(ours.plain, theirs.plain))


def test_objects_of_python_are_scored_anew_by_the_program(
    program: Program, tasks: Path, tmp_path: Path
) -> None:
    class Clerk:
        name = "clerk"
        cache_key = 1

        def process(self, example: Found) -> Found:
            return {**example, "response": "4"}

    ran = package(
        lambda: TaskManager(tasks).evaluate(
            [Clerk()], ["generated", "functions"], [MeanScore()], cache_dir=tmp_path,
            progress=False,
        )
    )  # fmt: skip
    again = program("rescore", "last", "--cache-dir", tmp_path, "--output", "json", "--quiet")
    assert not list(differences(ran.plain["tasks"], again.plain["tasks"]))
    assert again.json["summary"]["clerk"]["mean_score"] == ran.json["summary"]["clerk"]["mean_score"]


def test_time_runs_out_for_both(program: Program, serve: Callable[..., str], tmp_path: Path) -> None:
    slow = serve("--latency-ms", "500")
    record = {"context": "Paris", "question": "Where?", "answer": "Paris"}
    (tmp_path / "many.jsonl").write_text("\n".join([json.dumps(record)] * 150))
    spec = {
        "systems": [{"proxy": slow, "name": "slow"}],
        "benchmarks": [{"dataset": str(tmp_path / "many.jsonl")}],
        "limits": {"max_time": 3.0},
    }
    results: list[EvalResult] = []

    def run() -> EvalResult:
        results.append(context_bench.run(spec, progress=False))
        return results[-1]

    for seen in (program.spec(spec, tmp_path), package(run)):
        assert seen.json["interrupted"] and 0 < len(seen.json["rows"]) < 150
        assert seen.remarks[0].startswith("the time of `--max-time` is over")
        assert "rows not begun" in seen.remarks[-1]
    assert results[0].interrupted


def test_paths_of_a_run_file_start_where_it_is(
    program: Program, endpoint: Model, tasks: Path, tmp_path: Path
) -> None:
    (tmp_path / "bench.yaml").write_text(
        f"systems: [{{proxy: '{endpoint.url}', name: m}}]\n"
        "benchmarks: [{task: generated}]\ndata: {include_path: [tasks]}\n"
    )
    ours = program.run(tmp_path / "bench.yaml", cwd=Path(os.sep))
    theirs = package(lambda: context_bench.run(tmp_path / "bench.yaml", progress=False))
    same_parts(ours, theirs, "config")
