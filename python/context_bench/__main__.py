"""The program ``context-bench``, also available as ``python -m context_bench``."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from context_bench import _native
from context_bench.registry import registry

#: The interpreter that runs the functions of tasks.
_PYTHON = "CONTEXT_BENCH_PYTHON"


def main(arguments: list[str] | None = None) -> int:
    """Runs the program and returns its exit code.

    The program can use the datasets of ``context_bench.registry`` by name. Signal handlers and
    environment variables are the same afterwards as before.

    Args:
        arguments: The command line without the program's name; ``sys.argv[1:]`` by default.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    loaders = {name: registry.get("dataset", name) for name in registry.list("dataset")}
    with _own_signals(), _this_interpreter():
        return _native.main(["context-bench", *arguments], loaders)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Lets the program handle signals: its first Ctrl-C finishes the calls in flight."""
    before = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and (handler := signal.getsignal(number)) is not None:
            before[number] = handler
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    except ValueError:
        before.clear()  # Only the main thread may set handlers.
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _this_interpreter() -> Iterator[None]:
    """Lets the functions of tasks run in processes of this interpreter, with its packages."""
    if _PYTHON in os.environ:
        yield
        return
    os.environ[_PYTHON] = sys.executable
    try:
        yield
    finally:
        os.environ.pop(_PYTHON, None)


if __name__ == "__main__":
    sys.exit(main())
