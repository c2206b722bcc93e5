"""Built-in systems."""

from __future__ import annotations

from context_bench._native import NativeSystem
from context_bench.systems.claude_cli import ClaudeCLI
from context_bench.systems.openai_proxy import OpenAIProxy

__all__ = ["ClaudeCLI", "OpenAIProxy", "builtin_system"]


def builtin_system(
    reference: str, *, name: str | None = None, relay: OpenAIProxy | None = None
) -> NativeSystem:
    """Returns a built-in context layer.

    ``builtin_system("truncate:ratio=0.5")`` shortens the context and lets the built-in baseline
    reader answer.

    Args:
        reference: The layer as on the command line, ``NAME[:key=value,...]``.
        name: The name shown in results.
        relay: An endpoint that answers instead of the baseline reader.
    """
    return NativeSystem(reference, name=name, relay=relay)
