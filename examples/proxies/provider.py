"""A chat endpoint that stands for the provider: it finds the answer in the request.

The question names one record (`ord-10437`), and the text that follows that name elsewhere in the
messages is the answer. So an answer is right if the record got through. `usage` counts the tokens
that arrived (cl100k_base over every text of the messages, the arguments of calls and the declared
tools, plus 4 for each message), not those that the client sent.

    python provider.py --port 8700
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import threading
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


class Provider:
    """A server on loopback that runs until `close`."""

    def __init__(self, port: int = 0) -> None:
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", vocabularies())
        import tiktoken

        self.encoding = tiktoken.get_encoding("cl100k_base")
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                received = self.rfile.read(int(self.headers.get("content-length", 0)))
                if not self.path.split("?")[0].endswith("/v1/chat/completions"):
                    return self.reply(404, {"error": {"message": f"no route {self.path}", "type": "not_found"}})
                self.reply(200, provider.answer(json.loads(received)))

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

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        messages = texts(body)
        said = found_in(messages)
        prompt = sum(len(self.encoding.encode(text, disallowed_special=())) for text in messages)
        prompt += 4 * len(body.get("messages", []))
        completion = len(self.encoding.encode(said, disallowed_special=()))
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        document = {"id": "found", "object": "chat.completion", "created": 0, "model": body.get("model", "")}
        return document | {"choices": [choice], "usage": usage}

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Answer questions about records that are in the request")
    parser.add_argument("--port", type=int, default=8700)
    provider = Provider(parser.parse_args().port)
    print(f"answers at {provider.url}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
