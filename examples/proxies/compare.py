"""`make compare-proxies`: compares two real proxies, kompact and headroom, with no proxy.

Writes the questions (questions.py), starts what stands for the provider (provider.py), and runs
`context-bench run bench.yaml`, which starts the proxies, measures them and ends them. How to read
what it prints: docs/guide/proxies.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import provider
import questions

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare kompact and headroom with no proxy")
    parser.add_argument("--program", type=Path, default=ROOT / "target/debug/context-bench")
    parser.add_argument("--layout", choices=questions.LAYOUTS, default="tool", help="where the long text goes in a request")
    parser.add_argument("-n", "--count", type=int, default=40, help="number of questions")
    parser.add_argument("--folder", type=Path, default=ROOT / "target/compare-proxies", help="folder for questions, results and logs")
    parser.add_argument("more", nargs="*", help="further arguments of `context-bench run`, after `--`")
    arguments = parser.parse_args()

    folder = arguments.folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    dataset = folder / "questions.jsonl"
    dataset.write_text("".join(json.dumps(one) + "\n" for one in questions.examples(arguments.count, arguments.layout)))

    answers = provider.Provider()
    line = [str(arguments.program), "run", str(HERE / "bench.yaml"), "--upstream", answers.url]
    line += ["--dataset", str(dataset), "--cache-dir", str(folder / "store"), *arguments.more]
    print(f"{shlex.join(line)}\n", file=sys.stderr, flush=True)
    # The proxies are those that were installed beside this interpreter.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    # The program handles Ctrl-C: it finishes the calls in flight and ends the proxies.
    signal.signal(signal.SIGINT, lambda *_: None)
    code = subprocess.run(line, env=os.environ | {"PATH": path, "TIKTOKEN_CACHE_DIR": provider.vocabularies()}).returncode
    answers.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
