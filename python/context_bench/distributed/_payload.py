"""What travels to workers: objects without the keys that they use.

The *name* of the variable with a key travels, never its value: whatever is sent passes through
Ray's control plane and its logs.
"""

from __future__ import annotations

import copy
import os
import sys
import sysconfig
from dataclasses import dataclass
from typing import Any

from context_bench._native import NativeEvaluator, NativeSystem
from context_bench.distributed._ray import ray
from context_bench.systems import OpenAIProxy

#: What names of variables with secrets contain.
_SECRET_PARTS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
#: Shorter values are found everywhere by chance.
_SHORTEST = 8


@dataclass
class Parts:
    """The objects of a run, as workers use them."""

    systems: list[Any]
    #: ``None`` for those of the datasets.
    evaluators: list[Any] | None
    tokenizer: Any
    #: Which variable has the key of a system, by its place in ``systems``.
    key_variables: dict[int, str]

    def with_keys(self) -> Parts:
        """Takes the keys of endpoints from the environment of this process."""
        for place, variable in self.key_variables.items():
            self.systems[place].api_key = os.environ.get(variable)
        return self


def pack(systems: list[Any], evaluators: list[Any] | None, tokenizer: Any) -> bytes:
    """Makes the parts of a run into bytes that hold no key.

    Raises:
        ValueError: If something cannot travel, or holds a key.
    """
    cloudpickle = ray("ray.cloudpickle")
    key_variables: dict[int, str] = {}
    without_keys = []
    for place, system in enumerate(systems):
        if isinstance(system, OpenAIProxy) and system.api_key:
            variable = _variable_of(system.api_key)
            if variable is None:
                raise ValueError(
                    f"the API key of `{system.name}` is in no environment variable\n"
                    "hint: set a variable such as OPENAI_API_KEY here and on all nodes; keys are "
                    "never sent to workers"
                )
            key_variables[place] = variable
            system = copy.copy(system)
            system.api_key = None
        without_keys.append(system)
    objects = [*without_keys, *(evaluators or ())]
    for one in objects:
        _refuse_literal_key(one)
    parts = Parts(without_keys, evaluators, tokenizer, key_variables)
    with _own_modules([*objects, tokenizer]):
        try:
            packed: bytes = cloudpickle.dumps(parts)
        except Exception as error:
            raise ValueError(
                f"a system, an evaluator or the tokenizer cannot be sent to workers: {error}\n"
                "hint: open files, connections and models when they are first used, not in "
                "`__init__`"
            ) from error
    for name, value in _secrets():
        if value.encode() in packed:
            raise ValueError(
                f"a system or an evaluator holds the value of `{name}`, and would carry it to "
                "the workers\n"
                f'hint: read `os.environ["{name}"]` where it is used'
            )
    return packed


def _refuse_literal_key(one: Any) -> None:
    """Judges and relays pickle a key unless the environment has it."""
    key = None
    if isinstance(one, NativeEvaluator):
        key = one.__getstate__()[1].get("api_key")
    elif isinstance(one, NativeSystem):
        relay = one.__getnewargs_ex__()[1]["relay"]
        key = None if relay is None else relay.__getstate__()[0]["api_key"]
    if key:
        raise ValueError(
            f"the API key of `{one.name}` would be sent to the workers\n"
            "hint: leave `api_key` out and set OPENAI_API_KEY here and on all nodes"
        )


def unpack(packed: bytes) -> Parts:
    """The parts of a run in a worker, with the keys of its environment."""
    parts: Parts = ray("ray.cloudpickle").loads(packed)
    return parts.with_keys()


def key_variables(packed: bytes) -> list[str]:
    """The variables with the keys of systems that are objects."""
    parts: Parts = ray("ray.cloudpickle").loads(packed)
    return sorted(set(parts.key_variables.values()))


def _variable_of(key: str) -> str | None:
    found = [name for name, value in os.environ.items() if value == key]
    # The usual one, if several have it.
    return min(found, key=lambda name: (name != "OPENAI_API_KEY", name), default=None)


def _secrets() -> list[tuple[str, str]]:
    def is_secret(name: str, value: str) -> bool:
        name = name.upper()
        # Names of files and of other variables are none.
        named = any(part in name for part in _SECRET_PARTS)
        return named and len(value) >= _SHORTEST and not os.path.exists(value)

    return [(name, value) for name, value in os.environ.items() if is_secret(name, value)]


class _own_modules:
    """Lets classes of the user's own files travel by value: workers may not have the files."""

    def __init__(self, objects: list[Any]) -> None:
        installed = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
        self._modules = []
        for one in objects:
            kind = one if callable(one) and hasattr(one, "__module__") else type(one)
            module = sys.modules.get(getattr(kind, "__module__", None) or "")
            file = getattr(module, "__file__", None)
            if module is None or file is None or module.__name__.startswith("context_bench."):
                continue
            if not any(path and file.startswith(path) for path in installed):
                self._modules.append(module)

    def __enter__(self) -> None:
        for module in self._modules:
            ray("ray.cloudpickle").register_pickle_by_value(module)

    def __exit__(self, *_: object) -> None:
        for module in {id(module): module for module in self._modules}.values():
            ray("ray.cloudpickle").unregister_pickle_by_value(module)
