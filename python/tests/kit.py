"""Helpers of several test modules."""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

EXAMPLES = [
    {"id": 1, "context": "Paris is the capital of France.", "question": "Capital of France?",
     "answer": "Paris", "dataset": "geo"},
    {"id": "b", "context": "Rome is the capital of Italy.", "question": "Capital of Italy?",
     "answer": "Rome", "dataset": "geo"},
    {"id": 3, "context": "2 + 2 = 4.", "question": "2 + 2?", "answer": "Paris"},
]  # fmt: skip


class Counting(ThreadingHTTPServer):
    """An endpoint that records its requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.bodies: list[dict[str, Any]] = []
        #: When each request arrived, and with which keys.
        self.times: list[float] = []
        self.keys: set[str | None] = set()
        self.delay = 0.0
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class JsonHandler(BaseHTTPRequestHandler):
    """Reads and answers JSON, without logging."""

    protocol_version = "HTTP/1.1"
    # Otherwise the body waits until the head is acknowledged.
    disable_nagle_algorithm = True

    def body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def reply(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


class _Answer(JsonHandler):
    server: Counting

    def do_POST(self) -> None:
        self.server.times.append(time.monotonic())
        self.server.keys.add(self.headers["Authorization"])
        self.server.bodies.append(self.body())
        time.sleep(self.server.delay)
        message = {"role": "assistant", "content": "Paris"}
        usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
        self.reply(200, {"choices": [{"message": message}], "usage": usage})
