"""``load``: loads a dataset by name."""

from __future__ import annotations

import os
from typing import Any

from context_bench import _native

__all__ = ["Examples", "Path", "load", "names"]

#: The examples of a dataset.
Examples = list[dict[str, Any]]
#: The path of a local copy.
Path = str | os.PathLike[str]


def names() -> list[str]:
    """Returns the names of all built-in datasets."""
    return _native.dataset_names()


def load(
    name: str,
    n: int | None = None,
    *,
    config: str | None = None,
    split: str | None = None,
    path: Path | None = None,
    skip_bad_lines: bool = False,
) -> Examples:
    """Loads the examples of a dataset as plain dicts.

    A list of dicts gets the plain prompt: context, then question. To ask as the authors of the
    dataset do, pass its name to ``evaluate(systems, name, ...)``, or use ``prompt(name)`` in
    your own systems.

    Args:
        name: The dataset, also as ``name[:config][@split]``.
        n: The maximum number of examples.
        config: The config, for datasets with several.
        split: The split; default: the one that is usually evaluated.
        path: A local copy with the same layout as on the hub.
        skip_bad_lines: Whether to skip records that cannot be read.

    Raises:
        ValueError: If there is no such dataset, or it cannot be read.
    """
    local = None if path is None else os.fspath(path)
    reference = _reference(name, config, split)
    return _native.load_dataset(reference, n=n, path=local, skip_bad_lines=skip_bad_lines)


def _reference(name: str, config: str | None, split: str | None) -> str:
    reference = name
    if config is not None:
        reference += f":{config}"
    if split is not None:
        reference += f"@{split}"
    return reference
