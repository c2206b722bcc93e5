"""A proxy for tests: it turns every role of a message into `user` and relays the rest."""

import http.client
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

UPSTREAM = urlsplit(sys.argv[2])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        for message in body.get("messages", []):
            message["role"] = "user"
        upstream = http.client.HTTPConnection(UPSTREAM.netloc, timeout=20)
        headers = {"content-type": "application/json", "connection": "close"}
        path = UPSTREAM.path.rstrip("/") + self.path
        upstream.request("POST", path, json.dumps(body), headers)
        try:
            answer = upstream.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length"):
                self.send_header(name, value)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
