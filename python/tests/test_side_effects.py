"""Importing and using the package leaves the rest of the process alone."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from context_bench.__main__ import main
from context_bench.tasks import TaskManager

IMPORT = """
import os, resource, signal, sys, threading

def state():
    return {
        "environ": dict(os.environ),
        "signals": {n: str(signal.getsignal(n)) for n in signal.valid_signals()},
        "meta_path": list(sys.meta_path),
        "path": list(sys.path),
        "path_hooks": list(sys.path_hooks),
        "threads": threading.active_count(),
        "nice": os.nice(0),
        "files": resource.getrlimit(resource.RLIMIT_NOFILE),
        "excepthook": sys.excepthook,
        "cwd": os.getcwd(),
    }

before = state()
import context_bench
import context_bench.cache, context_bench.datasets, context_bench.evaluators
import context_bench.metrics, context_bench.reporters, context_bench.tasks
after = state()
print([key for key in before if before[key] != after[key]])
"""


def test_an_import_changes_nothing_of_the_process(python: Callable[..., SimpleNamespace]) -> None:
    done = python(IMPORT)
    assert (done.code, done.out) == (0, "[]\n"), done.err


@pytest.fixture
def borrowing(tmp_path: Path) -> Path:
    """A task whose code imports packages that are not installed."""
    (tmp_path / "sums.yaml").write_text(
        "task: sums\ndataset_path: none\noutput_type: generate_until\ntest_split: test\n"
        "doc_to_text: !function utils.ask\ndoc_to_target: '{{answer}}'\n"
        "generation_kwargs: {until: [END]}\n"
    )
    (tmp_path / "utils.py").write_text(
        "from lm_eval.utils import eval_logger\n"
        "def ask(doc):\n"
        "    import lm_eval.api.registry\n"
        "    return '%d + 1 =' % doc['a']\n"
    )
    return tmp_path


def test_a_package_that_is_not_installed_stays_so(borrowing: Path) -> None:
    if "lm_eval" in sys.modules or _is_installed("lm_eval"):
        pytest.skip("lm-eval is installed")
    finders = list(sys.meta_path)
    # Twice: the modules of the first session serve the second.
    for _ in range(2):
        task = TaskManager(borrowing).load("sums").tasks[0]
        for _ in range(2):
            (request,) = task.requests({"test": [{"a": 1, "answer": "2"}]})
            assert request["context"] == "1 + 1 ="
            assert sys.meta_path == finders
            assert not [name for name in sys.modules if name.partition(".")[0] == "lm_eval"]
            assert not _is_installed("lm_eval")


def _is_installed(package: str) -> bool:
    try:
        import_module(package)
    except ImportError:
        return False
    return True


def test_the_program_restores_signals_and_variables(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CONTEXT_BENCH_PYTHON", raising=False)

    def handled(*_: Any) -> None:
        pass

    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    before = [signal.signal(number, handled) for number in numbers]
    try:
        environment = dict(os.environ)
        arguments = ["--system", "passthrough", "--dataset", "demo", "-n", "1", "-q"]
        assert main(arguments) == 0
        assert "passthrough" in capfd.readouterr().out
        assert [signal.getsignal(number) for number in numbers] == [handled] * 3
        # The handlers of the system, too: a signal reaches Python again.
        signal.raise_signal(signal.SIGTERM)
        assert dict(os.environ) == environment
    finally:
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)
