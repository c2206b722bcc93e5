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
        self._memory: Any = memory
        self._loop: asyncio.AbstractEventLoop | None = None
        self._operations: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "hello": self._hello,
            "reset": self._reset,
            "ingest": self._ingest,
            "query": self._query,
            "save": self._save,
            "load": self._load,
        }

    def reply(self, line: bytes) -> bytes:
        """The reply to one request, as a line without its end."""
        try:
            request = json.loads(line)
            operation = self._operations.get(request["op"])
            if operation is None:
                raise ValueError(f"unknown operation {request['op']!r}")
            reply = {"ok": True, **operation(request)}
            # JSON has no NaN; a lone surrogate in an answer must not end the conversation.
            return json.dumps(reply, allow_nan=False, default=str).encode("ascii")
        except Exception as error:
            message = str(error) or repr(error)
            failure = {"ok": False, "error": f"{type(error).__name__}: {message}"}
            return json.dumps(failure).encode("ascii")

    def _hello(self, _: Mapping[str, Any]) -> dict[str, Any]:
        memory = self._memory
        return {
            "name": memory.name,
            "version": str(getattr(memory, "version", "")),
            "saves": callable(getattr(memory, "save", None))
            and callable(getattr(memory, "load", None)),
        }

    def _reset(self, _: Mapping[str, Any]) -> dict[str, Any]:
        self._wait(self._memory.reset())
        return {}

    def _ingest(self, request: Mapping[str, Any]) -> dict[str, Any]:
        result = self._wait(self._memory.ingest(request["turns"]))
        details = dict(getattr(result, "details", None) or {})
        return _without_none(usage=details.pop("usage", None), details=details or None)

    def _query(self, request: Mapping[str, Any]) -> dict[str, Any]:
        optional = {"budget": request.get("budget_tokens"), "asked": request.get("asked")}
        result = self._wait(
            self._memory.query(request["question"], **accepted(self._memory.query, optional))
        )
        if not hasattr(result, "answer"):
            if not isinstance(result, str):
                kind = type(result).__name__
                raise TypeError(f"`query` must return a text or a result, found a {kind}")
            tokens = getattr(self._memory, "last_context_tokens", None)
            return _without_none(answer=result, context_tokens=tokens)
        return _without_none(
            answer=result.answer,
            context_tokens=getattr(result, "context_tokens", None),
            context=getattr(result, "context", None),
            recalled=getattr(result, "recalled", None),
            usage=getattr(result, "usage", None),
            retrieve_seconds=getattr(result, "retrieve_seconds", None),
            answer_seconds=getattr(result, "answer_seconds", None),
            details=getattr(result, "details", None) or None,
        )

    def _save(self, _: Mapping[str, Any]) -> dict[str, Any]:
        save = getattr(self._memory, "save", None)
        state = self._wait(save()) if callable(save) else None
        return {"state": None if state is None else base64.b64encode(state).decode("ascii")}

    def _load(self, request: Mapping[str, Any]) -> dict[str, Any]:
        load = getattr(self._memory, "load", None)
        if not callable(load):
            return {"loaded": False}
        loaded = self._wait(load(base64.b64decode(request["state"], validate=True)))
        return {"loaded": loaded is not False}

    def _wait(self, value: Any) -> Any:
        """What a method returned, awaited where it is ``async``."""
        if not inspect.isawaitable(value):
            return value

        async def wait() -> Any:
            return await value

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(wait())


def accepted(method: Callable[..., Any], optional: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the arguments that have a value and that the method takes."""
    try:
        parameters = inspect.signature(method).parameters
    except (TypeError, ValueError):
        return {}
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    return {
        name: value
        for name, value in optional.items()
        if value is not None and (takes_any or name in parameters)
    }


def _without_none(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
