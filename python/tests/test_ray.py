"""Runs on a real Ray cluster of several nodes, which the tests start and end themselves.

Nodes and workers are killed in the middle: what comes out is what one process gives, and what is
paid twice has a bound.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from context_bench import OpenAIProxy, evaluate
from context_bench.distributed import ClusterLost, PreflightError, Ray, _quota
from context_bench.evaluators import AnswerQuality, LLMJudge
from context_bench.metrics import MeanScore
from context_bench.systems import builtin_system
from kit import Counting

ray = pytest.importorskip("ray", reason="Ray is not installed: make target/venv/tools")
pytestmark = pytest.mark.slow

KEY = "sk-planted-0123456789abcdef"
NODES = 3


def examples(n: int) -> list[dict[str, Any]]:
    return [
        {"id": i, "context": f"Town {i} is the capital.", "question": f"Capital {i}?",
         "answer": "Paris" if i % 3 else f"Town {i}"}
        for i in range(n)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Three nodes with a CPU each, and a head without."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["OPENAI_API_KEY"] = KEY
    folder = tempfile.mkdtemp(prefix="cb-ray-")
    os.environ["RAY_TMPDIR"] = folder
    Path(folder, "ray").mkdir()
    head = {"num_cpus": 0, "include_dashboard": False}
    started = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(NODES):
            started.add_node(num_cpus=1)
        started.wait_for_nodes()
        ray.init(address=started.address, log_to_driver=False, logging_level="ERROR")
        yield started
    finally:
        ray.shutdown()
        started.shutdown()
        del os.environ["OPENAI_API_KEY"], os.environ["RAY_TMPDIR"]
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def server() -> Iterator[Counting]:
    with Counting() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def until(happens: Callable[[], bool]) -> None:
    for _ in range(12_000):
        if happens():
            return
        time.sleep(0.02)
    pytest.fail("what was waited for did not happen")


class Reversed:
    """A system of the user, without a `cache_key`."""

    name = "reversed"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if example["id"] == 7:
            raise LookupError("no seven")
        return {**example, "response": example["context"][::-1]}


class Length:
    name = "length"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"length": float(len(processed["response"]))}


class Touchy:
    """Notes its process and, at the word in the question, ends it."""

    name = "touchy"
    cache_key = 1

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        (self.folder / f"{os.getpid()}").touch()
        if "poison" in example["question"]:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)
        return {**example, "response": "Paris"}


def seen(result: Any) -> list[tuple[Any, ...]]:
    """The rows but for times."""
    return [
        (row.system, row.example_id, row.response, row.scores, row.unscored, row.input_tokens,
         row.output_tokens, row.cached, row.error and (row.error.kind, row.error.message))
        for row in result.rows
    ]  # fmt: skip


def test_rows_are_those_of_one_process(cluster: Any, tmp_path: Path) -> None:
    parts: dict[str, Any] = {
        "systems": [builtin_system("truncate:ratio=0.5", name="half"), Reversed()],
        "evaluators": [AnswerQuality(), Length()],
        "metrics": [MeanScore("f1")],
        "progress": False,
    }
    with pytest.warns():
        alone = evaluate(dataset=examples(40), **parts)
    with pytest.warns():
        spread = evaluate(
            dataset=(one for one in examples(40)), cache_dir=tmp_path / "store",
            executor=Ray(unit=9, handover=0.2), **parts,
        )  # fmt: skip
    assert seen(spread) == seen(alone)
    assert spread.summary["half"]["mean_score"] == alone.summary["half"]["mean_score"]
    assert spread.counts == alone.counts
    # One run in the store, not one for each look at it.
    runs = sqlite3.connect(tmp_path / "store" / "store.sqlite").execute("SELECT count(*) FROM runs")
    assert runs.fetchone() == (1,)


def test_a_lost_node_and_a_lost_worker_lose_no_row(
    cluster: Any, server: Counting, tmp_path: Path
) -> None:
    n, in_flight, handover, delay = 300, 4, 1.0, 0.05
    server.delay = delay
    data = examples(n)
    proxy = OpenAIProxy(server.url, model="m", name="proxy")
    touchy = Touchy(tmp_path)

    def kill() -> None:
        until(lambda: len(server.bodies) > 60)
        node = cluster.worker_nodes.pop() if isinstance(cluster.worker_nodes, set) else None
        lost = node or list(cluster.worker_nodes)[-1]
        raylet = lost.all_processes["raylet"][0].process
        raylet.kill()
        # One that nobody reaps counts as alive.
        raylet.wait()
        until(lambda: len(server.bodies) > 160)
        for pid in map(int, os.listdir(tmp_path)):
            try:
                os.kill(pid, signal.SIGKILL)
                break
            except ProcessLookupError:
                continue

    killer = threading.Thread(target=kill)
    killer.start()
    result = evaluate(
        [proxy, touchy], data, [AnswerQuality()], progress=False,
        cache_dir=tempfile.mkdtemp(dir=tmp_path.parent),
        executor=Ray(unit=50, handover=handover, max_workers=in_flight),
    )  # fmt: skip
    killer.join()
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    assert [(row.system, row.example_id) for row in result.rows] == [
        (system, i) for system in ("proxy", "touchy") for i in range(n)
    ]
    assert not any(row.error for row in result.rows)
    # What is in flight, what was not handed over yet, and what the driver had not taken.
    lost_at_most = 2 * (in_flight + 2 * handover * in_flight / delay)
    assert n <= len(server.bodies) <= n + lost_at_most
    server.delay = 0.0
    alone = evaluate([proxy, touchy], data, [AnswerQuality()], progress=False, max_workers=8)
    assert seen(result) == seen(alone)


def test_an_example_that_ends_its_process_is_a_failed_row(cluster: Any, tmp_path: Path) -> None:
    data = examples(8)
    data[5]["question"] = "a poison"
    result = evaluate(
        [Touchy(tmp_path)], data, [AnswerQuality()], progress=False,
        executor=Ray(unit=4, handover=0.2),
    )  # fmt: skip
    errors = {row.example_id: row.error for row in result.rows}
    assert sorted(errors) == list(range(8))
    lost = errors.pop(5)
    assert lost is not None and lost.kind == "worker_lost" and "3 times" in lost.message
    assert set(errors.values()) == {None}
    assert result.counts["touchy"]["failed"] == 1


DRIVER = """
import sys
from context_bench import OpenAIProxy, evaluate
from context_bench.distributed import Ray
from context_bench.evaluators import AnswerQuality
sys.path.insert(0, sys.argv[4])
from test_ray import examples

