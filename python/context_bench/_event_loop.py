"""The event loop that awaits the ``async`` code of a run."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

_Callback = Callable[[Any, "BaseException | None"], None]


class EventLoop:
    """An event loop on its own thread, which starts when it is first needed.

    The calling thread may already have a running loop, as in notebooks; a separate loop never
    waits for that one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, awaitable: Awaitable[Any], callback: _Callback) -> None:
        """Awaits something; ``callback`` gets its value or its exception."""
        import asyncio  # imported late: it is slow to import, and most runs do not need it

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
        asyncio.run_coroutine_threadsafe(_await(awaitable, callback), loop)

    def close(self) -> None:
        """Cancels everything that is still awaited and ends the thread."""
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
            # Cancelled tasks get a chance to clean up before the loop stops.
            loop.call_later(0.01, loop.stop)

        loop.call_soon_threadsafe(stop)
        thread.join(timeout=1.0)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _await(awaitable: Awaitable[Any], callback: _Callback) -> None:
    try:
        value = await awaitable
    except BaseException as error:
        callback(None, error)
        if not isinstance(error, Exception):
            raise
    else:
        callback(value, None)
