"""Compares the two front ends: the program and the Python package.

Everything that a run reports is compared, except what differs from run to run: latencies, dates,
run ids, folders of stores.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zlib import crc32

from context_bench import EvalResult, EvaluationWarning
from kit import JsonHandler

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
FIXTURES = ROOT / "crates/context-bench/tests/fixtures/datasets"

#: Members of results that differ even between two runs of one program.
_OF_TIME = {"latency", "date", "total_evaluation_time_seconds", "timing", "use_cache", "store"}
_OF_TIME |= {"latency_mean", "latency_median", "latency_p95", "latency_p99", "first_byte", "cached"}
_OF_TIME |= {"connect", "connect_median", "connect_max", "front_probability"}


def copy(name: str) -> str:
    """A dataset, read from its fixture."""
    return f"{name}={FIXTURES / name.replace('@', ':').split(':')[0]}"


class Seen:
    """What a front end reported about a run."""

    def __init__(self, result: Any, remarks: list[str]) -> None:
        #: The JSON of the result; ``None`` when there is none.
        self.json = result
        self.remarks = remarks
        self.error: str | None = None
        self.code = 0

    @property
    def plain(self) -> Any:
        return plain(self.json)

    def task(self, key: str) -> dict[str, Any]:
        """The results of a task, with a single system."""
        (tasks,) = self.json["tasks"].values()
        return tasks["results"][key]


def plain(value: Any) -> Any:
    """A result without what differs from run to run."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if name not in _OF_TIME}
    if isinstance(value, list):
        return [plain(one) for one in value if not _is_time(one)]
    return value


def _is_time(value: Any) -> bool:
    """Whether it is the difference of two systems in time."""
    return isinstance(value, dict) and value.get("measure") == "latency"


def differences(ours: Any, theirs: Any, at: str = "") -> Iterator[str]:
    """Where and how two values differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if list(ours) != list(theirs):
            yield f"{at}: {list(ours)} against {list(theirs)}"
        for name in ours.keys() & theirs.keys():
            yield from differences(ours[name], theirs[name], f"{at}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, pair in enumerate(zip(ours, theirs)):
            yield from differences(*pair, f"{at}[{index}]")
    elif ours != theirs:
        yield f"{at}: {ours!r} against {theirs!r}"


def paths(value: Any, at: str = "") -> set[str]:
    """The paths of all keys of a JSON value; all items of a list count as one."""
    if isinstance(value, list):
        return {path for one in value for path in paths(one, f"{at}[]")}
    if not isinstance(value, dict):
        return {at}
    return {path for name, one in value.items() for path in paths(one, f"{at}.{name}")} | {at}


class Program:
    """Runs the program."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, *arguments: Any, cwd: Path | None = None) -> Seen:
        done = subprocess.run(
            [str(self.path), *map(str, arguments)],
            capture_output=True, text=True, check=False, timeout=600, cwd=cwd,
        )  # fmt: skip
        seen = Seen(json.loads(done.stdout) if done.stdout.startswith("{") else None, [])
        seen.code = done.returncode
        # A remark may have more lines, which begin with a space; a hint is one of its own.
        found = re.findall(r"^(warning|hint|error): (.*(?:\n +.*)*)", done.stderr, re.M)
        for label, text in found:
            if label == "warning":
                seen.remarks.append(text)
            elif label == "error" and seen.error is None:
                seen.error = text
        assert seen.code != 1 and "panicked" not in done.stderr, done.stderr
        return seen

    def run(self, *flags: Any, cwd: Path | None = None) -> Seen:
        """Runs the program with flags."""
        return self("run", *flags, "--output", "json", "--quiet", cwd=cwd)

    def spec(self, spec: dict[str, Any], folder: Path) -> Seen:
        """Runs the program with a run file, written as JSON, which is also YAML."""
        file = folder / "bench.yaml"
        file.write_text(json.dumps(spec))
        return self.run(file)


def package(call: Callable[[], EvalResult]) -> Seen:
    """Runs a call of the package."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            seen = Seen(None, [])
            seen.json = json.loads(call().to_json())
        except ValueError as error:
            seen.error = str(error).split("\nhint: ")[0]
    texts = [str(one.message) for one in caught if issubclass(one.category, EvaluationWarning)]
    seen.remarks = [text.split("\nhint: ")[0] for text in texts]
    return seen


def same(program: Seen, package: Seen) -> None:
    """Asserts that both reported the same: numbers, rows, digests, schema, warnings, errors."""
    assert program.error == package.error
    assert program.remarks == package.remarks
    assert not list(differences(program.plain, package.plain))
    assert paths(program.json) == paths(package.json)


class Model(ThreadingHTTPServer):
    """An endpoint for chat messages, texts and likelihoods; equal questions get equal answers."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Reply)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        #: The paths that were asked.
        self.asked: list[str] = []


@contextmanager
def model() -> Iterator[Model]:
    with Model() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def _answer(body: dict[str, Any]) -> str:
    """A pseudo-random letter, number or word of the question; always the same one."""
    prompt = json.dumps(body.get("messages") or body.get("prompt"))
    number = crc32(prompt.encode())
    words = re.findall(r"[A-Za-z]{3,}", prompt) or ["none"]
    return f"{'ABCD'[number % 4]} {number % 5} {words[number % len(words)]} and so on"


def _echoed(text: str) -> dict[str, Any]:
    tokens = ["<s>", *re.findall(r"\s*\S+|\s+$", text), " ."]
    starts, at = [0], 0
    for token in tokens[1:]:
        starts.append(at)
        at += len(token)
    chance = [-(crc32(text[:start].encode() + token.encode()) % 4000) / 1000
              for start, token in zip(starts, tokens)]  # fmt: skip
    tops = [{token: one, "\u2581other": -1.0} for token, one in zip(tokens, chance)]
    return {
        "tokens": tokens,
        "token_logprobs": [None, *chance[1:]],
        "top_logprobs": [None, *tops[1:]],
        "text_offset": starts,
    }


class _Reply(JsonHandler):
    server: Model

    def do_POST(self) -> None:
        body = self.body()
        self.server.asked.append(self.path)
        choices: list[dict[str, Any]]
        if body.get("echo"):
            prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
            choices = [{"text": text, "logprobs": _echoed(text)} for text in prompts]
        elif "messages" in body:
            choices = [{"message": {"role": "assistant", "content": _answer(body)}}]
        else:
            choices = [{"text": _answer(body)}]
        choices = [{"index": index, **choice} for index, choice in enumerate(choices)]
        usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
        self.reply(200, {"choices": choices, "usage": usage})

    def do_GET(self) -> None:
        self.reply(404, {})
