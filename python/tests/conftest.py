"""Shared fixtures: endpoints, the program, and material beside the repository."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.register_assert_rewrite("fronts")

import front_tasks  # noqa: E402
from fronts import Model, Program, model  # noqa: E402
from kit import EXAMPLES, Counting  # noqa: E402

ROOT = Path(__file__).parents[2]

# Background jobs ignore Ctrl-C, and child processes inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def examples() -> list[dict[str, Any]]:
    return [dict(example) for example in EXAMPLES]


def _program(name: str) -> Path:
    """The path of a program that `make python` built."""
    path = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / name
    if not path.exists():
        pytest.fail(f"{path} is missing; run `make python`")
    return path


@pytest.fixture(scope="session")
def program() -> Program:
    """The program `context-bench`."""
    return Program(_program("context-bench"))


@pytest.fixture(scope="session")
def endpoint() -> Iterator[Model]:
    """An endpoint for chat messages, texts and likelihoods."""
    with model() as server:
        yield server


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A folder with tasks of every output type."""
    return front_tasks.write(tmp_path / "tasks")


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., str]]:
    """Starts endpoints of the test kit and returns their addresses."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> str:
        command = [str(_program("mock-endpoint")), "--stdin-close", *arguments]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        running.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        return line.removeprefix("listening on ").strip()

    yield start
    for process in running:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=120)


@pytest.fixture(scope="session")
def url(serve: Callable[..., str]) -> str:
    """An endpoint that answers every question with `Paris` and reports usage."""
    return serve()


@pytest.fixture
def shared() -> Callable[..., Path]:
    """Finds material beside the repository; without it, tests are skipped."""

    def find(*parts: str) -> Path:
        root = Path(os.environ.get("CONTEXT_BENCH_SHARED", ROOT.parent / "shared"))
        path = root.joinpath(*parts)
        if not path.exists():
            pytest.skip(f"{path} is not there")
        return path

    return find


@pytest.fixture
def counting() -> Iterator[Counting]:
    with Counting() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., SimpleNamespace]:
    """Runs a program in a separate interpreter, with a time limit."""

    def run(program: str, *arguments: str, timeout: float = 600.0) -> SimpleNamespace:
        file = tmp_path / "program.py"
        file.write_text(program)
        done = subprocess.run(
            [sys.executable, str(file), *arguments],
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip
        return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr)

    return run
