"""Conversations as users hold them, dicts and typed records, as the one form that runs read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from context_bench.memory_types import to_turn

__all__ = ["Conversations", "is_typed", "said"]

_Key = tuple[tuple[str, str], ...]


class Conversations:
    """Reads examples, and finds the turns of one again as the user wrote them.

    A run knows turns by role, text, speaker and time. A memory in Python gets what the user
    passed: dicts with their other keys, documents, events.
    """

    def __init__(self) -> None:
        self._originals: dict[_Key, Sequence[Any]] = {}

    def read(self, examples: Iterable[Any]) -> list[dict[str, Any]]:
        """Returns examples as dicts with ``turns`` and ``qa_pairs``."""
        return [self._example(example, position) for position, example in enumerate(examples)]

    def originals(self, turns: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        """Returns the turns that a run hands over, as the user wrote them."""
        found = self._originals.get(_key(turns))
        return turns if found is None else list(found)

    def _example(self, example: Any, position: int) -> dict[str, Any]:
        if is_typed(example):
            given = list(example.items)
            fields = _typed_fields(example)
        elif isinstance(example, Mapping):
            fields = dict(example)
            given = _listed(fields.get("turns"), "turns", position)
            fields["qa_pairs"] = _listed(fields.get("qa_pairs"), "qa_pairs", position)
        else:
            kind = type(example).__name__
            raise TypeError(
                f"example {position} of the dataset must be a dict with `turns` and `qa_pairs`, "
                f"or have `items` and `queries`; found a {kind}"
            )
        turns = []
        for number, item in enumerate(given):
            try:
                turn = to_turn(item)
            except AttributeError:
                kind = type(item).__name__
                raise TypeError(
                    f"turn {number} of example {position} must be a dict or a record of "
                    f"`memory_types`, found a {kind}"
                ) from None
            turns.append({**turn, "id": _text(turn.get("id")) or str(number)})
        self._originals[_key(turns)] = given
        return {**fields, "turns": turns}


def said(turn: Mapping[str, Any]) -> str:
    """What a turn says and shows, without who says it and when. That is ``text`` and
    ``picture`` where ``content`` also has the speaker, as in LoCoMo."""
    text = _text(turn.get("text")) or _text(turn.get("content"))
    picture = _text(turn.get("picture"))
    return f"{text} [shares {picture}]".lstrip() if picture else text


def is_typed(example: Any) -> bool:
    """Whether an example is a record with items and queries. A dict also has ``items``."""
    return not isinstance(example, Mapping) and hasattr(example, "items") and hasattr(example, "queries")


def _typed_fields(example: Any) -> dict[str, Any]:
    pairs = []
    for query in example.queries:
        pair = {
            **(getattr(query, "metadata", None) or {}),
            "question": query.question,
            "answer": query.answer,
            "type": getattr(query, "query_type", ""),
        }
        evidence = getattr(query, "evidence", None)
        if evidence is not None:
            pair["evidence"] = list(evidence)
        pairs.append(pair)
    fields = {**(getattr(example, "metadata", None) or {}), "qa_pairs": pairs}
    for name in ("id", "dataset"):
        value = getattr(example, name, None)
        if value not in (None, ""):
            fields[name] = value
    return fields


def _listed(value: Any, name: str, position: int) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        kind = type(value).__name__
        raise TypeError(f"`{name}` of example {position} must be a list, found a {kind}")
    return list(value)


def _key(turns: Iterable[Mapping[str, Any]]) -> _Key:
    """What a run knows of turns: the id and the text, without turns that say nothing."""
    texts = ((turn["id"], said(turn)) for turn in turns)
    return tuple((identity, text) for identity, text in texts if text)


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()
