"""``RelayMemory``: what memories have in common that search elsewhere and answer through a relay."""

from __future__ import annotations

import importlib
import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from context_bench._conversations import said
from context_bench._native import DEFAULT_MODEL
from context_bench.memory_types import Item, QueryResult, to_turn
from context_bench.systems.openai_proxy import OpenAIProxy
from context_bench.utils.tokens import count_tokens

__all__ = [
    "DEFAULT_EMBEDDING_MODEL",
    "DEFAULT_MODEL",
    "REQUIREMENTS",
    "MissingPackageError",
    "RelayMemory",
    "Usage",
    "Warnings",
    "batches",
    "optional_import",
    "spoken",
    "variables",
]

#: The embedding model that is asked for at the relay.
DEFAULT_EMBEDDING_MODEL = "text-embedding-3-small"

_INSTRUCTIONS = (
    "Answer the question only from the memory below, as concisely as possible. If the memory does "
    "not contain the answer, say that you do not know."
)
_NOTHING = "(no relevant context found)"


class MissingPackageError(ImportError):
    """A package is missing that this memory needs."""


#: What the optional packages are for pip, by the extra that has them too.
REQUIREMENTS = {"mem0": "mem0ai>=2.2,<3", "zep": "graphiti-core>=0.31,<1"}


def optional_import(module: str, extra: str) -> Any:
    """Imports a module of an optional package; without it, the error has the install line."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"the memory `{extra}` needs a package that is not installed: {error}\n"
            f"hint: pip install '{REQUIREMENTS[extra]}'"
        ) from error


@contextmanager
def variables(**values: str) -> Iterator[None]:
    """Sets environment variables for a while; what the user has set stays."""
    added = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


class Usage:
    """Sums up the usage that an endpoint reports, over all threads of a library."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sum: dict[str, int] = {}

    def add(self, usage: Any) -> None:
        """Adds what one reply reported; anything else than whole numbers is left out."""
        if not isinstance(usage, Mapping):
            return
        with self._lock:
            for name, value in usage.items():
                if isinstance(value, int) and not isinstance(value, bool):
                    self._sum[name] = self._sum.get(name, 0) + value

    def take(self) -> dict[str, int] | None:
        """Returns the sum since the last call, if anything was reported."""
        with self._lock:
            taken, self._sum = self._sum, {}
        return taken or None

    def on_response(self, response: Any) -> None:
        """Reads the usage of a reply; a hook of ``httpx.Client``."""
        response.read()
        self._add_reply(response)

    async def on_response_async(self, response: Any) -> None:
        """Reads the usage of a reply; a hook of ``httpx.AsyncClient``."""
        await response.aread()
        self._add_reply(response)

    def _add_reply(self, response: Any) -> None:
        try:
            reply = response.json()
        except ValueError:
            return  # The library that asked reports a broken reply better than we could.
        self.add(reply.get("usage") if isinstance(reply, dict) else None)


