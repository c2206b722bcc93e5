"""An endpoint that behaves as a model would with which a memory works.

It needs no model: asked for facts it gives the lines of the conversation, asked a question it gives
the line of memory that shares most words with it, and its vectors count words.
"""

from __future__ import annotations

import json
import re
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

from kit import JsonHandler

DIMENSIONS = 96

#: Three conversations that say the same kind of thing about three people.
CONVERSATIONS: list[dict[str, Any]] = [
    {
        "id": person,
        "dataset": "people",
        "turns": [
            {"role": "user", "content": f"My name is {person}."},
            {"role": "assistant", "content": f"Nice to meet you, {person}!"},
            {"role": "user", "content": f"I live in {city} and my dog is called {dog}."},
        ],
        "qa_pairs": [
            {"question": "Where do I live?", "answer": city, "type": "single_hop"},
            {"question": "How is my dog called?", "answer": dog, "type": "single_hop"},
        ],
    }
    for person, city, dog in (("Ann", "Oslo", "Rex"), ("Bob", "Lima", "Fido"), ("Cleo", "Cairo", "Wolf"))
]


class MemoryRelay(ThreadingHTTPServer):
    """Answers chat completions and embeddings, and records what it is asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        #: The last message of every request for a completion, in order.
        self.asked: list[str] = []
        self.n_embeddings = 0
        self.models: set[str] = set()


@contextmanager
def memory_relay() -> Iterator[MemoryRelay]:
    with MemoryRelay() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def vector(text: str) -> list[float]:
    numbers = [0.0] * DIMENSIONS
    for word in words(text):
        numbers[zlib.crc32(word.encode()) % DIMENSIONS] += 1.0
    numbers[0] += 0.01  # no text is without direction
    return numbers


class _Handler(JsonHandler):
    server: MemoryRelay

    def do_POST(self) -> None:
        body = self.body()
        self.server.models.add(body["model"])
        if self.path == "/v1/embeddings":
            given = body["input"]
            texts = [given] if isinstance(given, str) else given
            self.server.n_embeddings += len(texts)
            data = [
                {"object": "embedding", "index": i, "embedding": vector(text)}
                for i, text in enumerate(texts)
            ]
            usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
            self.reply(200, {"object": "list", "data": data, "model": body["model"], "usage": usage})
            return
        request = body["messages"][-1]["content"]
        self.server.asked.append(request)
        facts = "response_format" in body
        content = json.dumps({"memory": _facts(request)}) if facts else _answer(request)
        message = {"role": "assistant", "content": content}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.reply(
            200,
            {"id": "r", "object": "chat.completion", "created": 0, "model": body["model"],
             "choices": [choice], "usage": usage},
        )  # fmt: skip


def _facts(request: str) -> list[dict[str, str]]:
    """The new messages of mem0's request, each as a fact."""
    messages = request.partition("## New Messages")[2].partition("\n## ")[0]
    said = re.findall(r"(?:user|assistant): (.+)", messages)
    return [{"id": str(i), "text": text} for i, text in enumerate(said)]


def _answer(request: str) -> str:
    """The line of memory that shares most words with the question."""
    question = words(request.partition("Question:")[2])
    lines = [line[2:] for line in request.splitlines() if line.startswith("- ")]
    return max(lines, key=lambda line: len(words(line) & question), default="I do not know.")
