"""What runs on workers: one unit of examples, handed over piece by piece."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

from context_bench import _native, runner
from context_bench.distributed._payload import Parts, unpack
from context_bench.distributed._quota import Feeder

#: The parts of the last run in this process. Heavy objects are made once per process.
_loaded: tuple[bytes, Parts] | None = None


class Settings(TypedDict):
    """How a unit is run."""

    #: What was asked, without keys.
    spec: dict[str, Any]
    #: What the driver decided, as JSON.
    plan: str
    salt: str
    quota: str | None


class Piece(TypedDict):
    """What a worker hands over: a closed store file with its answers so far."""

    segment: bytes
    #: Whether the unit is done.
    done: bool
    #: System, place in the unit, kind, message and seconds of rows that failed.
    failures: list[tuple[str, int, str, str, float]]


def parts_of(packed: bytes) -> Parts:
    """The objects of a run, the same for all units of this process."""
    global _loaded
    if _loaded is None or _loaded[0] != packed:
        _loaded = (packed, unpack(packed))
    return _loaded[1]


def members(parts: Parts, settings: Settings, **unit: Any) -> dict[str, Any]:
    """What the native module is asked in a worker, beside the spec."""
    return {
        "systems": parts.systems,
        "evaluators": parts.evaluators,
        "metrics": [],
        "tokenizer": parts.tokenizer,
        "progress": False,
        "salt": settings["salt"],
        "unit": {"plan": settings["plan"], "data": None, "dicts": [], **unit},
    }


def run_unit(
    packed: bytes,
    settings: Settings,
    data: bytes,
    dicts: list[dict[str, Any] | None],
    handover: float,
) -> Iterator[Piece]:
    """Asks about a unit of examples and yields what is there every `handover` seconds."""
    parts = parts_of(packed)
    folder = Path(tempfile.mkdtemp(prefix="context-bench-"))
    store = folder / "store"
    outcome: dict[str, Any] = {}

    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        feeder = None
        if settings["quota"] is not None:
            feeder = stack.enter_context(Feeder(settings["quota"]))

        def ask() -> None:
            try:
                outcome["result"] = runner._run_spec(
                    {**settings["spec"], "cache_dir": str(store)},
                    leases=None if feeder is None else feeder.leases,
                    frames=0,
                    **members(parts, settings, data=data, dicts=dicts),
                )
            except BaseException as error:
                outcome["error"] = error

        # Beside this thread, which hands over what is there meanwhile.
        asking = threading.Thread(target=ask, name="evaluate", daemon=True)
        asking.start()
        seen = 0
        while asking.is_alive():
            asking.join(handover)
            if feeder is not None and feeder.failure is not None:
                raise RuntimeError(f"the quota of the run is gone: {feeder.failure}")
            if asking.is_alive() and (n := _answers(store)) > seen:
                seen = n
                yield {"segment": _segment(store, folder, n), "done": False, "failures": []}
        if "error" in outcome:
            raise outcome["error"]
        yield {
            "segment": _segment(store, folder, -1),
            "done": True,
            "failures": _failures(outcome["result"]),
        }


def _answers(store: Path) -> int:
    if not (store / "store.sqlite").exists():
        return 0
    return _native.NativeStore(store).n_responses()


def _segment(store: Path, folder: Path, number: int) -> bytes:
    file = folder / f"segment{number}.sqlite"
    _native.snapshot(store, file)
    data = file.read_bytes()
    file.unlink()
    return data


def _failures(result: Any) -> list[tuple[str, int, str, str, float]]:
    """Rows that failed. Rows of a system stand in the order of the examples."""
    places: dict[str, int] = {}
    failures = []
    for row in result.rows:
        place = places.get(row.system, 0)
        places[row.system] = place + 1
        if row.error is not None:
            error = row.error
            failures.append((row.system, place, error.kind, error.message, row.latency))
    return failures
