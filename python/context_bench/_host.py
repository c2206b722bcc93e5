"""Runs the functions and classes of tasks in this interpreter.

The program is the one that child processes run; here it answers requests in memory.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

__all__ = ["Host"]


class Host:
    """Makes sessions; the modules of tasks are shared by all of them."""

    def __init__(self, program: list[tuple[str, str]]) -> None:
        names: dict[str, Any] = {"__name__": "__context_bench__"}
        for name, text in program:
            # Its parts are read as they are, without the `__future__` of this file.
            exec(compile(text, f"<context-bench>/{name}", "exec", dont_inherit=True), names)
        # `lm_eval` and `datasets`, for tasks that import them where they are not installed.
        sys.meta_path.append(names["StandIns"]())
        self._names = names
        # Modules of tasks are found by changing `sys.path` for a moment.
        self._lock = threading.RLock()

    def open(self) -> Session:
        """A session with a state of its own."""
        return Session(self._names, self._lock)


class Session:
    """Answers requests; holds staged rows and the object of a task."""

    def __init__(self, names: dict[str, Any], lock: Any) -> None:
        self._lines: list[str] = []
        replies = names["Replies"](None)
        # In place of a line to a parent.
        replies.line = self._lines.append
        # Functions print where this program prints.
        self._child = names["Child"](None, replies, names["Printed"]())
        self._lock = lock

    def ask(self, request: str) -> list[str]:
        """The replies to a request, each a line of JSON."""
        asked = json.loads(request)
        with self._lock:
            self._lines.clear()
            getattr(self._child, "do_" + asked["op"])(asked)
            return list(self._lines)
