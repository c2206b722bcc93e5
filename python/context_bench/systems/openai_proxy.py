"""``OpenAIProxy``: a system behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from context_bench._native import DEFAULT_MODEL
from context_bench._native import OpenAIProxy as _OpenAIProxy

__all__ = ["OpenAIProxy"]


class OpenAIProxy(_OpenAIProxy):
    """A system behind an endpoint: OpenAI-compatible unless ``api`` says otherwise.

    Args:
        base_url: The address of the endpoint, with or without ``/v1``.
        model: The model to ask for.
        name: The name shown in results; default: ``openai_proxy_<host>``.
        api_key: The API key; default: the environment variable ``OPENAI_API_KEY``, or
            ``ANTHROPIC_API_KEY`` with ``api="anthropic"``.
        system_prompt: A system message before all other messages.
        build_messages: A function from an example to messages, instead of the default ones.
        timeout: Time limit of one attempt, in seconds.
        extra_body: Members of the request body, which override all others.
        max_retries: Number of retries after a failed attempt.
        retry_base_delay: Seconds before the first retry; doubled with each further one.
        temperature, top_p, max_tokens, stop, seed: Generation settings of the API; those that
            are not given are left to the endpoint. Stored answers are only reused with the same
            settings. The attribute ``generation`` has all of them.
        layout: Where the context goes when there is a question: ``"system"`` (its own message
            before the question), ``"user"`` (in the message of the question) or ``"tool"`` (as
            the result of a tool call).
        api: The format in which the endpoint is asked: ``"openai"`` (chat completions; the
            default), ``"responses"`` (OpenAI's Responses) or ``"anthropic"`` (Anthropic's
            Messages; ``max_tokens`` is 4096 unless given, since the API demands a number).
            Everything but ``extra_body`` is said in the words of chat completions.

    In a run, calls do not hold the interpreter unless ``build_messages`` is given. Changed
    attributes (``proxy.model = "other"``) apply from the next call or run.
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
        api: str | None = None,
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
            api=api,
        )
