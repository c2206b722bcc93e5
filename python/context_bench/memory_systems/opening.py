"""``open_memory``: a memory by the name of its adapter, or by ``module:Class``."""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from context_bench._memory_instance import accepted
from context_bench.memory_systems.mem0 import Mem0Memory
from context_bench.memory_systems.zep import ZepMemory

__all__ = ["ADAPTERS", "open_memory"]

#: The adapters by name.
ADAPTERS: dict[str, Callable[..., Any]] = {"mem0": Mem0Memory, "zep": ZepMemory}


def open_memory(
    reference: str, *, offered: Mapping[str, Any] | None = None, **settings: Any
) -> Any:
    """Returns a new memory.

    Args:
        reference: The name of an adapter (``mem0``, ``zep``), or ``module:Class`` of your own;
            modules are also found in the current folder. A function that returns a memory will
            do in place of a class.
        offered: Arguments that its constructor need not have.
        settings: Arguments of its constructor. Those that are ``None`` are left to it.

    Raises:
        ValueError: If there is no such memory, or it has no such argument.
    """
    make = ADAPTERS.get(reference) or _own(reference)
    given = {name: value for name, value in settings.items() if value is not None}
    given = {**accepted(make, offered or {}), **given}
    signature = inspect.signature(make)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    unknown = [name for name in given if not takes_any and name not in signature.parameters]
    if unknown:
        known = ", ".join(f"`{name}`" for name in signature.parameters) or "none"
        raise ValueError(
            f"the memory `{reference}` has no argument `{unknown[0]}`\nhint: it has {known}"
        )
    try:
        signature.bind(**given)
    except TypeError as error:
        raise ValueError(f"the memory `{reference}` cannot be made: {error}") from None
    return make(**given)


def _own(reference: str) -> Callable[..., Any]:
    module, colon, name = reference.partition(":")
    if not colon or not module or not name:
        near = difflib.get_close_matches(reference, ADAPTERS, n=1)
        hint = f"did you mean `{near[0]}`?" if near else "write one of your own as `module:Class`"
        known = ", ".join(f"`{name}`" for name in ADAPTERS)
        raise ValueError(f"unknown memory `{reference}`; there are {known}\nhint: {hint}")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise  # The module is there; what it imports is not.
        raise ValueError(f"there is no module `{module}`") from None
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise ValueError(f"the module `{module}` has no `{name}`") from None
    if not callable(found):
        raise ValueError(f"`{reference}` is not a class or function")
    made: Callable[..., Any] = found
    return made
