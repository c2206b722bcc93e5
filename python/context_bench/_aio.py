"""The thread on which the ``async`` code of a run is awaited."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

Settle = Callable[[Any, "BaseException | None"], None]


class Loop:
    """An event loop on a thread of its own, started when it is first needed.

    A run may be called from a thread that has a running loop already (notebooks
    do); a loop of its own never waits for that one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, awaitable: Awaitable[Any], settle: Settle) -> None:
        """Awaits something; ``settle`` gets its value or its exception."""
        import asyncio  # the heaviest import of all, and mostly for nothing

        with self._lock:
            if self._closed:
                raise RuntimeError("the run is over")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run, args=(self._loop,), name="context-bench-async", daemon=True
                )
                self._thread.start()
            loop = self._loop
        asyncio.run_coroutine_threadsafe(_settled(awaitable, settle), loop)

    def close(self) -> None:
        """Cancels what is still awaited and ends the thread."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return

        def stop() -> None:
            import asyncio

            for task in asyncio.all_tasks(loop):
                task.cancel()
            # Cancelled tasks have a turn to clean up before the loop stops.
            loop.call_later(0.01, loop.stop)

        loop.call_soon_threadsafe(stop)
        thread.join(timeout=1.0)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _settled(awaitable: Awaitable[Any], settle: Settle) -> None:
    try:
        value = await awaitable
    except BaseException as error:
        settle(None, error)
        if not isinstance(error, Exception):
            raise
    else:
        settle(value, None)