if __name__ == "__main__":
    evaluate([OpenAIProxy(sys.argv[1], model="m", name="proxy")], examples(200), [AnswerQuality()],
             cache_dir=sys.argv[2], progress=False,
             executor=Ray(sys.argv[3], unit=20, handover=0.5, max_workers=4))
"""


def test_a_killed_driver_is_run_again_for_what_is_missing(
    cluster: Any, server: Counting, tmp_path: Path
) -> None:
    server.delay = 0.05
    file = tmp_path / "driver.py"
    file.write_text(DRIVER)
    store = tmp_path / "store"
    here = str(Path(__file__).parent)
    driver = subprocess.Popen(
        [sys.executable, str(file), server.url, str(store), cluster.address, here],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip

    def stored() -> int:
        if not (store / "store.sqlite").exists():
            return 0
        with sqlite3.connect(store / "store.sqlite") as connection:
            try:
                return int(connection.execute("SELECT count(*) FROM responses").fetchone()[0])
            except sqlite3.OperationalError:
                return 0

    try:
        until(lambda: stored() >= 40 or driver.poll() is not None)
        assert driver.poll() is None, driver.stderr and driver.stderr.read().decode()
    finally:
        driver.kill()
        driver.wait()
    # Ray ends the tasks of a driver that is gone.
    paid = -1
    while paid != len(server.bodies):
        paid = len(server.bodies)
        time.sleep(2)
    there = stored()
    assert 40 <= there < 200
    result = evaluate(
        [OpenAIProxy(server.url, model="m", name="proxy")], examples(200), [AnswerQuality()],
        cache_dir=store, progress=False, executor=Ray(unit=20, handover=0.5, max_workers=4),
    )  # fmt: skip
    assert len(server.bodies) - paid == 200 - there
    assert not any(row.error for row in result.rows) and len(result.rows) == 200
    assert sum(row.cached for row in result.rows) == there


def test_a_quota_grants_no_second_more_than_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of our own: three workers that always want more, one of which dies with what was
    leased to it."""
    now, rate = 100.0, 40.0
    monkeypatch.setattr(_quota.time, "monotonic", lambda: now)
    quota = _quota.Quota(rate)
    left: list[float] = []
    free = [now, now, now]
    for turn in range(600):
        who = min(range(len(free)), key=lambda one: free[one])
        now = max(now, free[who])
        granted, seconds = quota.lease(8)
        free[who] = now + seconds
        left += [now + seconds] * granted
        if turn == 300:
            # It never sends what it has; nobody else gets that.
            free.pop(who)
    lease = max(1, int(rate * _quota._LEASE))
    for start in left:
        assert sum(1 for one in left if start <= one < start + 1.0) <= rate + lease


@pytest.mark.parametrize("kills", [False, True])
def test_a_quota_holds_over_all_workers(
    cluster: Any, server: Counting, tmp_path: Path, kills: bool
) -> None:
    rate, n = 40.0, 120
    touchy = Touchy(tmp_path)

    def kill() -> None:
        until(lambda: len(server.bodies) > 40)
        for pid in map(int, os.listdir(tmp_path)):
            try:
                os.kill(pid, signal.SIGKILL)
                return
            except ProcessLookupError:
                continue

    killer = threading.Thread(target=kill)
    if kills:
        killer.start()
    result = evaluate(
        [OpenAIProxy(server.url, model="m", name="proxy"), touchy], examples(n), [AnswerQuality()],
        progress=False, executor=Ray(unit=20, handover=0.5, rps=rate, max_workers=8),
    )  # fmt: skip
    if kills:
        killer.join()
    assert not any(row.error for row in result.rows)
    paid = len(server.times)
    assert n <= paid
    # The least that so many requests take, less what a busy machine may add before the first.
    assert max(server.times) - min(server.times) >= 0.5 * paid / rate


