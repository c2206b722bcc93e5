"""Datasets, metrics and other objects that a program looks up by name."""

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

    def register(self, kind: str, name: str, value: Any) -> None:
        """Registers an object, replacing an earlier one of the same name."""
        self._kinds.setdefault(kind, {})[name] = value

    def get(self, kind: str, name: str) -> Any:
        """Returns an object by name.

        Raises:
            KeyError: If there is none; the message suggests a similar name.
        """
        known = self._kinds.get(kind, {})
        if name in known:
            return known[name]
        text = f"No {kind} registered with name '{name}'. Available: {', '.join(known) or 'none'}"
        near = get_close_matches(name, known, n=1)
        raise KeyError(text + (f". Did you mean '{near[0]}'?" if near else ""))

    def list(self, kind: str) -> list[str]:
        """Returns the names of a kind, in order of registration."""
        return [*self._kinds.get(kind, {})]


#: The registry of this process, empty at first.
registry = Registry()


def register_dataset(name: str, loader: Callable[..., Any]) -> None:
    """Registers a dataset loader; ``evaluate`` and the program then know it by name."""
    registry.register("dataset", name, loader)


def load_dataset(name: str, **kwargs: Any) -> Any:
    """Loads a registered or built-in dataset by name."""
    if name not in registry.list("dataset"):
        from context_bench import datasets

        if name.partition(":")[0] in datasets.names():
            return datasets.load(name, **kwargs)
    return registry.get("dataset", name)(**kwargs)


def register_metric(name: str, metric: Any) -> None:
    """Registers a metric."""
    registry.register("metric", name, metric)


def get_metric(name: str) -> Any:
    """Returns a registered metric."""
    return registry.get("metric", name)
