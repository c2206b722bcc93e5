"""Systems that come with the package."""

from __future__ import annotations

from context_bench._native import NativeSystem
from context_bench.systems.claude_cli import ClaudeCLI
from context_bench.systems.openai_proxy import OpenAIProxy

__all__ = ["ClaudeCLI", "OpenAIProxy", "builtin_system"]


def builtin_system(
    reference: str, *, name: str | None = None, relay: OpenAIProxy | None = None
) -> NativeSystem:
    """A context layer of the program, written as on its command line.

    ``builtin_system("truncate:ratio=0.5")`` shortens the context and lets the
    built-in reader answer; with ``relay`` an endpoint answers. Native all through.
    """
    return NativeSystem(reference, name=name, relay=relay)
