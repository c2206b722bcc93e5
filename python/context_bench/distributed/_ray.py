"""Ray itself, which is imported only when it is used: nobody else needs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class ClusterLost(RuntimeError):
    """The cluster is not there, or no longer: the same run may go on later."""


def ray(module: str = "ray") -> Any:
    """Ray, or a module of it.

    Raises:
        ImportError: If it is not installed, with a hint.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            "Ray is not installed\n"
            "hint: pip install 'context-bench-rs[ray]', or 'ray>=2.10' into the environment of "
            "this package"
        ) from error
