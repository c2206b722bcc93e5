"""A system behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from context_bench._native import DEFAULT_MODEL
from context_bench._native import OpenAIProxy as _OpenAIProxy

__all__ = ["OpenAIProxy"]


class OpenAIProxy(_OpenAIProxy):
    """A system behind an OpenAI-compatible endpoint.

    Args:
        base_url: Where it is, with or without ``/v1``.
        model: The model to ask for.
        name: What results call it; ``openai_proxy_<host>`` unless given.
        api_key: The key; the variable ``OPENAI_API_KEY`` unless given.
        system_prompt: A system message before all others.
        build_messages: A function from an example to messages, in place of ours.
        timeout: Seconds that one attempt may take.
        extra_body: Members of the request body; they replace ours.
        max_retries: Attempts after the first one.
        retry_base_delay: Seconds before the first retry; doubled with each.
        temperature, top_p, max_tokens, stop, seed: How answers are generated, as the
            API names it; what is not given is left to the endpoint. They are part of
            what stored answers are found by; ``generation`` holds them all.
        layout: Where the context of an example with a question goes: ``"system"`` (a
            message before the question), ``"user"`` (above the question, in one message)
            or ``"tool"`` (the result of a tool call).

    In a run its calls never hold the interpreter, unless ``build_messages`` is given.
    What is set later (``proxy.model = "other"``) counts from the next call or run on.
    """

    def __init__(
        self,
        base_url: str,
        model: str = DEFAULT_MODEL,
        name: str | None = None,
        api_key: str | None = None,
        system_prompt: str | None = None,
        build_messages: Callable[[dict[str, Any]], Sequence[Mapping[str, Any]]] | None = None,
        timeout: float = 300.0,
        extra_body: dict[str, Any] | None = None,
        max_retries: int = 3,
        retry_base_delay: float = 1.0,
        *,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        stop: str | Sequence[str] | None = None,
        seed: int | None = None,
        layout: str | None = None,
    ) -> None:
        super().__init__(
            base_url,
            model,
            name,
            api_key,
            system_prompt,
            build_messages,
            timeout,
            extra_body,
            max_retries,
            retry_base_delay,
            generation={
                "temperature": temperature,
                "top_p": top_p,
                "max_tokens": max_tokens,
                "stop": stop if stop is None or isinstance(stop, str) else list(stop),
                "seed": seed,
            },
            layout=layout,
        )
