"""Names for things: datasets, metrics and whatever else a program looks up by name."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

__all__ = [
    "Registry",
    "get_metric",
    "load_dataset",
    "register_dataset",
    "register_metric",
    "registry",
]


class Registry:
    """Objects by kind and name."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, Any]] = {}

    def register(self, kind: str, name: str, thing: Any) -> None:
        """Stores an object; an earlier one of that name is replaced."""
        self._kinds.setdefault(kind, {})[name] = thing

    def get(self, kind: str, name: str) -> Any:
        """The object of that name; ``KeyError`` with near names when there is none."""
        known = self._kinds.get(kind, {})
        if name in known:
            return known[name]
        text = f"No {kind} registered with name '{name}'. Available: {', '.join(known) or 'none'}"
        near = get_close_matches(name, known, n=1)
        raise KeyError(text + (f". Did you mean '{near[0]}'?" if near else ""))

    def list(self, kind: str) -> list[str]:
        """The names of a kind, in order of registration."""
        return [*self._kinds.get(kind, {})]


#: The registry of this process; starts empty.
registry = Registry()


def register_dataset(name: str, loader: Callable[..., Any]) -> None:
    """Makes a loader known under a name."""
    registry.register("dataset", name, loader)


def load_dataset(name: str, **kwargs: Any) -> Any:
    """Calls the loader of that name; built-in datasets need no registration."""
    if name not in registry.list("dataset"):
        from context_bench import datasets

        if name.partition(":")[0] in datasets.names():
            return datasets.load(name, **kwargs)
    return registry.get("dataset", name)(**kwargs)


def register_metric(name: str, metric: Any) -> None:
    """Makes a metric known under a name."""
    registry.register("metric", name, metric)


def get_metric(name: str) -> Any:
    """The metric of that name."""
    return registry.get("metric", name)
