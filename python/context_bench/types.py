"""The interfaces as protocols: any object with these members will do.

There is no base class to inherit from. ``isinstance`` checks at run time whether an object has
the members.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from context_bench.results import EvalRow

__all__ = ["Evaluator", "Example", "MemorySystem", "Metric", "System", "Turn"]

#: One record of a dataset: a dict with string keys.
Example = dict[str, Any]
#: One message of a conversation: ``{"role": ..., "content": ...}``.
Turn = Mapping[str, str]


@runtime_checkable
class System(Protocol):
    """What is benchmarked: a compressor, a proxy, a retriever …

    ``process`` gets one example and returns a dict, by convention the example with ``response``
    added. It may be ``async``. Optional members:

    * ``process_conversation(turns)`` answers the turns of a multi-turn example;
    * ``cache_key`` (any JSON value) identifies everything that decides the answers, so that
      ``cache_dir`` can reuse stored ones.
    """

    @property
    def name(self) -> str:
        """The name shown in results."""
        ...

    def process(self, example: dict[str, Any], /) -> Any:
        """Processes one example."""
        ...


@runtime_checkable
class Evaluator(Protocol):
    """Scores the output of a system against the example.

    ``score`` returns a dict of score names and numbers. It may be ``async``. Optional members:
    ``score_names`` (the names of the scores, if known in advance) and ``cache_key``.
    """

    @property
    def name(self) -> str:
        """The name shown in results."""
        ...

    def score(self, original: dict[str, Any], processed: dict[str, Any], /) -> Any:
        """Scores one output against the original example."""
        ...


@runtime_checkable
class Metric(Protocol):
    """Computes named numbers from all rows of one system."""

    @property
    def name(self) -> str:
        """The name shown in results."""
        ...

    def compute(self, rows: list[EvalRow], /) -> Mapping[str, float]:
        """Computes the numbers; ``rows`` includes failed rows."""
        ...


@runtime_checkable
class MemorySystem(Protocol):
    """Remembers a conversation and answers questions about it.

    Methods may be ``async``. Optional members:

    * ``last_context_tokens``: the tokens of memory that the last answer rests on;
    * ``cache_key`` (any JSON value) identifies everything that decides the answers, so that
      ``cache_dir`` can reuse stored ones;
    * ``save() -> bytes`` and ``load(bytes)``: what was taken in, so that it can be kept;
    * ``close()``: called when a run ends, on memories that it made from a class or function.
    """

    @property
    def name(self) -> str:
        """The name shown in results."""
        ...

    def reset(self) -> Any:
        """Forgets everything; called before each conversation."""
        ...

    def ingest(self, turns: Any, /) -> Any:
        """Reads the whole conversation, in order: dicts ``{"role": ..., "content": ...}``, or
        the items of a typed example. May return an ``IngestResult``."""
        ...

    def query(self, question: str, /) -> Any:
        """Answers one question from memory, with a text or a ``QueryResult``. It gets ``budget``
        and ``asked`` by keyword, if it has such parameters."""
        ...
