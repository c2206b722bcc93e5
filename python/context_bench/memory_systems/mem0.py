"""``Mem0Memory``: the package ``mem0ai`` as a memory."""

from __future__ import annotations

import base64
import json
import os
import struct
import tempfile
import time
import uuid
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.memory_systems._relay_memory import (
    DEFAULT_EMBEDDING_MODEL,
    DEFAULT_MODEL,
    RelayMemory,
    Warnings,
    batches,
    optional_import,
    spoken,
    variables,
)
from context_bench.memory_types import IngestResult, Item

__all__ = ["Mem0Memory"]


class Mem0Memory(RelayMemory):
    """Lets ``mem0ai`` extract facts from a conversation and search them.

    Its model calls and embeddings go to the relay, its vectors stay in this process, and nothing
    is sent to its makers. Each conversation gets a store and a random user id of its own.

    Args:
        relay_url: The OpenAI-compatible endpoint for facts, embeddings and answers.
        model: The model that extracts facts and answers.
        api_key: The API key; default: the environment variable ``OPENAI_API_KEY``.
        timeout: Time limit of one attempt of a call, in seconds.
        name: The name shown in results.
        top_k: How many facts an answer rests on at most.
        batch_turns: How many turns are handed over at a time; turns of two sessions never are
            handed over together.
        embedding_model: The embedding model to ask the relay for.
        config: Members of mem0's own configuration that replace ours, such as ``embedder`` for
            a relay without embeddings.

    Raises:
        MissingPackageError: If ``mem0ai`` is not installed.
    """

    def __init__(
        self,
        relay_url: str,
        model: str = DEFAULT_MODEL,
        api_key: str | None = None,
        timeout: float = 60.0,
        *,
        name: str = "mem0",
        top_k: int = 10,
        batch_turns: int = 10,
        embedding_model: str = DEFAULT_EMBEDDING_MODEL,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(relay_url, model, api_key, timeout, name=name, top_k=top_k)
        if batch_turns < 1:
            raise ValueError(f"`batch_turns` must be at least 1, found {batch_turns}")
        self._mem0 = _import_mem0()
        openai = optional_import("openai", "mem0")
        self._client = openai.OpenAI(
            api_key=self._api_key(),
            base_url=self._base_url(),
            timeout=timeout,
            http_client=openai.DefaultHttpxClient(
                event_hooks={"response": [self._usage.on_response]}
            ),
        )
        self.batch_turns = batch_turns
        self.embedding_model = embedding_model
        self.config = dict(config or {})
        self._dimensions: int | None = None
        self._memory: Any = None
        self._user = ""

    @property
    def version(self) -> str:
        """The version of ``mem0ai``."""
        return str(getattr(self._mem0, "__version__", "unknown"))

    @property
    def cache_key(self) -> dict[str, Any]:
        """Everything that decides the answers."""
        return {
            "mem0": self.version,
            "relay": self.relay_url,
            "model": self.model,
            "embedding_model": self.embedding_model,
            "top_k": self.top_k,
            "batch_turns": self.batch_turns,
            "config": self.config,
        }

    def reset(self) -> None:
        """Forgets everything: a new store with a new user."""
        self.close()
        self._user = uuid.uuid4().hex

    def ingest(self, turns: Sequence[Item | Mapping[str, Any]]) -> IngestResult:
        """Lets mem0 extract facts from the conversation, some turns at a time."""
        self._usage.take()
        began = time.perf_counter()
        memory = self._opened()
        n_facts = 0
        with Warnings("mem0") as warnings:
            for batch in batches(turns, self.batch_turns):
                messages = [
                    {"role": turn.get("role", "user"), "content": spoken(turn)} for turn in batch
                ]
                added = memory.add(messages, user_id=self._user)
                n_facts += len(added["results"])
        details: dict[str, Any] = {"memories": n_facts, **warnings.details()}
        usage = self._usage.take()
        if usage is not None:
            details["usage"] = usage
        took = (time.perf_counter() - began) * 1000
        return IngestResult(num_items=len(turns), latency_ms=took, details=details)

    def save(self) -> bytes | None:
        """Returns the facts with their vectors, so that no model has to extract them again;
        ``None`` if the store is one of the user's ``config``, which keeps them itself."""
        if "vector_store" in self.config:
            return None
        stores = {name: _points(store) for name, store in self._stores().items()}
        state = {"mem0": self.version, "user": self._user, "stores": stores}
        return zlib.compress(json.dumps(state).encode("ascii"), level=1)

    def load(self, state: bytes) -> bool:
        """Takes back what ``save`` gave; false if another version of mem0 saved it."""
        saved = json.loads(zlib.decompress(state))
        if "vector_store" in self.config or saved["mem0"] != self.version:
            return False
        self.reset()
        self._user = saved["user"]
        facts = saved["stores"]["facts"]
        if facts and "embedder" not in self.config:
            self._dimensions = len(_vector(facts[0][1]))
        for name, store in self._stores().items():
            points = saved["stores"][name]
            if points:
                ids, vectors, payloads = zip(*points, strict=True)
                store.insert([_vector(text) for text in vectors], list(payloads), list(ids))
        return True

    def close(self) -> None:
        """Lets go of the store."""
        memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()

    def _search(self, question: str) -> list[tuple[str, float | None]]:
        found = self._opened().search(
            question, filters={"user_id": self._user}, top_k=self.top_k
        )
        return [(hit["memory"], hit.get("score")) for hit in found["results"]]

    def _opened(self) -> Any:
        """The store of the current conversation."""
        if self._memory is None:
            if not self._user:
                self._user = uuid.uuid4().hex
            memory = self._mem0.Memory.from_config(self._full_config())
            # mem0 offers neither a time limit nor the usage, and asks another service than the
            # relay where `OPENROUTER_API_KEY` is set; our client has and does what we say.
            if "llm" not in self.config:
                memory.llm.client = self._client
            if "embedder" not in self.config:
                memory.embedding_model.client = self._client
            self._memory = memory
        return self._memory

    def _stores(self) -> dict[str, Any]:
        memory = self._opened()
        return {"facts": memory.vector_store, "entities": memory.entity_store}

    def _full_config(self) -> dict[str, Any]:
        relay = {"api_key": self._api_key(), "openai_base_url": self._base_url()}
        config: dict[str, Any] = {
            "llm": {"provider": "openai", "config": {"model": self.model, **relay}},
            "embedder": {"provider": "openai", "config": {"model": self.embedding_model, **relay}},
            "history_db_path": ":memory:",
        }
        if "vector_store" not in self.config:
            store: dict[str, Any] = {"collection_name": "context_bench", "path": ":memory:"}
            if "embedder" not in self.config:
                store["embedding_model_dims"] = self._vector_length()
            config["vector_store"] = {"provider": "qdrant", "config": store}
        return {**config, **self.config}

    def _vector_length(self) -> int:
        """How many numbers a vector of the embedding model has; only the relay knows."""
        if self._dimensions is None:
            reply = self._client.embeddings.create(
                input=["length"], model=self.embedding_model, encoding_format="float"
            )
            self._dimensions = len(reply.data[0].embedding)
        return self._dimensions


def _points(store: Any) -> list[tuple[str, str, Any]]:
    """All that a store of Qdrant holds: ids, vectors as text, and what belongs to them."""
    points = []
    offset = None
    while True:
        found, offset = store.client.scroll(
            store.collection_name, limit=1000, offset=offset, with_vectors=True, with_payload=True
        )
        for point in found:
            # Beside the vector there may be one of words, which is made again from the text.
            vector = point.vector[""] if isinstance(point.vector, dict) else point.vector
            packed = struct.pack(f"<{len(vector)}f", *vector)
            points.append((str(point.id), base64.b64encode(packed).decode("ascii"), point.payload))
        if offset is None:
            return points


def _vector(text: str) -> list[float]:
    packed = base64.b64decode(text)
    return list(struct.unpack(f"<{len(packed) // 4}f", packed))


#: A folder for what mem0 writes beside its store; it goes when the interpreter does.
_home: tempfile.TemporaryDirectory[str] | None = None


def _import_mem0() -> Any:
    """Imports mem0 so that it neither reports to its makers nor writes into the home folder.
    Both are decided when it is first imported."""
    global _home
    if _home is None and "MEM0_DIR" not in os.environ:
        _home = tempfile.TemporaryDirectory(prefix="context-bench-mem0-")
    folder = "" if _home is None else _home.name
    with variables(MEM0_TELEMETRY="False", MEM0_DIR=folder):
        return optional_import("mem0", "mem0")
