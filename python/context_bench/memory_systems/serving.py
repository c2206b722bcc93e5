"""``serve``: a memory as a child process of the program.

The program writes one request per line and reads one reply per line, both JSON, in order:

    {"op": "hello"}                          {"ok": true, "name": "mem0", "version": "1.2.3", "saves": false}
    {"op": "reset"}                          {"ok": true}
    {"op": "ingest", "turns": [...]}         {"ok": true, "usage": {...}, "details": {...}}
    {"op": "query", "question": "..."}       {"ok": true, "answer": "...", "context_tokens": 12}
    {"op": "save"}                           {"ok": true, "state": "base64, or null"}
    {"op": "load", "state": "base64"}        {"ok": true, "loaded": true}

A request that fails gets ``{"ok": false, "error": "..."}``, and the process goes on. It ends when
its input does.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import IO, Any

from context_bench._memory_instance import MemoryInstance
from context_bench.types import MemorySystem

__all__ = ["serve"]


def serve(memory: MemorySystem, requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answers requests until there are no more."""
    server = _Server(memory)
    for line in requests:
        if not line.strip():
            continue
        reply = server.reply(line)
        replies.write(reply + b"\n")
        replies.flush()


def own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Returns stdin and stdout for ``serve``, out of reach of everybody else: what libraries
    print goes to stderr, also from code that writes to the file descriptor itself."""
    sys.stdout.flush()
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout = sys.stderr
    return requests, replies


class _Server:
    def __init__(self, memory: MemorySystem) -> None:
        self._instance = MemoryInstance(memory)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._operations: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            "hello": self._hello,
            "reset": lambda _: self._instance.reset(),
            "ingest": lambda request: self._instance.ingest(request["turns"]),
            "query": self._query,
            "save": lambda _: self._instance.save(),
            "load": self._load,
        }

    def reply(self, line: bytes) -> bytes:
        """The reply to one request, as a line without its end."""
        try:
            request = json.loads(line)
            operation = self._operations.get(request["op"])
            if operation is None:
                raise ValueError(f"unknown operation {request['op']!r}")
            reply = {"ok": True, **self._wait(operation(request))}
            # JSON has no NaN; a lone surrogate in an answer must not end the conversation.
            return json.dumps(reply, allow_nan=False, default=_encoded).encode("ascii")
        except Exception as error:
            message = str(error) or repr(error)
            failure = {"ok": False, "error": f"{type(error).__name__}: {message}"}
            return json.dumps(failure).encode("ascii")

    def _hello(self, _: Mapping[str, Any]) -> dict[str, Any]:
        memory: Any = self._instance.memory
        version = str(getattr(memory, "version", ""))
        return {"name": memory.name, "version": version, "saves": self._instance.saves}

    def _query(self, request: Mapping[str, Any]) -> Any:
        budget, asked = request.get("budget_tokens"), request.get("asked")
        return self._instance.query(request["question"], budget, asked)

    def _load(self, request: Mapping[str, Any]) -> Any:
        return self._instance.load(base64.b64decode(request["state"], validate=True))

    def _wait(self, value: Any) -> dict[str, Any]:
        """A reply, awaited where the memory is ``async``."""
        if inspect.isawaitable(value):
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
            value = self._loop.run_until_complete(value)
        reply: dict[str, Any] = value
        return reply


def _encoded(value: Any) -> str:
    """What JSON has no form for: bytes of a state, and whatever details of memories hold."""
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else str(value)
