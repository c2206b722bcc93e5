"""`make compare-proxies`: compares two real proxies, kompact and headroom, with no proxy.

Starts an upstream on loopback that counts what reaches it (counting_upstream.py) and a process of
each proxy in front of it, then runs `context-bench run` with three arms over questions about long
tool outputs (tool_outputs.py). Afterwards it prints what the upstream received from each arm, to
compare with the table. The findings are in docs/guide/proxies.md. All processes end with this
program.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import counting_upstream
import tool_outputs
from small_model import NAME as SMALL_MODEL
from small_model import wait_until_healthy

ROOT = Path(__file__).resolve().parents[1]

# No model has these names; the proxies choose a tokenizer and a context window by them.
MODEL = "gpt-4-turbo"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def process(line: list[str], log: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a child process in its own group, and ends the whole group afterwards."""
    with log.open("wb") as output:
        child = subprocess.Popen(
            line, stdout=output, stderr=output, stdin=subprocess.DEVNULL, start_new_session=True, env=os.environ | environment
        )
    try:
        yield child
    finally:
        for kind in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, kind)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(5)
                break


def ready(child: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Waits for a health page. A prompt would not do: kompact behaves differently after a short one."""
    deadline = time.monotonic() + 180
    while True:
        with contextlib.suppress(SystemExit):
            return wait_until_healthy(url, 1)
        if child.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"{shlex.join(map(str, child.args))} is not ready; its log:\n{log.read_text()[-2000:]}")  # type: ignore[arg-type]


@contextlib.contextmanager
def kompact(upstream: str, folder: Path) -> Iterator[str]:
    port, log = free_port(), folder / "kompact.log"
    line = [str(Path(sys.executable).parent / "kompact"), "proxy", "--host", "127.0.0.1", "--port", str(port)]
    line += ["--no-otel", "--openai-base-url", upstream]
    with process(line, log, {}) as child:
        ready(child, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def headroom(upstream: str, folder: Path, mode: str) -> Iterator[str]:
    """Runs headroom without its answer cache and rate limit, which would be measured instead."""
    port, log = free_port(), folder / "headroom.log"
    line = [str(Path(sys.executable).parent / "headroom"), "proxy", "--host", "127.0.0.1", "--port", str(port)]
    line += ["--openai-api-url", upstream, "--anthropic-api-url", upstream, "--mode", mode]
    line += ["--no-cache", "--no-rate-limit"]
    line += ["--no-subscription-tracking", "--stateless", "--retry-max-attempts", "1"]
    home = folder / "headroom-home"
    home.mkdir(exist_ok=True)
    environment = {"HEADROOM_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "HOME": str(home)}
    environment |= {"TIKTOKEN_CACHE_DIR": counting_upstream.vocabularies(), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with process(line, log, environment) as child:
        ready(child, f"http://127.0.0.1:{port}/readyz", log)
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def small_model(python: Path, folder: Path) -> Iterator[str]:
    port, log = free_port(), folder / "model.log"
    line = [str(python), str(ROOT / "scripts/small_model.py"), "--port", str(port)]
    with process(line, log, {}) as child:
        ready(child, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}"


ARMS = ("direct", "kompact", "headroom")


def seen(upstream: counting_upstream.Upstream, rows: list[dict[str, Any]]) -> str:
    """What reached the upstream from each arm, beside the sum of `usage` in the program's rows."""
    lines = [f"{'arm':<10}{'requests':>9}{'bytes':>12}{'prompt tokens':>15}{'of direct':>11}{'in the rows':>13}"]
    for arm in ARMS:
        counts = upstream.arms.get(arm, {"requests": 0, "bytes": 0, "prompt_tokens": 0})
        base = upstream.arms.get("direct", counts)["prompt_tokens"] or 1
        told = sum((row["metadata"] or {}).get("prompt_tokens", 0) for row in rows if row["system"] == arm)
        line = f"{arm:<10}{counts['requests']:>9,}{counts['bytes']:>12,}{counts['prompt_tokens']:>15,}"
        lines.append(f"{line}{counts['prompt_tokens'] / base:>11.1%}{told:>13,}")
    return "\n".join(lines)


def by_kind(rows: list[dict[str, Any]]) -> str:
    """Mean prompt tokens of each kind of tool output, and the share of right answers."""
    kinds = dict.fromkeys(row["example_id"].rsplit("-", 1)[0] for row in rows)
    lines = [f"{'kind':<10}" + "".join(f"{arm:>22}" for arm in ARMS)]
    for kind in kinds:
        line = f"{kind:<10}"
        for arm in ARMS:
            mine = [row for row in rows if row["system"] == arm and row["example_id"].startswith(f"{kind}-")]
            mine = [row for row in mine if "prompt_tokens" in (row["metadata"] or {})]
            if mine:
                tokens = sum(row["metadata"]["prompt_tokens"] for row in mine) / len(mine)
                right = sum(row["scores"]["contains"] for row in mine) / len(mine)
                line += f"{f'{tokens:,.0f} ({right:.0%} right)':>22}"
        lines.append(line)
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare kompact and headroom with nothing in front of an upstream")
    parser.add_argument("--program", type=Path, default=ROOT / "target/debug/context-bench")
    parser.add_argument("--upstream", choices=("counting", "model"), default="counting", help="`model` lets a small real model answer")
    parser.add_argument("--model-python", type=Path, default=ROOT / "target/model-venv/bin/python")
    parser.add_argument("--layout", choices=tool_outputs.LAYOUTS, default="tool", help="where the tool output goes in a request")
    parser.add_argument("-n", "--count", type=int, help="number of questions; default: 40, or 8 with a model")
    parser.add_argument("--size", type=float, help="share of the records in a tool output; default: 1, or 0.2 with a model")
    parser.add_argument("--kind", choices=[kind.__name__ for kind in tool_outputs.KINDS], help="use only this kind of tool output")
    parser.add_argument("--mode", choices=("cache", "token"), default="cache", help="mode of headroom; its default is `cache`")
    parser.add_argument("--output", default="table", help="format of the results")
    parser.add_argument("--folder", type=Path, default=ROOT / "target/compare-proxies", help="folder for questions and logs")
    arguments = parser.parse_args()
    with_model = arguments.upstream == "model"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    folder = arguments.folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    dataset = folder / "questions.jsonl"
    asked = tool_outputs.examples(
        arguments.count or (8 if with_model else 40), arguments.layout, arguments.size or (0.2 if with_model else 1), arguments.kind
    )
    dataset.write_text("".join(json.dumps(example) + "\n" for example in asked))

    with contextlib.ExitStack() as started:
        relay = started.enter_context(small_model(arguments.model_python, folder)) if with_model else None
        upstream = counting_upstream.Upstream(relay)
        started.callback(upstream.close)
        arms = {
            "direct": upstream.address("direct"),
            "kompact": started.enter_context(kompact(upstream.address("kompact"), folder)),
            "headroom": started.enter_context(headroom(upstream.address("headroom"), folder, arguments.mode)),
        }
        line = [str(arguments.program), "run"]
        for arm, url in arms.items():
            line += ["--proxy", f"{arm}={url}"]
        if with_model:
            line += ["--max-tokens", "32"]
        extra: dict[str, object] = {}
        if arguments.layout == "tool":
            extra["tools"] = tool_outputs.TOOLS
        line += ["--model", SMALL_MODEL if with_model else MODEL, "--dataset", str(dataset)]
        line += ["--score-field", "contains", "--max-workers", "1", "--timeout", "600", "--output", arguments.output]
        line += ["--cache-dir", str(folder / "store")]
        if extra:
            line += ["--extra-body", json.dumps(extra)]
        print(f"context in the layout `{arguments.layout}`, answered by {'SmolLM2-135M' if with_model else 'a search in the request'}:", file=sys.stderr)
        print(f"{shlex.join(line)}\n", file=sys.stderr, flush=True)
        # The program handles Ctrl-C and finishes the calls in flight.
        signal.signal(signal.SIGINT, lambda *_: None)
        with_key = os.environ | {"OPENAI_API_KEY": os.environ.get("OPENAI_API_KEY", "none")}
        code = subprocess.run(line, env=with_key).returncode
        stored = [str(arguments.program), "export", "last", "--cache-dir", str(folder / "store"), "--output", "json"]
        told = subprocess.run(stored, capture_output=True, text=True)
        if told.returncode == 0:
            rows = json.loads(told.stdout)["rows"]
            print(f"\nwhat the upstream received, and what the rows of the program report\n{seen(upstream, rows)}")
            print(f"\nmean prompt tokens by kind of tool output\n{by_kind(rows)}", flush=True)
        else:
            print(told.stderr, file=sys.stderr)
        (folder / "upstream.json").write_text(json.dumps(upstream.bodies, indent=1))
    return code


if __name__ == "__main__":
    sys.exit(main())
