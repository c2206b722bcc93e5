"""A limit that all workers of a run share: an actor that hands out leases."""

from __future__ import annotations

import threading
import time
from typing import Any

from context_bench._native import NativeLeases
from context_bench.distributed._ray import ray

#: Seconds of the rate in one lease. Within any second at most this share leaves more.
_LEASE = 0.05
#: How long a worker that has nothing to send waits before it looks again.
_IDLE = 0.005

NAMESPACE = "context-bench"


class Quota:
    """Hands out the requests of a rate, a few at a time. A lease that is lost with its worker
    counts as used, so the limit holds whatever happens."""

    def __init__(self, rps: float) -> None:
        self._rps = rps
        self._until = 0.0

    def lease(self, wanted: int) -> tuple[int, float]:
        """Returns how many requests may leave, and in how many seconds."""
        granted = max(1, min(wanted, int(self._rps * _LEASE)))
        now = time.monotonic()
        start = max(self._until, now)
        self._until = start + granted / self._rps
        return granted, start - now


class Feeder:
    """Takes leases for the requests of this process while they wait."""

    def __init__(self, name: str) -> None:
        self.leases = NativeLeases()
        self._quota: Any = ray().get_actor(name, namespace=NAMESPACE)
        self._ended = threading.Event()
        #: Why no request may leave any more.
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._feed, name="quota", daemon=True)

    def __enter__(self) -> Feeder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _feed(self) -> None:
        try:
            while not self._ended.is_set():
                waiting = self.leases.waiting()
                if waiting == 0:
                    self._ended.wait(_IDLE)
                    continue
                granted, seconds = ray().get(self._quota.lease.remote(waiting))
                if seconds > 0:
                    self._ended.wait(seconds)
                self.leases.grant(granted)
        except Exception as error:
            # Without the quota nothing more may be sent; the task says why it ended.
            self.failure = error
