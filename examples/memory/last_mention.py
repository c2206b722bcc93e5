"""A memory in one file: recalls the turn that shares most words with the question, the last of several.

It speaks the protocol of docs/reference/memory-protocol.md: a JSON request per line on standard
input, a JSON reply per line on standard output. Each conversation gets a process of its own.
"""

import json
import re
import sys

COMMON = set("a an and did do does how i in is it my name of or that the to was what where".split())


def words(text):
    return set(re.findall(r"\w+", text.lower())) - COMMON


def answer(turns, question):
    asked = words(question)
    shared = [len(asked & words(turn["content"])) for turn in turns]
    best = max(shared, default=0)
    found = [turn for turn, n in zip(turns, shared) if n == best > 0][-1:]
    text = found[0]["content"] if found else ""
    return {"answer": text, "context": text, "recalled": [turn["id"] for turn in found]}


turns = []
for line in sys.stdin:
    request = json.loads(line)
    reply = {"ok": True}
    if request["op"] == "hello":
        reply.update(name="last-mention", version="1", saves=False)
    elif request["op"] == "reset":
        turns = []
    elif request["op"] == "ingest":
        turns += request["turns"]
    elif request["op"] == "query":
        reply.update(answer(turns, request["question"]))
    else:
        reply = {"ok": False, "error": f"unknown request `{request['op']}`"}
    print(json.dumps(reply), flush=True)
