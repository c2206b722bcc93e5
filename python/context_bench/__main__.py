"""``python -m context_bench`` and the command ``context-bench``: the same program."""

from __future__ import annotations

import os
import signal
import sys

from context_bench import _native
from context_bench.registry import registry


def main(arguments: list[str] | None = None) -> int:
    """Runs the program; gives its exit code.

    Called from Python, it knows the datasets of ``context_bench.registry`` by name.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    # The program listens for Ctrl-C itself: once finishes what is in flight.
    if hasattr(signal, "SIGINT"):
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        except ValueError:
            pass  # not the main thread: whoever called decides
    # Functions of tasks run in processes of this interpreter, with its packages.
    os.environ.setdefault("CONTEXT_BENCH_PYTHON", sys.executable)
    loaders = {name: registry.get("dataset", name) for name in registry.list("dataset")}
    return _native.main(["context-bench", *arguments], loaders)


if __name__ == "__main__":
    sys.exit(main())
