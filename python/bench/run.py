"""Benchmarks of the Python package: `make bench ONLY=python`.

Prints one line per measurement. `make` builds the optimized package; figures of a debug build
are meaningless.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from context_bench import OpenAIProxy, builtin_system, evaluate
from context_bench.evaluators import AnswerQuality
from context_bench.metrics import MeanScore
from context_bench.utils.tokens import count_tokens_dict


class Noop:
    """Answers with the gold answer."""

    name = "noop"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {**example, "response": example["answer"]}


class AsyncNoop:
    name = "async noop"

    async def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {**example, "response": example["answer"]}


def examples(n: int) -> list[dict[str, Any]]:
    text = "The quick brown fox jumps over the lazy dog. " * 25
    return [{"id": i, "context": f"{i} {text}", "question": "Who?", "answer": "fox"} for i in range(n)]


def best(run: Callable[[], object], times: int = 3) -> float:
    """The time of the fastest of several runs, in seconds."""
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def line(what: str, n: int, seconds: float) -> None:
    print(f"{what:<58} {n / seconds:>10,.0f} examples/s  {seconds / n * 1e6:>8.1f} us each")


def plain_loop(dataset: list[dict[str, Any]], counted: bool) -> None:
    """What users would write without the package."""
    system, evaluator, scores = Noop(), AnswerQuality(), []
    for example in dataset:
        out = system.process(example)
        if counted:
            count_tokens_dict(example)
            count_tokens_dict(out)
        scores.append(evaluator.score(example, out)["f1"])
    sum(scores)


def python_systems(n: int) -> None:
    dataset = examples(n)
    line("plain loop, no tokens counted", n, best(lambda: plain_loop(dataset, False)))
    line("plain loop, tokens counted", n, best(lambda: plain_loop(dataset, True)))
    for system in (Noop(), AsyncNoop()):
        for workers in (1, 16):

            def run(system: Any = system, workers: int = workers) -> None:
                evaluate(
                    [system], dataset, [AnswerQuality()], [MeanScore("f1")],
                    max_workers=workers, progress=False,
                )  # fmt: skip

            line(f"evaluate, Python {system.name}, {workers} workers", n, best(run))


def native_systems(n: int, program: Path | None, endpoint: Path | None) -> None:
    """The same run from Python and by the program."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.jsonl"
        file.write_text("\n".join(json.dumps(example) for example in examples(n)))

        def from_python() -> None:
            evaluate(
                [builtin_system("truncate:ratio=0.5")], str(file), [AnswerQuality()],
                [MeanScore("f1")], max_workers=16, progress=False,
            )  # fmt: skip

        line("evaluate, native context layer, file", n, best(from_python))
        dataset = examples(n)
        line(
            "evaluate, native context layer, list of dicts", n,
            best(lambda: evaluate(
                [builtin_system("truncate:ratio=0.5")], dataset, [AnswerQuality()],
                [MeanScore("f1")], max_workers=16, progress=False,
            )),
        )  # fmt: skip
        if program is not None:
            command = [str(program), "--system", "truncate:ratio=0.5", "--dataset", str(file),
                       "--max-workers", "16", "--output", "json", "--quiet"]  # fmt: skip
            run = lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: E731
            line("the program, the same run, start-up included", n, best(run))
        if endpoint is not None:
            with_endpoint(n, file, program, endpoint)


def beside_the_ideal(program: Path | None, endpoint: Path) -> None:
    """Prompts of 680 tokens, an endpoint that takes 50 ms, 256 calls in flight."""
    server = subprocess.Popen(
        [str(endpoint), "--latency-ms", "50", "--workers", "2", "--stdin-close"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdout is not None and server.stdin is not None
    url = server.stdout.readline().split()[-1]
    text = "".join(f"In part {i}, the committee noted that rivers and roads meet. " for i in range(48))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.jsonl"
        for n in (2_000, 20_000):
            rows = ({"id": i, "context": f"{i} {text}", "question": "Who?", "answer": "fox"} for i in range(n))
            file.write_text("".join(json.dumps(row) + "\n" for row in rows))
            ideal = -(-n // 256) * 0.05

            def from_python() -> None:
                evaluate(
                    [OpenAIProxy(url, name="proxy")], str(file), [AnswerQuality()],
                    [MeanScore("f1")], max_workers=256, progress=False,
                )  # fmt: skip

            runs: list[tuple[str, Callable[[], object]]] = [("evaluate", from_python)]
            if program is not None:
                command = [str(program), "--proxy", url, "--dataset", str(file), "--max-workers", "256", "-q"]
                runs.append(("program", lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)))
            for what, run in runs:
                seconds = best(run)
                print(f"{what}, {n:,} prompts of 680 tokens, 50 ms, 256 workers: {seconds:.2f} s, "
                      f"ideal {ideal:.2f} s, {100 * ideal / seconds:.1f} %")  # fmt: skip
    server.stdin.close()
    server.wait()


def with_endpoint(n: int, file: Path, program: Path | None, endpoint: Path) -> None:
    server = subprocess.Popen(
        [str(endpoint), "--noop", "--stdin-close"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdout is not None and server.stdin is not None
    url = server.stdout.readline().split()[-1]

    def from_python() -> None:
        evaluate(
            [OpenAIProxy(url, name="proxy")], str(file), [AnswerQuality()], [MeanScore("f1")],
            max_workers=64, progress=False,
        )  # fmt: skip

    line("evaluate, OpenAIProxy, 64 workers", n, best(from_python))
    if program is not None:
        command = [str(program), "--proxy", url, "--dataset", str(file), "--max-workers", "64",
                   "--output", "json", "--quiet"]  # fmt: skip
        run = lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: E731
        line("the program, --proxy, 64 workers, start-up included", n, best(run))
    server.stdin.close()
    server.wait()


def imports() -> None:
    def run(code: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True), 7)

    cost = run("import context_bench") - run("pass")
    print(f"{'import context_bench':<58} {cost * 1e3:>10.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=20_000)
    parser.add_argument("--program", type=Path)
    parser.add_argument("--endpoint", type=Path)
    arguments = parser.parse_args()
    imports()
    if arguments.endpoint is not None:
        beside_the_ideal(arguments.program, arguments.endpoint)
    python_systems(arguments.n)
    native_systems(arguments.n, arguments.program, arguments.endpoint)


if __name__ == "__main__":
    main()