def test_without_its_quota_a_run_starts_nothing_more(
    cluster: Any, server: Counting, tmp_path: Path
) -> None:
    server.delay = 0.05

    def kill() -> None:
        until(lambda: len(server.bodies) > 10)
        (quota,) = [
            one for one in ray.util.list_named_actors(all_namespaces=True)
            if one["name"].startswith("context-bench-quota-")
        ]  # fmt: skip
        ray.kill(ray.get_actor(quota["name"], namespace=quota["namespace"]))

    killer = threading.Thread(target=kill)
    killer.start()
    store = tmp_path / "store"
    parts: dict[str, Any] = {
        "systems": [OpenAIProxy(server.url, model="m", name="proxy")],
        "dataset": examples(400), "evaluators": [AnswerQuality()],
        "progress": False, "cache_dir": store,
    }  # fmt: skip
    with pytest.raises(ClusterLost, match="the quota of the run was lost"):
        evaluate(**parts, executor=Ray(unit=50, handover=0.2, rps=60.0, max_workers=4))
    killer.join()
    assert len(server.bodies) < 400
    server.delay = 0.0
    result = evaluate(**parts, executor=Ray(unit=50, handover=0.2, max_workers=4))
    assert not any(row.error for row in result.rows)


def test_keys_are_nowhere(cluster: Any, server: Counting, tmp_path: Path) -> None:
    data = examples(10)
    judge = LLMJudge(server.url, model="m")
    evaluate(
        [OpenAIProxy(server.url, model="m", name="proxy")], data, [AnswerQuality(), judge],
        progress=False, cache_dir=tmp_path / "store", executor=Ray(unit=5),
    )  # fmt: skip
    # The judge's endpoint gives no rating, and is asked once more for each when rows are summed up.
    assert len(server.bodies) >= 20
    session = Path(cluster.head_node.get_session_dir_path())
    looked = 0
    for folder in (tmp_path / "store", session):
        for file in folder.rglob("*"):
            if file.is_file() and not file.is_symlink():
                looked += 1
                assert KEY.encode() not in file.read_bytes(), file
    assert looked > 10


class Holder:
    name = "holder"

    def __init__(self) -> None:
        self.key = os.environ["OPENAI_API_KEY"]

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return example


@pytest.mark.parametrize("which", ["proxy", "judge", "holder", "relay"])
def test_a_key_never_travels(cluster: Any, server: Counting, which: str) -> None:
    literal = "sk-literal-98765432100"
    systems: dict[str, Any] = {
        "proxy": OpenAIProxy(server.url, api_key=literal),
        "holder": Holder(),
        "relay": builtin_system("passthrough", relay=OpenAIProxy(server.url, api_key=literal)),
    }
    evaluator = LLMJudge(server.url, api_key=literal) if which == "judge" else AnswerQuality()
    with pytest.raises(ValueError, match="hint:") as error:
        evaluate(
            [systems.get(which, Reversed())], examples(2), [evaluator], progress=False,
            executor=Ray(),
        )  # fmt: skip
    assert literal not in str(error.value) and KEY not in str(error.value)
    assert server.bodies == []


def test_a_node_that_lacks_a_key_is_found_before_anything_is_paid(
    cluster: Any, server: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONLY_HERE_KEY", "sk-only-here-12345678")
    proxy = OpenAIProxy(server.url, api_key="sk-only-here-12345678", name="proxy")
    with pytest.raises(PreflightError, match="`ONLY_HERE_KEY` is not set") as error:
        evaluate([proxy], examples(2), [AnswerQuality()], progress=False, executor=Ray())
    assert str(error.value).count("node ") == NODES
    assert "sk-only-here" not in str(error.value) and server.bodies == []


def test_what_an_executor_does_not_take(cluster: Any, server: Counting) -> None:
    with pytest.raises(ValueError, match="a tap cannot be had"):
        evaluate([], examples(2), [AnswerQuality()], executor=Ray(), progress=False,
                 proxies=["p=http://127.0.0.1:1"], upstream=server.url)  # fmt: skip
    with pytest.raises(ValueError, match="`rps`"):
        Ray(rps=0)


def test_verdicts_and_repeats_are_those_of_one_process(cluster: Any, tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(json.dumps(one) for one in examples(12)))
    parts: dict[str, Any] = {
        "systems": [builtin_system("passthrough"), builtin_system("truncate:ratio=0.5", name="half")],
        "dataset": file, "evaluators": [AnswerQuality()], "metrics": [MeanScore("f1")],
        "repeats": 2, "margin": 0.1, "fail_if": "f1 < baseline - 0.02", "progress": False,
    }  # fmt: skip
    alone = evaluate(**parts)
    spread = evaluate(**parts, executor=Ray(unit=5))
    assert seen(spread) == seen(alone) and len(alone.rows) == 48
    assert spread.gates == alone.gates and len(alone.gates) == 1
