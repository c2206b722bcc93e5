"""Records of the typed form of memory systems: what they take in, are asked, and return.

The plain form needs none of these: ``ingest`` gets dicts ``{"role": ..., "content": ...}`` and
``query`` returns a text. A memory that wants speakers, times, documents or events implements
``ingest(items)`` and ``query(question, budget=None) -> QueryResult`` instead; both forms are
accepted wherever a ``MemorySystem`` is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = [
    "BenchmarkExample",
    "BenchmarkQuery",
    "ConversationTurn",
    "Declaration",
    "DocumentChunk",
    "IngestResult",
    "Item",
    "PlatformEvent",
    "QueryResult",
    "item_text",
    "render_item",
    "to_turn",
]


@dataclass
class ConversationTurn:
    """One thing that somebody said."""

    content: str
    #: ``user`` or ``assistant``.
    role: str
    #: When it was said, as the data writes it.
    timestamp: str | None = None
    #: Who said it, where the data gives a name.
    speaker: str | None = None
    #: The session that it belongs to.
    session_id: str | None = None


@dataclass
class DocumentChunk:
    """A part of a document."""

    content: str
    document_id: str
    #: Which part of the document it is.
    position: int
    #: Where the document comes from.
    source: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class PlatformEvent:
    """Something that happened on a platform, such as a message in a channel."""

    content: str
    platform: str
    timestamp: str
    author: str | None = None
    channel: str | None = None
    event_type: str | None = None


@dataclass
class Declaration:
    """A fact by name."""

    key: str
    value: str
    #: The turn that it was taken from.
    source_turn_id: str | None = None


#: Everything that the typed form of a memory may be given.
Item = ConversationTurn | DocumentChunk | PlatformEvent | Declaration


@dataclass
class IngestResult:
    """What taking in a conversation took."""

    num_items: int
    latency_ms: float
    #: Anything else that the memory says about it. ``details["usage"]``, if it is there, is the
    #: usage that endpoints reported, summed up.
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class QueryResult:
    """The answer to one question, and what it rests on."""

    answer: str
    total_latency_ms: float
    #: Tokens of memory that the answer rests on.
    context_tokens: int = 0
    #: Anything else that the memory says about it; it becomes metadata of the row.
    details: dict[str, Any] = field(default_factory=dict)
    #: The text of memory that the answer rests on.
    context: str | None = None
    #: The ids of the turns that were recalled, best first.
    recalled: list[str] | None = None
    #: The usage that endpoints reported for this question, summed up.
    usage: dict[str, Any] | None = None
    #: How long finding took, and how long answering from it.
    retrieve_seconds: float | None = None
    answer_seconds: float | None = None


@dataclass
class BenchmarkQuery:
    """A question about what a memory has taken in."""

    question: str
    answer: str
    #: The kind of question, such as ``multi_hop``.
    query_type: str = ""
    #: What the answer is found in, where the data marks it.
    evidence: list[str] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class BenchmarkExample:
    """Items to take in, and questions about them."""

    id: str
    items: list[Item]
    queries: list[BenchmarkQuery]
    dataset: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


def render_item(item: Item) -> str:
    """Returns an item as one line that a model can read.

    >>> render_item(ConversationTurn("hi", "user", speaker="Ann"))
    'Ann (USER): hi'
    """
    if isinstance(item, ConversationTurn):
        role = item.role.upper()
        return f"{f'{item.speaker} ({role})' if item.speaker else role}: {item.content}"
    if isinstance(item, DocumentChunk):
        return f"[DOC {item.source or item.document_id} #{item.position}] {item.content}"
    if isinstance(item, PlatformEvent):
        author = item.author or "unknown"
        return f"[{item.platform.upper()} {item.timestamp}] {author}: {item.content}"
    return f"[DECL {item.key}] {item.value}"


def item_text(item: Item) -> str:
    """Returns the text of an item that search looks at.

    >>> item_text(Declaration("city", "Rome"))
    'city: Rome'
    """
    return f"{item.key}: {item.value}" if isinstance(item, Declaration) else item.content


def to_turn(item: Item | Mapping[str, Any]) -> dict[str, Any]:
    """Returns an item as a turn ``{"role": ..., "content": ...}``, with whatever else it has.

    Items that nobody said become turns of the user, rendered as ``render_item`` does.
    """
    if isinstance(item, Mapping):
        return dict(item)
    if isinstance(item, ConversationTurn):
        return {name: value for name, value in asdict(item).items() if value is not None}
    turn: dict[str, Any] = {"role": "user", "content": render_item(item)}
    if isinstance(item, PlatformEvent):
        turn["timestamp"] = item.timestamp
    return turn
