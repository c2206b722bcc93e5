"""`docs/guide/first-hour.md` is run as it stands there: every command, with real endpoints.

With `CONTEXT_BENCH_UPDATE=1` the outputs on the page are written anew; look at them before
you keep them.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from kit import JsonHandler

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/guide/first-hour.md"
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/context-bench"
BLOCK = re.compile(r"```console\n(.*?)```", re.S)

CITIES = ["Aldren", "Brovik", "Cessla", "Dorring", "Eskvale", "Fenmoor",
          "Garth", "Hollin", "Istria", "Jorvald", "Kestrel", "Lindow"]  # fmt: skip
FILLER = "It has a market on Mondays and a bridge of stone. " * 6


def passage(i: int) -> str:
    """A text with the answer in its first half or, every third time, in its second."""
    told = f"The mayor of {CITIES[i]} is called Tamsin Okoro-{i + 1}. "
    return FILLER + told if i % 3 == 0 else told + FILLER


def reply(messages: list[dict[str, str]], shorten: bool) -> dict[str, Any]:
    """What a model says that finds names, and half of the context when a proxy cuts it."""
    context, question = messages[0]["content"], messages[-1]["content"]
    if shorten:
        words = context.split()
        context = " ".join(words[: len(words) // 2])
    city = re.search(r"mayor of (\w+)", question)
    found = re.search(rf"mayor of {city[1]} is called (\S+ \S+)\. ?", context) if city else None
    said = f"According to the text, the mayor of {city[1]} is {found[1]}." if city and found else ""
    said = said or "I do not know: the text does not say."
    prompt, completion = len(f"{context} {question}".split()), len(said.split())
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    usage["total_tokens"] = prompt + completion
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
    return {"object": "chat.completion", "choices": [choice], "usage": usage}


def handler(shorten: bool) -> type[JsonHandler]:
    class Handler(JsonHandler):
        def do_POST(self) -> None:
            self.reply(200, reply(self.body()["messages"], shorten))

        def do_GET(self) -> None:
            self.reply(200, {"object": "list", "data": [{"id": "my-model"}]})

    return Handler


@pytest.fixture
def endpoints() -> Iterator[dict[str, str]]:
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), handler(shorten)) for shorten in (False, True)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    direct, squeezed = (f"http://localhost:{server.server_address[1]}" for server in servers)
    yield {"http://localhost:8000": direct, "http://localhost:7878": squeezed}
    for server in servers:
        server.shutdown()


def commands(block: str) -> list[str]:
    """The commands of a block, each with its continued lines."""
    found: list[str] = []
    lines = iter(block.splitlines())
    for line in lines:
        if not line.startswith("$ "):
            continue
        command = line[2:]
        while command.endswith("\\"):
            command = command[:-1].rstrip() + " " + next(lines).strip()
        found.append(command)
    return found


#: What differs from run to run, and what stands for it when two outputs are compared.
VOLATILE: list[tuple[str, str]] = [
    (r"\b\d+m\d\ds\b|\b\d+(\.\d+)?(µs|ms|s)\b", "T"),
    (r"\d+(\.\d+)? s\b", "T"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?Z?( UTC)?", "DATE"),
    (r"\b\d{8}-\d{6}-[0-9a-z]+\b|\b[0-9a-f]{8,}\b|\b[0-9a-z]+-[0-9a-z]{4,}-?[0-9a-z]*\b(?= +\d{4}-)", "ID"),
    (r"─+", "─"),
    (r"-{4,}", "-"),
    (r"[ \t]+", " "),
]


def plain(text: str) -> str:
    for pattern, stands in VOLATILE:
        text = re.sub(pattern, stands, text)
    return "\n".join(line.strip() for line in text.strip().splitlines())


def test_the_first_hour(endpoints: dict[str, str], tmp_path: Path) -> None:
    with open(tmp_path / "questions.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "prompt", "passage", "expected"])
        for i, city in enumerate(CITIES):
            question = f"Who is the mayor of {city}?"
            writer.writerow([f"q{i + 1}", question, passage(i), f"Tamsin Okoro-{i + 1}"])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CONTEXT_BENCH")}
    environment |= {"COLUMNS": "80", "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", "TZ": "UTC"}
    environment.pop("OPENAI_API_KEY", None)

    def said(command: str) -> str:
        for written, real in endpoints.items():
            command = command.replace(written, real)
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, text=True, timeout=600,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        text = done.stdout
        for written, real in endpoints.items():
            text = text.replace(real, written).replace(real.replace("localhost", "127.0.0.1"), written)
        return text.replace(str(tmp_path), "")

    def checked(match: re.Match[str]) -> str:
        block, new = match[1], ""
        sources = re.split(r"(?m)^(?=\$ )", block)
        for source in filter(None, sources):
            (command,) = commands(source)
            typed = re.match(r"\$ (?:.*\\\n)*.*\n?", source)
            assert typed
            shown, output = source[typed.end() :], said(command)
            if update:
                new += typed[0].rstrip("\n") + "\n" + output.rstrip() + ("\n" if output.strip() else "")
            else:
                assert plain(output) == plain(shown), command
        return f"```console\n{new or block}```"

    update = os.environ.get("CONTEXT_BENCH_UPDATE") == "1"
    check: Callable[[re.Match[str]], str] = checked
    page = BLOCK.sub(check, PAGE.read_text())
    if update:
        PAGE.write_text(page)
    assert len(BLOCK.findall(page)) >= 9
