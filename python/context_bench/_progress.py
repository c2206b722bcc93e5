"""Progress of a run: one line on stderr, in terminals and notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TextIO

#: Seconds between lines where a line cannot be overwritten.
_EVERY = 10.0
_WIDTH = 24


class Display:
    """Shows finished rows, failures and the remaining time."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._began = time.monotonic()
        self._printed = self._began
        self._rewrites = _can_rewrite(self._stream)
        self._width = 0

    def update(
        self,
        systems: list[str],
        done: list[int],
        failed: list[int],
        planned: int | None,
        timeouts: Sequence[int] = (),
        reused: int = 0,
    ) -> None:
        """Shows the progress of each system."""
        if not systems:
            return
        seconds = time.monotonic() - self._began
        text = _line(systems, done, failed, planned, seconds, sum(timeouts), reused)
        if self._rewrites:
            self._write("\r" + text.ljust(self._width))
            self._width = len(text)
        elif time.monotonic() - self._printed >= _EVERY:
            self._printed = time.monotonic()
            self._write(text + "\n")

    def close(self) -> None:
        """Removes the line."""
        if self._rewrites and self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width = 0

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # A closed stderr must not end the run.
            self._rewrites = False


def _can_rewrite(stream: TextIO) -> bool:
    try:
        if stream.isatty():
            return True
    except (AttributeError, ValueError):
        return False
    # Notebooks are not terminals, but can overwrite lines.
    return type(stream).__module__.startswith("ipykernel")


def _line(
    systems: list[str],
    done: list[int],
    failed: list[int],
    planned: int | None,
    seconds: float,
    timeouts: int = 0,
    reused: int = 0,
) -> str:
    n, bad = sum(done), sum(failed)
    name = systems[0] if len(systems) == 1 else f"{len(systems)} systems"
    parts = [name]
    if planned:
        total = planned * len(systems)
        share = min(n / total, 1.0)
        filled = round(share * _WIDTH)
        parts.append("█" * filled + "░" * (_WIDTH - filled))
        parts.append(f"{n}/{total}")
        parts.append(_time(seconds))
        # Reused answers arrive at once and say nothing about the rest.
        asked = n - reused
        if asked > 0 and n < total:
            parts.append(f"{_time(seconds * (total - n) / asked)} left")
    else:
        parts.append(f"{n} rows")
        parts.append(_time(seconds))
    if bad:
        parts.append(f"{bad} failed")
    if timeouts:
        parts.append(f"{timeouts} timeout{'' if timeouts == 1 else 's'}")
    return "  ".join(parts)


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"
