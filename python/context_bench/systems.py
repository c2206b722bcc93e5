"""Systems that come with the package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from context_bench._native import NativeSystem
from context_bench._native import OpenAIProxy as _OpenAIProxy

__all__ = ["ClaudeCLI", "OpenAIProxy", "builtin_system"]


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

    In a run its calls never hold the interpreter, unless ``build_messages`` is given.
    What is set later (``proxy.model = "other"``) counts from the next call or run on.
    """

    def __init__(
        self,
        base_url: str,
        model: str = "gpt-3.5-turbo",
        name: str | None = None,
        api_key: str | None = None,
        system_prompt: str | None = None,
        build_messages: Callable[[dict[str, Any]], Sequence[Mapping[str, Any]]] | None = None,
        timeout: float = 300.0,
        extra_body: dict[str, Any] | None = None,
        max_retries: int = 3,
        retry_base_delay: float = 1.0,
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
        )


def builtin_system(
    reference: str, *, name: str | None = None, relay: OpenAIProxy | None = None
) -> NativeSystem:
    """A context layer of the program, written as on its command line.

    ``builtin_system("truncate:ratio=0.5")`` shortens the context and lets the
    built-in reader answer; with ``relay`` an endpoint answers. Native all through.
    """
    return NativeSystem(reference, name=name, relay=relay)


class ClaudeCLI:
    """Runs the program ``claude`` in print mode once per example.

    A call that takes too long, or that the program ends with an error, is a failed
    row with its reason, never an answer.
    """

    def __init__(
        self,
        name: str = "claude",
        model: str | None = None,
        allowed_tools: Sequence[str] | str | None = None,
        system_prompt: str | None = None,
        max_turns: int | None = None,
        timeout: float = 120.0,
        build_prompt: Callable[[dict[str, Any]], str] | None = None,
    ) -> None:
        self.name = name
        self.model = model
        self.allowed_tools = allowed_tools
        self.system_prompt = system_prompt
        self.max_turns = max_turns
        self.timeout = timeout
        self.build_prompt = build_prompt

    @property
    def cache_key(self) -> dict[str, Any] | None:
        """What decides the answers; prompts made by code cannot be told apart."""
        if self.build_prompt is not None:
            return None
        return {
            "model": self.model,
            "tools": self._tools(),
            "system_prompt": self.system_prompt,
            "max_turns": self.max_turns,
        }

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Asks ``claude`` about one example."""
        import subprocess

        try:
            done = subprocess.run(
                self._command(),
                input=self._prompt(example),
                capture_output=True,
                text=True,
                encoding="utf-8",
                timeout=self.timeout,
                check=False,
            )
        except FileNotFoundError:
            raise RuntimeError(
                "the program `claude` was not found\n"
                "hint: npm install -g @anthropic-ai/claude-code"
            ) from None
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"no answer of `claude` within {self.timeout} s") from None
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()[-500:]
            raise RuntimeError(f"`claude` ended with code {done.returncode}: {said}")
        return {**example, "response": done.stdout.strip()}

    def _tools(self) -> str | None:
        tools = self.allowed_tools
        return tools if tools is None or isinstance(tools, str) else ",".join(tools)

    def _command(self) -> list[str]:
        command = ["claude", "-p", "--print"]
        settings = {
            "--model": self.model,
            "--system-prompt": self.system_prompt,
            "--allowedTools": self._tools(),
            "--max-turns": None if self.max_turns is None else str(self.max_turns),
        }
        for flag, value in settings.items():
            if value is not None:
                command += [flag, value]
        return command

    def _prompt(self, example: dict[str, Any]) -> str:
        if self.build_prompt is not None:
            return self.build_prompt(example)
        context, question = example.get("context", ""), example.get("question")
        if not question:
            return str(context)
        return f"{context}\n\nQuestion: {question}\n\nAnswer concisely."
