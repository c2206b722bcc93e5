"""Questions about long conversations."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TypeVar

from context_bench.datasets.loading import Examples, Path, load

__all__ = [
    "locomo",
    "longmemeval",
    "sample_search_pool",
    "split_conversations",
]

_T = TypeVar("_T")


def locomo(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Long conversations of two friends over months, with questions about them."""
    return load("locomo", n, config=config, split=split, path=path)


def longmemeval(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions about a history of chat sessions."""
    return load("longmemeval", n, config=config, split=split, path=path)


def split_conversations(
    examples: Iterable[_T], train_frac: float = 0.8, seed: int | None = 42
) -> tuple[list[_T], list[_T]]:
    """Shuffles conversations and splits them into two lists, such as one to tune a memory with
    and one to measure it on.

    Whole conversations are on one side or the other: questions about one resemble each other.

    Args:
        examples: The conversations; they are left as they are.
        train_frac: The part that goes into the first list, rounded down.
        seed: The seed; the same one gives the same split.
    """
    if not 0.0 <= train_frac <= 1.0:
        raise ValueError(f"`train_frac` must be between 0 and 1, found {train_frac}")
    shuffled = list(examples)
    random.Random(seed).shuffle(shuffled)
    cut = int(len(shuffled) * train_frac)
    return shuffled[:cut], shuffled[cut:]


def sample_search_pool(examples: Iterable[_T], n: int = 100, seed: int | None = None) -> list[_T]:
    """Returns ``n`` of the examples at random, each at most once; all of them in random order if
    there are fewer.

    Args:
        examples: The examples to choose from.
        n: How many.
        seed: The seed; without one, every call chooses anew.
    """
    if n < 0:
        raise ValueError(f"`n` cannot be negative, found {n}")
    pool = list(examples)
    return random.Random(seed).sample(pool, min(n, len(pool)))
