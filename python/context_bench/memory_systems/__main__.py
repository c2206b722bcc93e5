"""``python -m context_bench.memory_systems NAME``: a memory as a child process of the program."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from context_bench.memory_systems.opening import ADAPTERS, open_memory
from context_bench.memory_systems.serving import own_streams, serve

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Serves a memory on stdin and stdout; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m context_bench.memory_systems",
        description="Serves a memory on stdin and stdout, as `context-bench memory` wants it.",
    )
    parser.add_argument(
        "memory", metavar="NAME", help=f"{', '.join(ADAPTERS)}, or module:Class of your own"
    )
    parser.add_argument("--relay", metavar="URL", help="the endpoint for all model calls")
    parser.add_argument("--model", help="the model to ask for")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE",
        help="another argument of its constructor; VALUE is JSON, or else a text",
    )  # fmt: skip
    parsed = parser.parse_args(arguments)
    requests, replies = own_streams()
    try:
        settings = dict(_setting(text) for text in parsed.set)
        # A memory of one's own may do without a relay.
        offered = {"relay_url": parsed.relay, "model": parsed.model}
        memory = open_memory(parsed.memory, offered=offered, **settings)
    except (ValueError, TypeError, ImportError, OSError) as error:
        # Whoever started this process reads the reason where a reply would be.
        failure = {"ok": False, "error": str(error)}
        replies.write(json.dumps(failure).encode("ascii") + b"\n")
        replies.flush()
        print(f"error: {error}", file=sys.stderr)
        return 1
    try:
        serve(memory, requests, replies)
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    finally:
        close = getattr(memory, "close", None)
        if callable(close):
            close()
    return 0


def _setting(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ValueError(f"`--set {text}`: write KEY=VALUE")
    try:
        return key, json.loads(value)
    except json.JSONDecodeError:
        return key, value


if __name__ == "__main__":
    sys.exit(main())
