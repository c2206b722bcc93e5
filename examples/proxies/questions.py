"""Questions about long tool outputs, as proxies for agents see them; the same in every run.

There are four kinds in turn, each with outputs of a few thousand tokens: a list of orders
(indented JSON), a list of machines (nested, compact JSON), a log of a service (plain lines, many
alike), and search results (JSON with prose). One record, anywhere in the output, answers the
question.

    python questions.py --layout tool > questions.jsonl

`--layout` says where the output goes in a request: into the `system` message, into the `user`
message before the question, or into the result of a `tool` call after the question.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator

LAYOUTS = ("system", "user", "tool")

# With the tool layout, a request must also declare the tool.
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "fetch",
            "description": "Fetch the data that a question is about",
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
        },
    }
]

CITIES = "Aldersund Brackenfold Corvale Dunmere Estrand Fennwick Garsholm Hollin".split()
STATES = "pending packed shipped delivered returned cancelled".split()
ROLES = "web worker cache database gateway".split()
THINGS = "kettle lamp chair rucksack notebook blanket teapot ladder lantern compass".split()
WORDS = (
    "the service reads its settings at start and keeps them until it is told to read them again "
    "every change is written to the journal first so that nothing is lost when power fails and "
    "a second copy is sent to another house before the caller hears that all is well"
).split()


def order(chance: random.Random, size: float) -> tuple[str, str, str]:
    rows = [
        {
            "order_id": f"ord-{number}",
            "status": chance.choice(STATES),
            "customer": {"name": f"customer {chance.randrange(1000)}", "city": chance.choice(CITIES)},
            "items": [{"sku": f"sku-{chance.randrange(9999):04}", "name": chance.choice(THINGS), "quantity": 1}],
            "total": f"{chance.randrange(500, 90000) / 100:.2f} marks",
            "currency": "MRK",
            "notes": None,
            "gift": False,
        }
        for number in chance.sample(range(10000, 99999), round(60 * size))
    ]
    row = chance.choice(rows)
    question = f"What is the total of the order {row['order_id']}?"
    return json.dumps({"orders": rows, "page": 1, "has_more": False}, indent=2), question, str(row["total"])


def machine(chance: random.Random, size: float) -> tuple[str, str, str]:
    rows = [
        {
            "host": f"host-{number}",
            "role": chance.choice(ROLES),
            "region": chance.choice(CITIES).lower(),
            "address": f"192.0.2.{chance.randrange(1, 255)}",
            "cpu": {"cores": 8, "load": round(chance.random() * 8, 2)},
            "memory": {"total_mb": 32768, "used_mb": chance.randrange(1000, 32000)},
            "labels": {"team": "platform", "environment": "production", "managed": True},
            "kernel": f"6.{chance.randrange(1, 19)}.{chance.randrange(0, 99)}",
        }
        for number in chance.sample(range(10000, 99999), round(70 * size))
    ]
    row = chance.choice(rows)
    return json.dumps(rows), f"Which kernel does the machine {row['host']} run?", str(row["kernel"])


def log(chance: random.Random, size: float) -> tuple[str, str, str]:
    lines, failures = [], []
    numbers = chance.sample(range(10000, 99999), round(160 * size))
    for second, number in enumerate(numbers):
        clock = f"2026-03-14T09:{second // 60:02}:{second % 60:02}Z"
        if chance.random() < 0.06:
            code = f"E{chance.randrange(1000, 9999)}"
            failures.append((number, code))
            lines.append(f"{clock} ERROR checkout request req-{number} failed with code {code} after 3 attempts")
        else:
            lines.append(f"{clock} INFO checkout request req-{number} accepted in {chance.randrange(3, 40)} ms status=200")
    if not failures:
        failures.append((numbers[-1], "E4711"))
        lines.append(f"2026-03-14T09:59:59Z ERROR checkout request req-{numbers[-1]} failed with code E4711 after 3 attempts")
    number, code = chance.choice(failures)
    return "\n".join(lines), f"With which code did the request req-{number} fail?", code


def search(chance: random.Random, size: float) -> tuple[str, str, str]:
    def prose(words: int) -> str:
        start = chance.randrange(len(WORDS))
        return " ".join(WORDS[(start + step) % len(WORDS)] for step in range(words))

    hits = []
    for number in chance.sample(range(10000, 99999), round(40 * size)):
        owner = f"{chance.choice(THINGS)}-{chance.choice(CITIES).lower()}"
        hits.append(
            {
                "document": f"doc-{number}",
                "owner": owner,
                "score": round(chance.random(), 4),
                "path": f"handbook/{chance.choice(ROLES)}/{number}.md",
                "snippet": f"{prose(25)}. {prose(25)}.",
            }
        )
    hit = chance.choice(hits)
    return json.dumps({"hits": hits}, indent=1), f"Who is the owner of the document {hit['document']}?", str(hit["owner"])


KINDS: list[Callable[[random.Random, float], tuple[str, str, str]]] = [order, machine, log, search]


def messages(layout: str, text: str, question: str) -> list[dict[str, object]]:
    if layout == "system":
        return [{"role": "system", "content": text}, {"role": "user", "content": question}]
    if layout == "user":
        return [{"role": "user", "content": f"{text}\n\n{question}"}]
    call = {"id": "call_1", "type": "function", "function": {"name": "fetch", "arguments": json.dumps({"query": question})}}
    return [
        {"role": "user", "content": question},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": text},
    ]


def examples(count: int, layout: str, size: float = 1, only: str | None = None) -> Iterator[dict[str, object]]:
    chance = random.Random(1)
    kinds = [kind for kind in KINDS if only in (None, kind.__name__)]
    for index in range(count):
        kind = kinds[index % len(kinds)]
        text, question, answer = kind(chance, size)
        yield {
            "id": f"{kind.__name__}-{index // len(kinds) + 1}",
            "kind": kind.__name__,
            "question": question,
            "answer": answer,
            "context": text,
            "turns": messages(layout, text, question),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description="Write questions over long tool outputs as JSON lines")
    parser.add_argument("-n", "--count", type=int, default=40)
    parser.add_argument("--layout", choices=LAYOUTS, default="tool")
    parser.add_argument("--size", type=float, default=1, help="share of the records in each output")
    parser.add_argument("--kind", choices=[kind.__name__ for kind in KINDS], help="use only this kind")
    arguments = parser.parse_args()
    for example in examples(arguments.count, arguments.layout, arguments.size, arguments.kind):
        sys.stdout.write(json.dumps(example) + "\n")


if __name__ == "__main__":
    main()
