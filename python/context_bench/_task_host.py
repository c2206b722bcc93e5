"""Runs the Python functions and classes of tasks in this interpreter.

The host program is the one that child processes run; here it answers requests in memory.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

__all__ = ["Host"]


class Host:
    """Opens sessions, which share the modules of tasks."""

    def __init__(self, program: list[tuple[str, str]]) -> None:
        names: dict[str, Any] = {"__name__": "__context_bench__"}
        for name, text in program:
            # Compiled without the `__future__` imports of this file.
            exec(compile(text, f"<context-bench>/{name}", "exec", dont_inherit=True), names)
        self._names = names
        self._stand_ins = _StandIns(names["StandIns"]())
        # Loading the modules of a task changes `sys.path` and `sys.modules` for a moment.
        self._lock = threading.RLock()

    def open(self) -> Session:
        """Opens a session with its own state."""
        return Session(self._names, self._lock, self._stand_ins)


class _StandIns:
    """Replacements for `lm_eval` and `datasets`, for tasks that import them where they are not
    installed.

    They can be imported only while code of a task runs: to the rest of the program, a package
    that is not installed stays not installed.
    """

    def __init__(self, finder: Any) -> None:
        self._finder = finder
        self._modules: dict[str, ModuleType] = {}

    @contextmanager
    def importable(self) -> Iterator[None]:
        sys.meta_path.append(self._finder)
        for name, module in self._modules.items():
            sys.modules.setdefault(name, module)
        try:
            yield
        finally:
            sys.meta_path.remove(self._finder)
            self._take_back()

    def _take_back(self) -> None:
        for root in ("lm_eval", "datasets"):
            if getattr(sys.modules.get(root), "__stand_in__", False):
                for name in [*sys.modules]:
                    if name == root or name.startswith(root + "."):
                        self._modules[name] = sys.modules.pop(name)


class Session:
    """Answers requests; holds staged rows and the object of a task."""

    def __init__(self, names: dict[str, Any], lock: Any, stand_ins: _StandIns) -> None:
        self._lines: list[str] = []
        replies = names["Replies"](None)
        # Collects replies instead of writing them to a parent process.
        replies.line = self._lines.append
        # Functions print where this program prints.
        self._child = names["Child"](None, replies, names["Printed"]())
        self._lock = lock
        self._stand_ins = stand_ins

    def ask(self, request: str) -> list[str]:
        """Answers a request; each reply is a line of JSON."""
        parsed = json.loads(request)
        with self._lock, self._stand_ins.importable():
            self._lines.clear()
            getattr(self._child, "do_" + parsed["op"])(parsed)
            return list(self._lines)
