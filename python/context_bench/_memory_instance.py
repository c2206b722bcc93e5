"""Memory objects in their plain and typed forms, with replies of one form.

Runs and the child process call memories through ``MemoryInstance``, so that both understand the
same objects. ``MemoryObject`` is what a user passes to a run: a memory, or what makes some.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["MemoryInstance", "MemoryObject", "accepted"]

#: Finds turns as the user wrote them.
_Originals = Callable[[Sequence[Mapping[str, Any]]], Sequence[Any]]

#: The members of a typed result that become members of a reply.
_ANSWER = (
    "answer",
    "context_tokens",
    "context",
    "recalled",
    "usage",
    "retrieve_seconds",
    "answer_seconds",
)


class MemoryInstance:
    """One memory. Methods return dicts, or awaitables of them where the memory is ``async``.

    Args:
        memory: An object with ``name``, ``reset``, ``ingest`` and ``query``, and perhaps
            ``save`` and ``load``.
        originals: Finds the turns as the user wrote them; without it, a memory gets dicts.
        released: Is given the memory when nobody uses this instance any more.
    """

    def __init__(
        self,
        memory: Any,
        originals: _Originals | None = None,
        released: Callable[[Any], None] | None = None,
    ) -> None:
        self.memory = memory
        self._originals = originals
        self._release = released
        self._optional = accepted(memory.query, {"budget": True, "asked": True})

    def __del__(self) -> None:
        release = getattr(self, "_release", None)
        if release is not None:
            release(self.memory)

    @property
    def saves(self) -> bool:
        """Whether the memory can save what it has taken in."""
        return all(callable(getattr(self.memory, name, None)) for name in ("save", "load"))

    def reset(self) -> Any:
        """Forgets everything."""
        return _then(self.memory.reset(), lambda _: {})

    def ingest(self, turns: Sequence[Mapping[str, Any]]) -> Any:
        """Takes in the whole history; the reply may have ``usage`` and ``details``."""
        given = turns if self._originals is None else self._originals(turns)
        return _then(self.memory.ingest(given), _ingested)

    def query(self, question: str, budget: int | None = None, asked: str | None = None) -> Any:
        """Answers a question; the reply has ``answer`` and whatever the memory says of it."""
        given = {"budget": budget, "asked": asked}
        optional = {
            name: value
            for name, value in given.items()
            if value is not None and name in self._optional
        }
        return _then(self.memory.query(question, **optional), self._answered)

    def save(self) -> Any:
        """Returns ``state``: what was taken in as bytes, or ``None``."""
        return _then(self.memory.save() if self.saves else None, lambda state: {"state": state})

    def load(self, state: bytes) -> Any:
        """Takes back what ``save`` gave; the reply says in ``loaded`` whether that worked."""
        loaded = self.memory.load(state) if self.saves else False
        return _then(loaded, lambda loaded: {"loaded": loaded is not False})

    def _answered(self, result: Any) -> dict[str, Any]:
        if isinstance(result, str):
            tokens = getattr(self.memory, "last_context_tokens", None)
            return _given({"answer": result, "context_tokens": tokens})
        if not isinstance(getattr(result, "answer", None), str):
            found = "None" if result is None else f"a {type(result).__name__}"
            raise TypeError(f"`query` must return a text or a result with `answer`, found {found}")
        reply = {name: getattr(result, name, None) for name in _ANSWER}
        return _given({**reply, "details": getattr(result, "details", None) or None})


class MemoryObject:
    """A memory of a run: an object, or a class or function that makes as many as are needed.

    An object remembers one conversation at a time, so conversations are served one after the
    other; a class or function makes one for each that is served side by side.

    Raises:
        TypeError: If it is not a memory.
    """

    def __init__(self, given: Any, originals: _Originals | None = None) -> None:
        self.is_many = isinstance(given, type) or (callable(given) and not hasattr(given, "query"))
        self._make: Callable[[], Any] | None = given if self.is_many else None
        self._originals = originals
        # A memory may be released while the same thread holds it.
        self._lock = threading.RLock()
        self._closed = False
        #: What the spec of a run calls it.
        self.key = ""
        #: One of them, for its name and settings.
        self.memory = self._checked(given() if self.is_many else given)
        # Those that serve no conversation; each is reset before it serves the next.
        self._free = [self.memory]

    @property
    def saves(self) -> bool:
        """Whether it can save what it has taken in."""
        return MemoryInstance(self.memory).saves

    def open(self) -> MemoryInstance:
        """Returns a memory that serves no other conversation."""
        if self._make is None:
            return MemoryInstance(self.memory, self._originals)
        with self._lock:
            memory = self._free.pop() if self._free else None
        memory = self._checked(self._make()) if memory is None else memory
        return MemoryInstance(memory, self._originals, self._released)

    def close(self) -> None:
        """Closes the memories that were made here and can be closed. Those of the user stay as
        they are."""
        with self._lock:
            self._closed = True
            free, self._free = self._free, []
        if self._make is not None:
            for memory in free:
                _close(memory)

    def _released(self, memory: Any) -> None:
        with self._lock:
            if not self._closed:
                self._free.append(memory)
                return
        _close(memory)

    @staticmethod
    def _checked(memory: Any) -> Any:
        missing = [
            name
            for name in ("reset", "ingest", "query")
            if not callable(getattr(memory, name, None))
        ]
        if not isinstance(getattr(memory, "name", None), str):
            missing.append("name")
        if missing:
            kind = type(memory).__name__
            raise TypeError(
                f"`{kind}` object has no `{missing[0]}`\n"
                "hint: a memory needs `name`, `reset`, `ingest` and `query`, but no base class"
            )
        return memory


def _close(memory: Any) -> None:
    close = getattr(memory, "close", None)
    if callable(close):
        close()


def _ingested(result: Any) -> dict[str, Any]:
    """The reply to ``ingest``; a memory of the plain form returns nothing of interest."""
    details = getattr(result, "details", None)
    if not isinstance(details, Mapping):
        return {}
    details = dict(details)
    return _given({"usage": details.pop("usage", None), "details": details or None})


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


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _then(value: Any, read: Callable[[Any], dict[str, Any]]) -> Any:
    """The reply to what a method returned, now or when it is awaited."""
    if not inspect.isawaitable(value):
        return read(value)

    async def wait() -> dict[str, Any]:
        return read(await value)

    return wait()
