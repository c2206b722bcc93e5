"""A chat endpoint that counts what reaches it, to compare proxies in front of it.

`/a/NAME/v1/chat/completions` counts for the arm NAME. The answer is searched for in the request:
the question names one record (`ord-10437`), and the text that follows that name elsewhere in the
messages is the answer. So an answer is right if the record got through. `usage` counts the tokens
that arrived (cl100k_base over every text of the messages, the arguments of calls and the declared
tools, plus 4 for each message), not those that the client sent.

With `relay`, another endpoint answers, and its `usage` counts.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

RECORD = re.compile(r"\b(?:ord|host|req|doc)-\d{5}\b")
# The longest record after its name, in characters of indented JSON.
WINDOW = 420


def vocabularies() -> str:
    """The vocabularies that `litellm` ships, so that `tiktoken` need not download them."""
    package = importlib.util.find_spec("litellm")
    if package is None or package.origin is None:
        raise SystemExit("the package `litellm` is not installed\nhint: `make compare-proxies` installs it")
    return str(Path(package.origin).parent / "litellm_core_utils" / "tokenizers")


def texts(body: dict[str, Any]) -> list[str]:
    """Every text of a request that a model reads: one per message, and the tools."""
    found = []
    for message in body.get("messages", []):
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
        calls = message.get("tool_calls")
        found.append((content or "") + (json.dumps(calls) if calls else ""))
    if body.get("tools"):
        found.append(json.dumps(body["tools"]))
    return found


def found_in(messages: list[str]) -> str:
    """The text after the record that the question names, wherever that is in the messages."""
    asking = next((text for text in messages if text.rstrip().endswith("?")), "").rstrip()
    question = asking.splitlines()[-1].strip() if asking else ""
    named = RECORD.findall(question)
    if not named:
        return "the question names no record"
    rest = "\n".join(text.replace(question, "") for text in messages)
    place = rest.find(named[-1])
    return "not found" if place < 0 else rest[place : place + WINDOW]


class Upstream:
    """A server on loopback that runs until `close`."""

    def __init__(self, relay: str | None = None) -> None:
        os.environ["TIKTOKEN_CACHE_DIR"] = vocabularies()
        import tiktoken

        self.encoding = tiktoken.get_encoding("cl100k_base")
        self.relay = relay
        self.lock = threading.Lock()
        self.arms: dict[str, dict[str, int]] = {}
        self.bodies: dict[str, list[dict[str, Any]]] = {}
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                received = self.rfile.read(int(self.headers.get("content-length", 0)))
                if not self.path.split("?")[0].endswith("/v1/chat/completions"):
                    return self.reply(404, {"error": {"message": f"no route {self.path}", "type": "not_found"}})
                status, document = upstream.answer(self.path, json.loads(received), len(received))
                self.reply(status, document)

            def do_GET(self) -> None:
                self.reply(200, {"object": "list", "data": []})

            def reply(self, status: int, document: dict[str, Any]) -> None:
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def address(self, arm: str) -> str:
        return f"{self.url}/a/{arm}"

    def answer(self, path: str, body: dict[str, Any], size: int) -> tuple[int, dict[str, Any]]:
        arm = path.split("/")[2] if path.startswith("/a/") else "unnamed"
        messages = texts(body)
        if self.relay is None:
            said = found_in(messages)
            prompt = sum(len(self.encoding.encode(text, disallowed_special=())) for text in messages)
            usage = {
                "prompt_tokens": prompt + 4 * len(body.get("messages", [])),
                "completion_tokens": len(self.encoding.encode(said, disallowed_special=())),
            }
            usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
            choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
            status, document = 200, {"id": "counted", "object": "chat.completion", "created": 0}
            document |= {"model": body.get("model", ""), "choices": [choice], "usage": usage}
        else:
            status, document = self.relayed(body)
            usage = document.get("usage") or {}
        with self.lock:
            seen = self.arms.setdefault(arm, {"requests": 0, "bytes": 0, "prompt_tokens": 0, "completion_tokens": 0})
            seen["requests"] += 1
            seen["bytes"] += size
            seen["prompt_tokens"] += usage.get("prompt_tokens", 0)
            seen["completion_tokens"] += usage.get("completion_tokens", 0)
            self.bodies.setdefault(arm, []).append(body)
        return status, document

    def relayed(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        request = urllib.request.Request(
            f"{self.relay}/v1/chat/completions",
            data=json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=600) as reply:
                return reply.status, json.loads(reply.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"{}")

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
