"""``Ray``: the driver of a run on a Ray cluster.

It carries bytes: what units are made of, what is missing and what results come to is decided by the
native module, the same for ``evaluate``, run files and the program.
"""

from __future__ import annotations

import contextlib
import json
import math
import socket
import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from context_bench._native import NativeUnits
from context_bench._progress import Display
from context_bench.distributed import _payload, _preflight, _quota, _worker
from context_bench.distributed._ray import ClusterLost, ray

#: Losses of a unit after which it is halved, and of an example after which it is a failed row.
_MOST_LOSSES = 3
#: The most bytes of examples in a unit.
_UNIT_BYTES = 4_000_000
#: Units in flight for each place in which one can run: the next one is there when one ends.
_UNITS_PER_SLOT = 2
#: Seconds between handovers of a unit that was lost before.
_CAREFUL = 0.5
#: Seconds after which the driver looks whether it is to stop.
_LOOK = 0.5
#: Seconds that the head of a cluster may take to accept a connection.
_CONNECT = 30.0


@dataclass
class _Unit:
    """Examples that one task asks about, by their positions."""

    positions: list[int]
    losses: int = 0
    #: Why it was lost the last time.
    why: str = ""


class Ray:
    """Runs the examples of ``evaluate`` on a Ray cluster.

    Losing workers, nodes or the driver loses no stored answer: what was handed over is in the
    store, and only what is missing is asked again. An example that ends its process three times
    becomes a failed row of the kind ``worker_lost``.

    Args:
        address: The cluster, as ``ray.init`` takes it: ``"auto"``, ``"ray://HOST:10001"``,
            ``"HOST:6379"``; by default a cluster that this process is connected to, or one on
            this machine alone.
        cpus: CPUs that a task takes; the tasks of a node are as many as fit.
        max_workers: Calls in flight in each task; by default that of ``evaluate``.
        unit: The most examples of a task.
        handover: Seconds after which a task hands over what it has. A lost worker loses at most
            this, and what is in flight.
        rps: The most requests per second over all workers: of ``OpenAIProxy`` systems, and of
            systems and judges by name. What your own Python code sends it cannot see.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        cpus: float = 1,
        max_workers: int | None = None,
        unit: int = 256,
        handover: float = 5.0,
        rps: float | None = None,
    ) -> None:
        for name, value in (("cpus", cpus), ("unit", unit), ("handover", handover)):
            if not value > 0:
                raise ValueError(f"`{name}` must be above 0, found {value!r}")
        if rps is not None and not (rps > 0 and math.isfinite(rps)):
            raise ValueError(f"`rps` must be a number above 0, found {rps!r}")
        self.address = address
        self.cpus = cpus
        self.max_workers = max_workers
        self.unit = unit
        self.handover = handover
        self.rps = rps

    def _add_to(self, spec: dict[str, Any]) -> None:
        """Notes in a spec that it runs here, with the limits that were given here."""
        spec["engine"] = "ray"
        limits = spec.setdefault("limits", {})
        for name, value in (("max_workers", self.max_workers), ("rps", self.rps)):
            if value is not None:
                limits[name] = value

    def _ask(self, units: NativeUnits, objects: tuple[Any, Any, Any], progress: bool) -> None:
        """Has workers ask about what is missing, until it is there or the run is stopped. Called by
        the native module, which sums up afterwards."""
        # Before anything is looked up: it must be possible at all.
        ray()
        packed = _payload.pack(*objects)
        missing = units.missing()
        if not missing or units.is_stopped():
            return
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._cluster())
            job = json.loads(units.job)
            settings: _worker.Settings = {
                "spec": job["spec"],
                "plan": json.dumps(job["plan"]),
                "salt": units.salt,
                "quota": None,
            }
            _preflight.check_nodes(packed, settings, units)
            settings["quota"] = stack.enter_context(self._quota(units.salt, units.rps))
            _Loop(self, units, packed, settings, progress).run(missing)

    @contextlib.contextmanager
    def _cluster(self) -> Iterator[None]:
        if ray().is_initialized():
            yield
            return
        try:
            _knock(self.address)
            # What workers print may hold texts of the dataset.
            ray().init(address=self.address, log_to_driver=False, logging_level="ERROR")
        except (OSError, RuntimeError, ValueError) as error:
            where = "" if self.address is None else f" at `{self.address}`"
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise ClusterLost(
                f"there is no Ray cluster{where}: {lines[0]}\n"
                "hint: start one with `ray start --head`, or leave the address out for one on "
                "this machine"
            ) from error
        try:
            yield
        finally:
            ray().shutdown()

    @contextlib.contextmanager
    def _quota(self, salt: str, rps: float | None) -> Iterator[str | None]:
        """One for the run: its limit is over all endpoints, as in one process."""
        if rps is None:
            yield None
            return
        name = f"context-bench-quota-{salt}"
        remote = ray().remote(num_cpus=0, max_restarts=0)(_quota.Quota)
        actor = remote.options(name=name, namespace=_quota.NAMESPACE).remote(rps)
        try:
            yield name
        finally:
            ray().kill(actor)


class _Loop:
    """Hands out units, takes what comes, and hands out again what was lost."""

    def __init__(
        self,
        how: Ray,
        units: NativeUnits,
        packed: bytes,
        settings: _worker.Settings,
        progress: bool,
    ) -> None:
        self._ray = ray()
        self._how = how
        self._units = units
        self._quota = settings["quota"]
        self._packed = self._ray.put(packed)
        self._settings = self._ray.put(settings)
        self._waiting: deque[_Unit] = deque()
        self._running: dict[Any, _Unit] = {}
        self._done = 0
        self._failed = 0
        self._display = Display() if progress else None
        self._task: Any = self._ray.remote(
            num_cpus=how.cpus, max_retries=0, num_returns="streaming"
        )(_worker.run_unit)

    def run(self, missing: list[int]) -> None:
        """Asks about all of them, unless the run is stopped."""
        self._waiting.extend(self._made(missing))
        total = len(missing)
        try:
            while (self._waiting or self._running) and not self._units.is_stopped():
                self._submit()
                ready, _ = self._ray.wait(
                    list(self._running), num_returns=1, timeout=_LOOK, fetch_local=False
                )
                for stream in ready:
                    self._take(stream)
                self._show(total)
        finally:
            for stream in self._running:
                # Of a run that is given up nothing more is paid.
                with contextlib.suppress(Exception):
                    self._ray.cancel(stream, force=True)
            if self._display is not None:
                self._display.close()

    def _submit(self) -> None:
        cpus = self._ray.cluster_resources().get("CPU", 0.0)
        slots = max(1, int(cpus // self._how.cpus))
        while self._waiting and len(self._running) < _UNITS_PER_SLOT * slots:
            unit = self._waiting.popleft()
            handover = self._how.handover
            data, dicts = self._units.unit(unit.positions)
            stream = self._task.remote(
                self._packed,
                self._settings,
                data,
                dicts,
                min(handover, _CAREFUL) if unit.losses else handover,
            )
            self._running[stream] = unit

    def _take(self, stream: Any) -> None:
        """Takes the next piece of a unit, or its end."""
        unit = self._running[stream]
        try:
            piece: _worker.Piece = self._ray.get(next(stream))
        except StopIteration:
            del self._running[stream]
            # Ended without its last piece.
            self._lost(unit, "the task ended early")
            return
        except self._ray.exceptions.RayError as error:
            del self._running[stream]
            self._require_quota()
            self._lost(unit, _reason(error))
            return
        self._keep(piece["segment"])
        if not piece["done"]:
            return
        del self._running[stream]
        for system, place, kind, message, seconds in piece["failures"]:
            self._units.failed(system, unit.positions[place], kind, message, seconds)
        self._failed += len({place for _, place, *_ in piece["failures"]})
        self._done += len(unit.positions)

    def _keep(self, segment: bytes) -> None:
        """Takes the answers of a piece into the store. This process alone writes to it."""
        with tempfile.TemporaryDirectory(prefix="context-bench-") as folder:
            file = Path(folder) / "segment.sqlite"
            file.write_bytes(segment)
            self._units.keep(file)

    def _lost(self, unit: _Unit, why: str) -> None:
        """Hands out again what a lost unit did not hand over."""
        missing = self._units.missing(unit.positions)
        self._done += len(unit.positions) - len(missing)
        if not missing:
            return
        losses = unit.losses + 1
        if losses < _MOST_LOSSES:
            self._waiting.append(_Unit(missing, losses, why))
        elif len(missing) > 1:
            half = len(missing) // 2
            self._waiting.append(_Unit(missing[:half], 0, why))
            self._waiting.append(_Unit(missing[half:], 0, why))
        else:
            message = f"the worker was lost {losses} times at this example: {why}"
            for system in self._units.systems:
                self._units.failed(system, missing[0], "worker_lost", message, 0.0)
            self._done += 1
            self._failed += 1

    def _require_quota(self) -> None:
        """Without the quota no limit holds, so nothing more is started."""
        if self._quota is None:
            return
        try:
            self._ray.get_actor(self._quota, namespace=_quota.NAMESPACE)
        except ValueError:
            raise ClusterLost(
                "the quota of the run was lost with its node, so nothing more is asked\n"
                "hint: run again: only what is missing is asked"
            ) from None

    def _made(self, positions: list[int]) -> list[_Unit]:
        units: list[_Unit] = []
        size = 0
        for position in positions:
            n_bytes = self._units.n_bytes(position)
            last = units[-1].positions if units else []
            if not last or len(last) >= self._how.unit or size + n_bytes > _UNIT_BYTES:
                units.append(_Unit([]))
                size = 0
            units[-1].positions.append(position)
            size += n_bytes
        return units

    def _show(self, total: int) -> None:
        if self._display is not None:
            self._display.update(["ray"], [self._done], [self._failed], total)


def _knock(address: str | None) -> None:
    """Raises an exception if nobody listens there: Ray itself waits for minutes."""
    named = address or ""
    place = urlsplit(named if "://" in named else f"//{named}")
    if place.hostname and place.port:
        socket.create_connection((place.hostname, place.port), _CONNECT).close()


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kind = type(error).__name__
    cause = getattr(error, "cause", None)
    if cause is not None:
        return f"{type(cause).__name__}: {cause}"
    return f"{kind}: {lines[0]}" if lines else kind
