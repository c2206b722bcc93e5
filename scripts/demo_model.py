"""`make demo-model`: a part of the demo, answered by a small real language model.

Takes two dozen questions of the bundled demo set with contexts short enough for such a model to
read in seconds, starts the model (small_model.py), and runs `context-bench run` without and with
context layers in front of it. docs/guide/demo-model.md explains what that can show.
"""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import small_model

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "crates/context-bench/demo"

QUESTIONS = 24
# Words in a context: about a third of a document, some 350 tokens.
WORDS = 250

PROMPT = "Answer the question with a few words from the text."
LAYERS = {
    "extractive 25%": "extractive:ratio=0.25",
    "extractive 10%": "extractive:ratio=0.1",
    "truncate 50%": "truncate:ratio=0.5",
}


def examples(count: int = QUESTIONS, words: int = WORDS) -> list[dict[str, object]]:
    """Questions spread evenly over the demo set, each with the paragraphs around its answer.

    Yes/no questions are left out, because guessing answers half of them.
    """
    asked = [json.loads(line) for line in (DEMO / "questions.jsonl").read_text().splitlines()]
    asked = [question for question in asked if question["type"] != "yes_no"]
    chosen = [asked[index * len(asked) // count] for index in range(min(count, len(asked)))]
    return [
        {
            "id": question["id"],
            "context": passage(question, index, words),
            "question": question["question"],
            "answer": question["answer"],
            "answers": question["answers"],
        }
        for index, question in enumerate(chosen)
    ]


def passage(question: dict[str, str], index: int, words: int) -> str:
    """Neighbouring paragraphs that contain the answer: in turn near the end, in the middle and
    near the start, as far as the document allows, so that no way of cutting has an advantage."""
    text = (DEMO / "documents" / f"{question['document']}.txt").read_text()
    paragraphs = text.strip().split("\n\n")
    first = last = next(i for i, paragraph in enumerate(paragraphs) if question["answer"] in paragraph)
    place = first
    while sum(len(paragraph.split()) for paragraph in paragraphs[first : last + 1]) < words:
        room_before, room_after = first > 0, last + 1 < len(paragraphs)
        if not room_before and not room_after:
            break
        before = (True, place - first <= last - place, False)[index % 3]
        if room_before and (before or not room_after):
            first -= 1
        else:
            last += 1
    return "\n\n".join(paragraphs[first : last + 1])


def command(program: Path, url: str, dataset: Path, output: str) -> list[str]:
    """The command that a user would type, with one call at a time so that the model is never busy."""
    line = [str(program), "run", "--proxy", url, "--name", "direct"]
    for label, layer in LAYERS.items():
        line += ["--system", f"{label}={layer}"]
    line += ["--relay", url, "--model", small_model.NAME, "--dataset", str(dataset)]
    line += ["--system-prompt", PROMPT, "--max-tokens", "32"]
    line += ["--score-field", "contains"]
    return [*line, "--max-workers", "1", "--timeout", "300", "--output", output]


def run(line: list[str]) -> int:
    """Runs a command. The program itself handles Ctrl-C and finishes the calls in flight."""
    signal.signal(signal.SIGINT, lambda *_: None)
    child = subprocess.Popen(line)
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    return child.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description="A part of the demo, answered by a small real model")
    parser.add_argument("--program", type=Path, default=ROOT / "target/debug/context-bench")
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--words", type=int, default=WORDS, help="minimum number of words in a context")
    parser.add_argument("--threads", type=int, default=1, help="threads of the model; not more than there are idle cores")
    parser.add_argument("--output", default="table", help="format of the results")
    parser.add_argument("--folder", type=Path, default=ROOT / "target/demo-model", help="folder for the questions")
    arguments = parser.parse_args()

    arguments.folder.mkdir(parents=True, exist_ok=True)
    dataset = arguments.folder / "questions.jsonl"
    asked = examples(arguments.questions, arguments.words)
    dataset.write_text("".join(json.dumps(example) + "\n" for example in asked))

    server, url = small_model.serve(threads=arguments.threads)
    line = command(arguments.program, url, dataset, arguments.output)
    print(f"{small_model.NAME} answers {len(asked)} questions of the demo set on this machine:", file=sys.stderr)
    print(f"{shlex.join(line)}\n", file=sys.stderr, flush=True)
    began = time.monotonic()
    code = run(line)
    print(f"\n{time.monotonic() - began:.0f} s; docs/guide/demo-model.md explains what such a small model can show", file=sys.stderr)
    del server
    return code


if __name__ == "__main__":
    sys.exit(main())
