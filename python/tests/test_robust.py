"""What must never happen: a hang, an abort, or memory that grows with the dataset."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from kit import Counting

Python = Callable[..., SimpleNamespace]

PREAMBLE = """
import asyncio, multiprocessing, os, resource, sys, threading, time
from context_bench import OpenAIProxy, evaluate
from context_bench.evaluators import AnswerQuality
from context_bench.metrics import MeanScore

class Echo:
    name = "echo"
    def process(self, example):
        return {**example, "response": example["context"]}

def some(n):
    for i in range(n):
        yield {"id": i, "context": f"text {i} " * 20, "answer": "text"}

def run(n=20, system=None, **settings):
    settings.setdefault("progress", False)
    result = evaluate([system or Echo()], some(n), [AnswerQuality()], [MeanScore("f1")], **settings)
    assert len(result.rows) == n and not result.failures, result.failures[:1]
    return result
"""


def ok(done: SimpleNamespace) -> None:
    assert done.code == 0, done.err
    assert done.out.strip().endswith("done"), done.out


@pytest.mark.parametrize("workers", [1, 8])
def test_runs_in_several_threads_at_once(python: Python, workers: int) -> None:
    program = """
threads = [threading.Thread(target=run, kwargs={"max_workers": %d}) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("done")
"""
    ok(python(PREAMBLE + program % workers))


def test_runs_inside_a_running_event_loop(python: Python) -> None:
    program = """
class Slow:
    name = "slow"
    async def process(self, example):
        await asyncio.sleep(0.001)
        return {**example, "response": "x"}

async def main():
    run(max_workers=4)
    run(system=Slow(), max_workers=4)
    run(system=Slow())
    await asyncio.gather(*(asyncio.to_thread(run, 5, Slow()) for _ in range(4)))
asyncio.run(main())
print("done")
"""
    ok(python(PREAMBLE + program))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_runs_in_child_processes_after_one_in_the_parent(
    python: Python, url: str, method: str
) -> None:
    program = """
def child(url, proxy):
    run(max_workers=4)
    proxy = proxy or OpenAIProxy(url, name="proxy")
    run(system=proxy, max_workers=4)
    assert proxy.process({"context": "c"})["response"] == "Paris"

if __name__ == "__main__":
    url, method = sys.argv[1:]
    proxy = OpenAIProxy(url, name="proxy")
    run(max_workers=4)
    run(system=proxy, max_workers=4)
    assert proxy.process({"context": "c"})["response"] == "Paris"
    context = multiprocessing.get_context(method)
    # A forked child inherits the proxy with its connections.
    handed = proxy if method == "fork" else None
    children = [context.Process(target=child, args=(url, handed)) for _ in range(3)]
    for process in children: process.start()
    for process in children: process.join()
    assert [process.exitcode for process in children] == [0, 0, 0]
    run(system=proxy, max_workers=4)
    print("done")
"""
    ok(python(PREAMBLE + program, url, method))


def test_a_run_inside_a_run(python: Python) -> None:
    program = """
class Nested:
    name = "nested"
    def process(self, example):
        run(3, max_workers=2)
        run(3)
        return {**example, "response": "x"}
run(4, Nested())
run(4, Nested(), max_workers=3)
print("done")
"""
    ok(python(PREAMBLE + program))


@pytest.mark.parametrize("workers", [1, 8])
@pytest.mark.parametrize("kind", ["sync", "async", "busy", "native"])
def test_ctrl_c_is_a_keyboard_interrupt_at_once(
    tmp_path: Path, counting: Counting, workers: int, kind: str
) -> None:
    """At once: before any of the calls that are under way is over. None is, until much later."""
    bodies = {
        "sync": "def process(self, example):\n        ready()\n        over.wait(300)",
        "async": "async def process(self, example):\n        ready()\n        await asyncio.sleep(300)",
        "busy": "def process(self, example):\n        ready()\n        return dict(example, response='')",
        "native": "",
    }
    counting.delay = 300.0
    url = counting.url if kind == "native" else ""
    program = f"""
over = threading.Event()
said = threading.Lock()
def ready():
    if said.acquire(blocking=False):
        print("ready", flush=True)

class Slow:
    name = "slow"
    {bodies[kind]}

system = OpenAIProxy({url!r}, timeout=600) if {url!r} else Slow()
try:
    evaluate([system], some(10**9), [AnswerQuality()], max_workers={workers}, progress=False)
except KeyboardInterrupt as error:
    print("interrupted", len(error.partial_result.rows), flush=True)
    run()
    print("again", flush=True)
over.set()
"""
    file = tmp_path / "program.py"
    file.write_text(PREAMBLE + program)
    process = subprocess.Popen(
        [sys.executable, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    if kind == "native":
        while not counting.bodies and process.poll() is None:
            time.sleep(0.02)
    else:
        assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    words = out.split()
    assert words[0] == "interrupted", err
    assert kind == "busy" or words[1] == "0", out
    assert words[-1] == "again", err
    assert process.returncode == 0, err


def test_what_was_done_before_ctrl_c_is_not_done_again(python: Python, tmp_path: Path) -> None:
    program = """
import signal
from context_bench._progress import Display
calls, sent, enough = 0, threading.Lock(), threading.Event()

def update(self, systems, done, *rest):
    if sum(done) >= 20:
        enough.set()
Display.update = update

class Slow:
    name = "slow"
    cache_key = 1
    def process(self, example):
        global calls
        calls += 1
        if enough.is_set() and sent.acquire(blocking=False):
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        return dict(example, response="text")
settings = dict(cache_dir=sys.argv[1], max_workers=%d, progress=True)
try:
    run(20_000, Slow(), **settings)
except KeyboardInterrupt as error:
    done = len(error.partial_result.rows)
    assert error.partial_result.interrupted
first, calls = calls, 0
run(done + 100, Slow(), **settings)
assert 20 <= done <= first, (done, first)
# A call that was under way may be stored without a row.
assert calls <= 100 + 2, (calls, done, first)
print("done")
"""
    for workers in (1, 4):
        ok(python(PREAMBLE + program % workers, str(tmp_path / str(workers))))


def test_the_interpreter_ends_while_calls_are_left_behind(python: Python) -> None:
    program = """
import signal
class Slow:
    name = "slow"
    def process(self, example):
        if example["id"] == 0:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        time.sleep(1.0)
        return dict(example, response="")
try:
    evaluate([Slow()], some(100), [AnswerQuality()], max_workers=8, progress=False)
except KeyboardInterrupt:
    print("done", flush=True)
"""
    ok(python(PREAMBLE + program))


def test_a_second_ctrl_c_ends_the_program_without_waiting(tmp_path: Path) -> None:
    program = """
said = threading.Lock()
class Slow:
    name = "slow"
    def process(self, example):
        if said.acquire(blocking=False):
            print("ready", flush=True)
        time.sleep(600)
try:
    evaluate([Slow()], some(100), [AnswerQuality()], max_workers=8, progress=False)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    file = tmp_path / "program.py"
    file.write_text(PREAMBLE + program)
    process = subprocess.Popen(
        [sys.executable, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    # The program is about to end, and waits for its calls; one that comes early is not the last.
    until = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
    ended = process.poll()
    process.kill()
    process.communicate()
    # An abort would be another negative number.
    assert ended is not None and (ended >= 0 or ended == -signal.SIGINT)


def test_exit_in_user_code_ends_the_program(python: Python) -> None:
    program = """
class Quitter:
    name = "quitter"
    def process(self, example):
        sys.exit(7)
evaluate([Quitter()], some(5), [], max_workers=%d, progress=False)
"""
    for workers in (1, 4):
        assert python(PREAMBLE + program % workers).code == 7


def test_a_panic_becomes_an_exception(python: Python) -> None:
    program = """
from context_bench import _native
try:
    _native._panic()
except BaseException as error:
    assert "a test of faults" in str(error), error
else:
    raise AssertionError("no exception")
run()
print("done")
"""
    ok(python(PREAMBLE + program))


def test_deep_and_cyclic_values_are_errors(python: Python) -> None:
    program = """
deep = {}
inner = deep
for _ in range(100_000):
    inner["x"] = {}
    inner = inner["x"]
cyclic = {}
cyclic["self"] = cyclic
for example in (deep, cyclic):
    try:
        evaluate([Echo()], [example], [], progress=False)
    except RecursionError as error:
        assert "nested" in str(error)
    else:
        raise AssertionError("no error")
class Cyclic:
    name = "cyclic"
    def process(self, example):
        return cyclic
import warnings
warnings.simplefilter("ignore")
result = evaluate([Cyclic()], some(2), [], progress=False)
assert "nested" in result.rows[0].error.message
print("done")
"""
    ok(python(PREAMBLE + program))


@pytest.mark.slow
def test_a_generator_of_many_examples_keeps_memory_flat(python: Python) -> None:
    # Every example is 5 kB, twice: all of them at once would be 1 GB.
    program = """
def many(n):
    for i in range(n):
        yield {"id": i, "context": f"{i} " + "x" * 5_000, "answer": "text"}

class First:
    name = "first"
    def process(self, example):
        return {"response": example["context"][:5]}

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

evaluate([First()], many(5_000), [], text_fields=[], max_workers=4, progress=False)
before = peak()
result = evaluate([First()], many(100_000), [], text_fields=[], max_workers=4, progress=False)
assert len(result.rows) == 100_000
grown = peak() - before
assert grown < 150, f"{grown} MB"
print("done")
"""
    ok(python(PREAMBLE + program, timeout=2400))


@pytest.mark.slow
def test_a_metric_over_a_million_rows(python: Python) -> None:
    program = """
class Count:
    name = "count"
    def compute(self, rows):
        return {"total": sum(row.input_tokens for row in rows), "n": len(rows)}

class Nothing:
    name = "nothing"
    def process(self, example):
        return example

rows = evaluate([Nothing()], ({"a": "b"} for _ in range(50_000)), [], [Count()], progress=False).rows
million = rows * 20
assert Count().compute(million)["n"] == 1_000_000
from context_bench.metrics import CompressionRatio
assert CompressionRatio().compute(million)["mean_input_tokens"] == 1.0
print("done")
"""
    ok(python(PREAMBLE + program, timeout=2400))


def test_imports_are_light(python: Python) -> None:
    program = """
import sys
before = set(sys.modules)
import context_bench
heavy = {"pandas", "numpy", "pyarrow", "polars", "rich", "requests", "datasets", "tiktoken"}
assert not heavy & (set(sys.modules) - before)
import threading
assert threading.active_count() == 1
print("done")
"""
    ok(python(program))

