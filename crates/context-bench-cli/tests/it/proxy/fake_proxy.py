"""A proxy that relays, or misbehaves as its mode says. Python's standard library only.

    fake_proxy.py PORT UPSTREAM MODE
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, UPSTREAM, MODE = int(sys.argv[1]), urllib.parse.urlsplit(sys.argv[2]), sys.argv[3]
CALLS = 0


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if MODE == "never-ready":
            return self.reply(503, b"not yet")
        self.reply(200, json.dumps({"status": "ready", "mode": MODE, "environment": sorted(os.environ)}).encode())

    def do_POST(self) -> None:
        global CALLS
        CALLS += 1
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if MODE == "dies-first" or (MODE == "dies" and CALLS > 2):
            say("fatal: out of ideas")
            os._exit(3)
        if MODE == "hangs" and CALLS > 1:
            time.sleep(3600)
        if MODE == "prints-secrets":
            say(f"authorization: {self.headers.get('authorization')} environment: {dict(os.environ)}")
        if MODE == "shortens":
            document = json.loads(body)
            for message in document["messages"]:
                if isinstance(message.get("content"), str):
                    message["content"] = message["content"][:200]
            body = json.dumps(document).encode()
        if MODE == "counts":
            # It keeps state, and what it sends shows which.
            document = json.loads(body)
            document["messages"][-1]["content"] += f" [process {os.getpid()} call {CALLS}]"
            body = json.dumps(document).encode()
        upstream = http.client.HTTPConnection(UPSTREAM.hostname or "", UPSTREAM.port or 80, timeout=600)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection", "content-length")}
        upstream.request("POST", UPSTREAM.path + self.path, body, headers)
        reply = upstream.getresponse()
        answer = reply.read()
        upstream.close()
        if MODE in ("lies", "lies-short", "dies-inside") and CALLS % 2 == 0:
            # More than there is, or less, and then nothing.
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer) + (-20 if MODE == "lies-short" else 100)))
            self.end_headers()
            self.wfile.write(answer)
            if MODE == "dies-inside" and CALLS > 6:
                say("fatal: in the middle of an answer")
                os._exit(4)
            self.close_connection = True
            return
        self.reply(reply.status, answer, reply.getheader("content-type") or "application/json")

    def reply(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


if MODE == "dies-at-once":
    say("fatal: the configuration is not to my taste")
    sys.exit(7)
if MODE == "grandchildren":
    # One in a session of its own, and one that an orphaned child of ours started.
    sleeper = [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(3600)"]
    first = subprocess.Popen(sleeper, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    starter = "import subprocess, sys; print(subprocess.Popen(sys.argv[1:], start_new_session=True, stdout=subprocess.DEVNULL).pid)"
    second = subprocess.run([sys.executable, "-c", starter, *sleeper], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    say(f"pids {os.getpid()} {first.pid} {second}")
server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
server.daemon_threads = True
server.serve_forever()
