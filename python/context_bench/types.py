"""The interfaces, as protocols: any object with these members will do.

Nothing is subclassed. ``isinstance`` works, because the protocols are checked at
run time by the members that an object has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

    ``process`` gets one example and returns a dict, by convention the example
    plus ``response``. It may be ``async``. Optional members:

    * ``process_conversation(turns)`` answers the turns of a multi-turn example;
    * ``cache_key`` (any JSON value) names everything that decides the answers, so
      that stored ones can be reused with ``cache_dir``.
    """

    @property
    def name(self) -> str:
        """The name that results show."""
        ...

    def process(self, example: dict[str, Any], /) -> Any:
        """Processes one example."""
        ...


@runtime_checkable
class Evaluator(Protocol):
    """Compares what a system made of an example with the example.

    ``score`` returns score names and numbers. It may be ``async``. Optional
    members: ``score_names`` (the scores that will come) and ``cache_key``.
    """

    @property
    def name(self) -> str:
        """The name that results show."""
        ...

    def score(self, original: dict[str, Any], processed: dict[str, Any], /) -> Any:
        """Scores one output against the untouched example."""
        ...


@runtime_checkable
class Metric(Protocol):
    """Turns all rows of one system into named numbers."""

    @property
    def name(self) -> str:
        """The name that results show."""
        ...

    def compute(self, rows: list[EvalRow], /) -> Mapping[str, float]:
        """Computes the numbers; failed rows are among the rows."""
        ...


@runtime_checkable
class MemorySystem(Protocol):
    """Remembers a conversation and answers questions about it."""

    @property
    def name(self) -> str:
        """The name that results show."""
        ...

    def reset(self) -> None:
        """Forgets everything; called before each conversation."""
        ...

    def ingest(self, turns: Sequence[Turn], /) -> Any:
        """Takes in the whole history, in order."""
        ...

    def query(self, question: str, /) -> Any:
        """Answers one question from memory."""
        ...
