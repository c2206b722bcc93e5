"""S3 on loopback for tests: moto's server, with faults on the way to it.

There is a bucket `bench`, and only who has the keys may use it: moto checks every signature with
botocore. Prints its address and the keys, and ends with its standard input. `POST /test/faults` takes a
JSON list of faults, each used once by the first request that fits:

    {"method": "PUT", "ends": "store.sqlite", "do": "busy"}

`busy`: 503 and nothing done. `lost`: done, and answered with 503. `broken`: the answer ends in the
middle. `hold`: waits for `POST /test/release`. `GET /test/seen` has the requests so far, `POST
/test/fill` puts a thousand and one objects into the bucket.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from io import BytesIO
from typing import Any

# The requests of `set_up` need no keys; all others do.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "4"

import boto3
from moto.core import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import WSGIRequestHandler, make_server

moto = DomainDispatcherApplication(create_backend_app)
lock = threading.Condition()
faults: list[dict[str, str]] = []
seen: list[str] = []
released = 0


def fault_for(method: str, path: str) -> str:
    for at, fault in enumerate(faults):
        if fault["method"] == method and path.endswith(fault["ends"]):
            return faults.pop(at)["do"]
    return ""


def answer(start: Any, status: str, body: bytes) -> list[bytes]:
    start(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


def app(environ: dict[str, Any], start: Any) -> Any:
    global released
    method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body = environ["wsgi.input"].read(length)
    environ["wsgi.input"] = BytesIO(body)
    if path == "/test/faults":
        with lock:
            faults.extend(json.loads(body))
        return answer(start, "200 OK", b"")
    if path == "/test/release":
        with lock:
            released += 1
            lock.notify_all()
        return answer(start, "200 OK", b"")
    if path == "/test/fill":
        bucket = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
        for i in range(1001):
            bucket.put_object("bench", f"many/{i:04} <&> é", b"")
        return answer(start, "200 OK", b"")
    if path == "/test/seen":
        with lock:
            return answer(start, "200 OK", json.dumps(seen).encode())
    with lock:
        fault = fault_for(method, path)
        status = [""]
        if fault == "hold":
            seen.append(f"held {path}")
            before = released
            lock.wait_for(lambda: released > before)
    if fault == "busy":
        with lock:
            seen.append(f"busy {method} {path}")
        return answer(start, "503 Slow Down", b"<Error><Code>SlowDown</Code></Error>")

    def note(line: str, headers: Any, info: Any = None) -> Any:
        status[0] = line
        if fault == "broken":
            # More is promised than comes.
            headers = [(n, v) for n, v in headers if n.lower() != "content-length"]
            headers.append(("Content-Length", "1000000"))
        if fault != "lost":
            start(line, headers)
        return lambda _: None

    done = b"".join(moto(environ, note))
    with lock:
        seen.append(f"{status[0].split()[0]} {method} {path}")
    if fault == "lost":
        return answer(start, "503 Slow Down", b"<Error><Code>SlowDown</Code></Error>")
    return [done[: len(done) // 2]] if fault == "broken" else [done]


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_: Any) -> None:
        pass


def set_up(url: str) -> dict[str, str]:
    """A bucket, and keys of somebody who may use it and no other."""
    anybody = {"endpoint_url": url, "region_name": "us-east-1",
               "aws_access_key_id": "x", "aws_secret_access_key": "x"}  # fmt: skip
    iam = boto3.client("iam", **anybody)
    iam.create_user(UserName="bench")
    # The second one is not there, and of a third one they may know nothing.
    names = [f"arn:aws:s3:::{name}" for name in ("bench", "bench/*", "absent", "absent/*")]
    statement = {"Effect": "Allow", "Action": "s3:*", "Resource": names}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_user_policy(UserName="bench", PolicyName="bench", PolicyDocument=policy)
    keys = iam.create_access_key(UserName="bench")["AccessKey"]
    boto3.client("s3", **anybody).create_bucket(Bucket="bench")
    return {"url": url, "id": keys["AccessKeyId"], "key": keys["SecretAccessKey"]}


server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(json.dumps(set_up(f"http://127.0.0.1:{server.server_port}")), flush=True)
sys.stdin.read()
os._exit(0)
