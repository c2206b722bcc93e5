"""``ClaudeCLI``: the program ``claude`` as a system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["ClaudeCLI"]


class ClaudeCLI:
    """Runs the program ``claude`` in print mode, once per example.

    If the program times out or exits with an error, the row fails with that reason.
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
        """Everything that decides the answers; ``None`` with ``build_prompt``, whose code
        cannot be identified."""
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
            raise TimeoutError(f"`claude` did not answer within {self.timeout} s") from None
        if done.returncode != 0:
            output = (done.stderr or done.stdout).strip()[-500:]
            raise RuntimeError(f"`claude` exited with code {done.returncode}: {output}")
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