class Warnings(logging.Handler):
    """Collects what a library only logs, such as facts that it could not store.

    Libraries of this kind go on after such a failure, and the answers are worse for it; without
    this, nobody would know why.
    """

    def __init__(self, library: str, thread: int | None = None) -> None:
        super().__init__(logging.WARNING)
        self._logger = logging.getLogger(library)
        self._thread = threading.get_ident() if thread is None else thread
        self._messages: dict[str, int] = {}

    def __enter__(self) -> Warnings:
        self._logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Counts a message of the thread that works for us; others serve other conversations."""
        if record.thread == self._thread:
            message = record.getMessage()
            self._messages[message] = self._messages.get(message, 0) + 1

    def details(self) -> dict[str, Any]:
        """The most frequent messages, for the details of a result."""
        often = sorted(self._messages, key=lambda message: -self._messages[message])
        return {"warnings": {text: self._messages[text] for text in often[:5]}} if often else {}


class RelayMemory:
    """Finds facts in a store of its own and lets a model at the relay answer from them.

    Subclasses implement ``reset``, ``ingest`` and ``_search``.
    """

    name: str

    def __init__(
        self,
        relay_url: str,
        model: str,
        api_key: str | None,
        timeout: float,
        *,
        name: str,
        top_k: int,
    ) -> None:
        if top_k < 1:
            raise ValueError(f"`top_k` must be at least 1, found {top_k}")
        # It reads `OPENAI_API_KEY` where no key is given, retries, and refuses bad addresses.
        self._answerer = OpenAIProxy(relay_url, model=model, api_key=api_key, timeout=timeout)
        self.name = name
        self.model = model
        self.relay_url = relay_url
        self.timeout = timeout
        self.top_k = top_k
        self._usage = Usage()

    def query(
        self, question: str, budget: int | None = None, *, asked: str | None = None
    ) -> QueryResult:
        """Answers one question from memory.

        Args:
            question: The question.
            budget: The most tokens of memory that the answer may rest on.
            asked: When the question is asked, where the data says so.
        """
        self._usage.take()
        began = time.perf_counter()
        found = self._search(question)
        facts = list(_within(budget, [fact for fact, _ in found]))
        retrieved = time.perf_counter()
        context = "\n".join(facts)
        request = (
            f"Relevant memory:\n{context or _NOTHING}\n\n"
            + (f"The question is asked on {asked}.\n" if asked else "")
            + f"Question: {question}\nAnswer:"
        )
        messages = [
            {"role": "system", "content": _INSTRUCTIONS},
            {"role": "user", "content": request},
        ]
        output = self._answerer.process({"turns": messages})
        answered = time.perf_counter()
        self._usage.add(output.get("api_usage"))
        return QueryResult(
            answer=output["response"] or "",
            total_latency_ms=(answered - began) * 1000,
            context_tokens=count_tokens(context),
            details={
                "num_retrieved": len(facts),
                "top_scores": [score for _, score in found[:5] if score is not None],
            },
            context=context,
            usage=self._usage.take(),
            retrieve_seconds=retrieved - began,
            answer_seconds=answered - retrieved,
        )

    def _search(self, question: str) -> list[tuple[str, float | None]]:
        """Returns facts as lines, best first, with scores where the store has some."""
        raise NotImplementedError

    def _base_url(self) -> str:
        """The relay as clients of OpenAI want it, which add no version of their own."""
        url = self.relay_url.rstrip("/")
        return url if url.endswith("/v1") else f"{url}/v1"

    def _api_key(self) -> str:
        """The key; clients of OpenAI refuse to work without one, relays may not need any."""
        return self._answerer.api_key or "none"


def _within(budget: int | None, facts: Iterable[str]) -> Iterator[str]:
    """Yields facts as lines while they fit; one that does not is passed over."""
    left = budget
    for fact in facts:
        line = f"- {fact}"
        if left is not None:
            tokens = count_tokens(line + "\n")
            if tokens > left:
                continue
            left -= tokens
        yield line


def batches(
    items: Sequence[Item | Mapping[str, Any]], size: int
) -> Iterator[list[dict[str, Any]]]:
    """Yields turns in groups of at most ``size``, none with turns of two sessions."""
    batch: list[dict[str, Any]] = []
    for item in items:
        turn = to_turn(item)
        if batch and (len(batch) == size or turn.get("session_id") != batch[0].get("session_id")):
            yield batch
            batch = []
        batch.append(turn)
    if batch:
        yield batch


def spoken(turn: Mapping[str, Any]) -> str:
    """Returns what a turn says, with time and speaker where the data has them: questions ask
    for both, and the libraries have no other place for them."""
    speaker, when, text = turn.get("speaker"), turn.get("timestamp"), said(turn)
    line = f"{speaker}: {text}" if speaker else text
    return f"[{when}] {line}" if when else line
