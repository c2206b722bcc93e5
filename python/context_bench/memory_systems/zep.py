"""``ZepMemory``: Zep's temporal graph, the package ``graphiti-core``, as a memory."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Coroutine, Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

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

__all__ = ["ZepMemory"]

_T = TypeVar("_T")

#: How LoCoMo and LongMemEval write times, beside ISO 8601.
_TIMES = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M", "%Y/%m/%d %H:%M", "%Y/%m/%d", "%d %B %Y")


class ZepMemory(RelayMemory):
    """Lets ``graphiti-core`` build a graph of facts from a conversation and search it.

    Its model calls and embeddings go to the relay. The graph is in Neo4j, or in whatever database
    ``graph_driver`` connects to; each conversation is a group of its own there, which is deleted
    again. Without the database there is no memory: the constructor raises.

    Args:
        relay_url: The OpenAI-compatible endpoint for facts, embeddings and answers. The model
            there has to follow JSON schemas.
        model: The model that extracts facts and answers.
        api_key: The API key; default: the environment variable ``OPENAI_API_KEY``.
        neo4j_uri: The address of the database.
        neo4j_user: Its user.
        neo4j_password: The password.
        timeout: Time limit of one attempt of a call, in seconds.
        name: The name shown in results.
        top_k: How many facts an answer rests on at most.
        batch_turns: How many turns make an episode of the graph; turns of two sessions never
            are in one.
        embedding_model: The embedding model to ask the relay for.
        graph_driver: A driver of graphiti, instead of Neo4j's.

    Raises:
        MissingPackageError: If ``graphiti-core`` is not installed.
        ConnectionError: If the database cannot be reached.
    """

    def __init__(
        self,
        relay_url: str,
        model: str = DEFAULT_MODEL,
        api_key: str | None = None,
        neo4j_uri: str = "bolt://localhost:7687",
        neo4j_user: str = "neo4j",
        neo4j_password: str = "password",
        timeout: float = 60.0,
        *,
        name: str = "zep",
        top_k: int = 10,
        batch_turns: int = 10,
        embedding_model: str = DEFAULT_EMBEDDING_MODEL,
        graph_driver: Any = None,
    ) -> None:
        super().__init__(relay_url, model, api_key, timeout, name=name, top_k=top_k)
        if batch_turns < 1:
            raise ValueError(f"`batch_turns` must be at least 1, found {batch_turns}")
        self.batch_turns = batch_turns
        self.embedding_model = embedding_model
        self.neo4j_uri = neo4j_uri
        self._group = ""
        graphiti = optional_import("graphiti_core", "zep")
        clients = self._clients()
        self._loop = _LoopThread()
        try:
            # Its makers count its uses otherwise.
            with variables(GRAPHITI_TELEMETRY_ENABLED="false"):
                if graph_driver is None:
                    server = (neo4j_uri, neo4j_user, neo4j_password)
                    self._graph = graphiti.Graphiti(*server, **clients)
                else:
                    self._graph = graphiti.Graphiti(graph_driver=graph_driver, **clients)
            self._loop.run(self._connect())
        except Exception as error:
            self._loop.close()
            place = f"at {neo4j_uri}" if graph_driver is None else "of `graph_driver`"
            raise ConnectionError(
                f"`{name}` cannot use the graph database {place}: {error}\n"
                "hint: start Neo4j there, or pass `neo4j_uri`, `neo4j_user` and "
                "`neo4j_password`; the memory `keyword` searches words without a database"
            ) from error

    @property
    def version(self) -> str:
        """The version of ``graphiti-core``."""
        try:
            return version("graphiti-core")
        except PackageNotFoundError:
            return "unknown"

    @property
    def cache_key(self) -> dict[str, Any]:
        """Everything that decides the answers."""
        return {
            "graphiti": self.version,
            "relay": self.relay_url,
            "model": self.model,
            "embedding_model": self.embedding_model,
            "top_k": self.top_k,
            "batch_turns": self.batch_turns,
        }

    def reset(self) -> None:
        """Forgets everything: deletes the group of the last conversation and begins another."""
        self._forget()
        self._group = uuid.uuid4().hex

    def ingest(self, turns: Sequence[Item | Mapping[str, Any]]) -> IngestResult:
        """Lets graphiti add the conversation to the graph, some turns at a time."""
        self._usage.take()
        began = time.perf_counter()
        if not self._group:
            self.reset()
        n_facts = 0
        with Warnings("graphiti_core", self._loop.thread) as warnings:
            for position, batch in enumerate(batches(turns, self.batch_turns)):
                lines = [
                    spoken({"speaker": turn.get("role", "user"), **turn}) for turn in batch
                ]
                added = self._loop.run(
                    self._graph.add_episode(
                        name=f"turns {position}",
                        episode_body="\n".join(lines),
                        source_description="conversation",
                        reference_time=_time(batch[0].get("timestamp")),
                        group_id=self._group,
                    )
                )
                n_facts += len(added.edges)
        details: dict[str, Any] = {"memories": n_facts, **warnings.details()}
        usage = self._usage.take()
        if usage is not None:
            details["usage"] = usage
        took = (time.perf_counter() - began) * 1000
        return IngestResult(num_items=len(turns), latency_ms=took, details=details)

    def close(self) -> None:
        """Deletes the group of the last conversation and leaves the database."""
        if self._loop.is_closed():
            return
        try:
            self._forget()
            self._loop.run(self._graph.close())
        finally:
            self._loop.close()

    async def _connect(self) -> None:
        driver = self._graph.driver
        if hasattr(driver, "health_check"):
            # One attempt: building indices makes many, each of which would fail by itself.
            await driver.health_check()
        await self._graph.build_indices_and_constraints()

    def _search(self, question: str) -> list[tuple[str, float | None]]:
        found = self._loop.run(
            self._graph.search(question, group_ids=[self._group], num_results=self.top_k)
        )
        return [(_dated(edge), None) for edge in found]

    def _forget(self) -> None:
        if self._group:
            nodes = optional_import("graphiti_core.nodes", "zep")
            driver = self._graph.driver
            self._loop.run(nodes.Node.delete_by_group_id(driver, self._group))
            self._group = ""

    def _clients(self) -> dict[str, Any]:
        """What graphiti asks: all of it is at the relay."""
        openai = optional_import("openai", "zep")
        config = optional_import("graphiti_core.llm_client.config", "zep")
        generic = optional_import("graphiti_core.llm_client.openai_generic_client", "zep")
        embedder = optional_import("graphiti_core.embedder.openai", "zep")
        reranker = optional_import("graphiti_core.cross_encoder.openai_reranker_client", "zep")
        client = openai.AsyncOpenAI(
            api_key=self._api_key(),
            base_url=self._base_url(),
            timeout=self.timeout,
            http_client=openai.DefaultAsyncHttpxClient(
                event_hooks={"response": [self._usage.on_response_async]}
            ),
        )
        llm = config.LLMConfig(model=self.model, small_model=self.model)
        vectors = embedder.OpenAIEmbedderConfig(embedding_model=self.embedding_model)
        return {
            "llm_client": generic.OpenAIGenericClient(config=llm, client=client),
            "embedder": embedder.OpenAIEmbedder(config=vectors, client=client),
            "cross_encoder": reranker.OpenAIRerankerClient(config=llm, client=client),
        }


class _LoopThread:
    """An event loop on a thread of its own: the calling thread may already have one."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="context-bench-graphiti", daemon=True
        )
        self._thread.start()

    @property
    def thread(self) -> int | None:
        """The thread that everything runs on."""
        return self._thread.ident

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Waits for a coroutine; a wait that is interrupted cancels it."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def is_closed(self) -> bool:
        """Whether the loop has ended."""
        return self._loop.is_closed()

    def close(self) -> None:
        """Cancels what still runs, and ends the loop and its thread."""

        async def cancel() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self.run(cancel())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _dated(edge: Any) -> str:
    """A fact, with the days between which it holds: questions ask for them."""
    begins, ends = edge.valid_at, edge.invalid_at
    held = [
        word + str(day.date()) for word, day in (("from ", begins), ("until ", ends)) if day
    ]
    return f"{edge.fact} ({', '.join(held)})" if held else str(edge.fact)


def _time(text: str | None) -> datetime:
    """When an episode took place; now, if the data does not say so in a way we know. The text
    of the episode has the time as the data writes it."""
    if text:
        try:
            # Python 3.10 does not know the short form of UTC.
            return _in_utc(datetime.fromisoformat(text.removesuffix("Z")))
        except ValueError:
            pass
        for form in _TIMES:
            try:
                return _in_utc(datetime.strptime(text, form))
            except ValueError:
                continue
    return datetime.now(timezone.utc)


def _in_utc(when: datetime) -> datetime:
    return when if when.tzinfo is not None else when.replace(tzinfo=timezone.utc)
