"""`--engine ray` of the program, which comes with the package: the same flags, outputs, gates and
exit codes as a run in one process, on a real Ray cluster of three nodes."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fronts import Model, Program, copy, differences, package
from kit import Counting

pytest.importorskip("ray", reason="Ray is not installed: make target/venv/tools")
from test_ray import KEY, cluster, examples, server, until  # noqa: E402, F401

pytestmark = pytest.mark.slow


@pytest.fixture
def installed() -> Program:
    """The program that the wheel brings."""
    return Program(Path(sys.executable).with_name("context-bench"))


def questions(folder: Path, n: int) -> Path:
    file = folder / "questions.jsonl"
    file.write_text("\n".join(json.dumps(one) for one in examples(n)))
    return file


def test_datasets_by_name_are_asked_with_their_prompts(
    cluster: Any, installed: Program, endpoint: Model, tmp_path: Path
) -> None:
    flags = [
        "--proxy", f"direct={endpoint.url}", "--system", "half=truncate:ratio=0.5",
        "--relay", endpoint.url, "--dataset", copy("drop"), "--dataset", copy("govreport"),
        "--dataset", questions(tmp_path, 5), "--repeats", 2, "--max-workers", 4,
        "--fail-if", "error_rate > 0", "--fail-if", "score < 2",
    ]  # fmt: skip
    alone = installed.run(*flags)
    engine = ["--engine", f"ray:{cluster.address}"]
    before = len(endpoint.asked)
    spread = installed.run(*flags, *engine, "--cache-dir", tmp_path / "store")
    assert alone.code == spread.code == 4
    assert alone.error == spread.error and alone.remarks == spread.remarks
    assert not list(differences(alone.plain, spread.plain))
    assert len(endpoint.asked) - before == len(spread.json["rows"])
    # Everything is stored: nobody is asked again, and no cluster is needed.
    before = len(endpoint.asked)
    nowhere = ["--engine", "ray:127.0.0.1:1", "--cache-dir", tmp_path / "store"]
    again = installed.run(*flags, *nowhere)
    assert again.code == 4 and len(endpoint.asked) == before
    assert not list(differences(alone.plain["rows"], again.plain["rows"]))


def test_tasks_and_groups_are_summed_up_by_the_driver(
    cluster: Any, installed: Program, endpoint: Model, tasks: Path
) -> None:
    flags = [
        "--tasks", "all,spoken,rolled,functions", "--include-path", tasks,
        "--proxy", f"direct={endpoint.url}", "--max-workers", 4,
    ]  # fmt: skip
    alone = installed.run(*flags)
    spread = installed.run(*flags, "--engine", f"ray:{cluster.address}")
    assert alone.code == spread.code == 0, (alone.error, spread.error)
    assert alone.task("all") and not list(differences(alone.plain, spread.plain))


def test_run_files_and_python_take_the_same_way(
    cluster: Any, installed: Program, endpoint: Model, tmp_path: Path
) -> None:
    import context_bench

    spec = {
        "systems": [{"name": "direct", "proxy": endpoint.url}],
        "benchmarks": [{"dataset": copy("drop")}],
        "engine": f"ray:{cluster.address}",
        "limits": {"max_workers": 2},
    }
    program = installed.spec(spec, tmp_path)
    called = package(lambda: context_bench.run(spec, progress=False))
    assert program.code == 0 and program.error is None and called.error is None
    assert not list(differences(program.plain, called.plain))
    assert len(program.json["rows"]) > 0


def stored(store: Path) -> int:
    if not (store / "store.sqlite").exists():
        return 0
    with sqlite3.connect(store / "store.sqlite") as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM responses").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_and_the_same_command_goes_on(
    cluster: Any, server: Counting, installed: Program, tmp_path: Path, number: int
) -> None:
    server.delay = 0.05
    store = tmp_path / "store"
    command = [
        str(installed.path), "run", "--proxy", f"proxy={server.url}",
        "--dataset", str(questions(tmp_path, 800)), "--max-workers", "2", "--cache-dir", str(store),
        "--engine", f"ray:{cluster.address}", "--output", "json", "--quiet",
    ]  # fmt: skip
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        until(lambda: stored(store) >= 20 or running.poll() is not None)
        assert running.poll() is None, running.communicate()
        running.send_signal(number)
        out, err = running.communicate(timeout=300)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 130, err
    assert "interrupted" in err and "panicked" not in err
    first = json.loads(out)
    assert 20 <= len(first["rows"]) == stored(store) < 800
    assert not any(row.get("error") for row in first["rows"])
    before, there = len(server.bodies), stored(store)
    server.delay = 0.0
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["rows"]) == 800
    assert len(server.bodies) - before == 800 - there


def test_time_that_is_up_is_not_now(
    cluster: Any, server: Counting, installed: Program, tmp_path: Path
) -> None:
    # One answer is there, so that there is something to show.
    first = questions(tmp_path, 1)
    flags = ["--proxy", f"proxy={server.url}", "--cache-dir", tmp_path / "store"]
    server.delay = 0.0
    assert installed.run(*flags, "--dataset", first).code == 0
    server.delay = 3600.0
    engine = ["--engine", f"ray:{cluster.address}", "--max-time", 1]
    seen = installed.run(*flags, *engine, "--dataset", questions(tmp_path, 3))
    assert seen.code == 75 and len(seen.json["rows"]) == 1


REFUSED: list[tuple[list[str], str]] = [
    (["--engine", "rai"], "unknown engine `rai`"),
    (["--engine", "ray:"], "unknown engine `ray:`"),
    (["--engine", "ray", "--tpm", "9"], "`--tpm` cannot be had with `--engine`"),
    (["--engine", "ray", "--shard", "0/2", "--cache-dir", "s"], "a shard cannot be had"),
    (["--engine", "ray", "--upstream", "http://127.0.0.1:1"], "a tap cannot be had"),
    (["--engine", "ray", "--margin", "0.1", "--stop-when-decided"], "`--stop-when-decided` cannot"),
    (["--engine", "ray", "--header", "Authorization: Bearer sk-12345678"], "would be sent to the"),
]


@pytest.mark.parametrize(("flags", "what"), REFUSED)
def test_what_an_engine_does_not_do(
    installed: Program, tmp_path: Path, flags: list[str], what: str
) -> None:
    start = ["--proxy", "http://127.0.0.1:1", "--dataset", questions(tmp_path, 2)]
    seen = installed.run(*start, *flags, cwd=tmp_path)
    assert seen.code == 2 and seen.error is not None and what in seen.error, seen.error
    assert "sk-12345678" not in seen.error


def test_memories_are_sharded(installed: Program) -> None:
    seen = installed("memory", "--system", "bm25", "--dataset", copy("locomo"), "--engine", "ray")
    assert seen.code == 2 and "a run of memories cannot be had" in str(seen.error)


def test_a_program_without_python_says_where_there_is_one(
    program: Program, tmp_path: Path
) -> None:
    flags = ["--system", "passthrough", "--dataset", questions(tmp_path, 2), "--engine", "ray"]
    done = subprocess.run(
        [str(program.path), "run", *map(str, flags)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "hint: `pip install 'context-bench-rs[ray]'`" in done.stderr


def test_a_cluster_that_is_not_there_is_not_now(
    installed: Program, server: Counting, tmp_path: Path
) -> None:
    flags = ["--proxy", server.url, "--dataset", questions(tmp_path, 2)]
    seen = installed.run(*flags, "--engine", "ray:127.0.0.1:1")
    assert seen.code == 75 and "there is no Ray cluster" in str(seen.error)
    assert server.bodies == []


def test_nodes_without_an_endpoint_or_a_key_are_named(
    cluster: Any,
    server: Counting,
    installed: Program,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    serve: Callable[..., str],
) -> None:
    engine = ["--engine", f"ray:{cluster.address}", "--dataset", questions(tmp_path, 2)]
    seen = installed.run("--proxy", "http://127.0.0.1:1", *engine)
    assert seen.code == 2 and str(seen.error).startswith("node ") and ":1" in str(seen.error)
    monkeypatch.setenv("ONLY_HERE", "sk-only-here-12345678")
    own = f"{server.url},key-env=ONLY_HERE"
    seen = installed.run("--proxy", own, *engine)
    assert seen.code == 2 and "`ONLY_HERE` is not set" in str(seen.error)
    assert "sk-only-here" not in str(seen.error) and server.bodies == []
    # The key of the cluster is used there, and is nowhere else.
    store = tmp_path / "store"
    seen = installed.run("--proxy", server.url, *engine, "--cache-dir", store)
    assert seen.code == 0 and len(server.bodies) == 2
    assert server.keys == {f"Bearer {KEY}"}
    session = Path(cluster.head_node.get_session_dir_path())
    files = [file for folder in (store, session) for file in folder.rglob("*")]
    files = [file for file in files if file.is_file() and not file.is_symlink()]
    assert len(files) > 10
    assert [file for file in files if KEY.encode() in file.read_bytes()] == []
    assert os.environ["ONLY_HERE"]
