"""The job of `context-bench emit slurm` on a real Slurm of two nodes, which the test starts and
ends itself: tasks are queued again and a node is lost, and the merged rows are those of one run."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fronts import Program
from kit import Counting

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "sinfo", "scancel")
_path = f"{os.environ['PATH']}:/usr/sbin"
_missing = [name for name in NEEDED if shutil.which(name, path=_path) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(_missing),
        reason=f"not installed: {', '.join(_missing)} (Debian: slurmctld slurmd slurm-client munge)",
    ),
    pytest.mark.skipif(os.geteuid() != 0, reason="Slurm's daemons are started as root only"),
]

SHARDS, EXAMPLES, IN_FLIGHT, DELAY = 4, 240, 2, 0.1

CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/sock
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SchedulerParameters=sched_interval=2,bf_interval=2
SlurmdTimeout=10
KillWait=5
JobRequeue=1
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=2 \
RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
"""


def until(happens: Callable[[], Any], what: str) -> None:
    for _ in range(3000):
        if happens():
            return
        time.sleep(0.1)
    pytest.fail(f"waited in vain: {what}")


class Cluster:
    """Two nodes of Slurm on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}:/usr/sbin",
            "SLURM_CONF": str(folder / "slurm.conf"),
        }

    def run(self, *command: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            command, env=self.environment, cwd=cwd, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def start(self) -> None:
        for name in ("state", "spool", "log", "munge", "bin"):
            (self.folder / name).mkdir(mode=0o755)
        self.folder.chmod(0o755)
        munge = self.folder / "munge"
        (munge / "key").write_bytes(os.urandom(1024))
        (munge / "key").chmod(0o400)
        self.run(
            "munged", "--force", f"--key-file={munge}/key", f"--socket={munge}/sock",
            f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed",
        )  # fmt: skip
        port = free_ports(4)
        text = CONF.format(
            host=socket.gethostname().split(".")[0], user="root", folder=self.folder,
            port=port, first=port + 1, last=port + 2,
        )  # fmt: skip
        (self.folder / "slurm.conf").write_text(text)
        self.run("slurmctld", "-i")
        for node in ("n1", "n2"):
            self.run("slurmd", "-N", node)
        until(lambda: self.run("sinfo", "-N", "-h", "-o", "%T").split() == ["idle"] * 2, "nodes")

    def stop(self) -> None:
        with contextlib.suppress(Exception):
            subprocess.run(
                ["scancel", "--user=root", "--signal=KILL", "--full"], env=self.environment,
                timeout=60, check=False, capture_output=True,
            )  # fmt: skip
        for pid in self.processes(None):
            kill(pid)
        for file in [*self.folder.glob("*.pid"), self.folder / "munge" / "pid"]:
            with contextlib.suppress(OSError, ValueError):
                kill(int(file.read_text()))

    def processes(self, node: str | None) -> list[int]:
        """Processes of jobs of this cluster, with the steps that watch over them."""
        conf = f"SLURM_CONF={self.folder / 'slurm.conf'}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                environment = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            on = [one for one in environment if one.startswith(b"SLURMD_NODENAME=")]
            if conf in environment and on and (node is None or on[0].endswith(node.encode())):
                found.append(int(entry.name))
                parent = parent_of(int(entry.name))
                if parent and command_of(parent).startswith("slurmstepd"):
                    found.append(parent)
        return found

    def lose(self, node: str) -> None:
        """What a machine that loses power leaves: nothing."""
        slurmd = int((self.folder / f"slurmd.{node}.pid").read_text())
        for pid in [slurmd, *self.processes(node)]:
            kill(pid)

    def restarts(self) -> dict[str, int]:
        """How often each task was started again, as far as Slurm still knows."""
        found = {}
        for line in self.run("scontrol", "show", "job", "-o").splitlines():
            values = dict(word.split("=", 1) for word in line.split() if "=" in word)
            if values.get("ArrayTaskId", "").isdigit():
                found[values["ArrayTaskId"]] = int(values.get("Restarts", 0))
        return found

    def hurry(self) -> None:
        """Starts tasks that are queued again at once, and not after two minutes."""
        lines = self.run("squeue", "-h", "-r", "-t", "PENDING", "-o", "%i %r").splitlines()
        for line in lines:
            job, reason = line.split(maxsplit=1)
            if "BeginTime" in reason:
                subprocess.run(
                    ["scontrol", "update", f"jobid={job}", "StartTime=now"],
                    env=self.environment, check=False, capture_output=True, timeout=60,
                )  # fmt: skip


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def parent_of(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def free_ports(n: int) -> int:
    """The first of some ports in a row that nobody uses."""
    for first in range(26_817, 30_000, n):
        with contextlib.ExitStack() as stack:
            try:
                for port in range(first, first + n):
                    one = stack.enter_context(socket.socket())
                    one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
    pytest.fail("no free ports")


@pytest.fixture
def cluster(program: Program) -> Iterator[Cluster]:
    # Sockets have short paths.
    folder = Path(tempfile.mkdtemp(prefix="cb-slurm-"))
    cluster = Cluster(folder)
    try:
        cluster.start()
        (folder / "bin" / "context-bench").symlink_to(program.path.resolve())
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def server() -> Iterator[Counting]:
    with Counting() as server:
        server.delay = DELAY
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def rows(result: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The rows but for times."""
    return [
        (row["system"], row["example_id"], row.get("response"), row["scores"], row.get("error"))
        for row in result["rows"]
    ]


def test_an_array_survives_requeue_and_a_lost_node(
    cluster: Cluster, server: Counting, program: Program, tmp_path: Path
) -> None:
    questions = [
        {"id": i, "context": f"Town {i}.", "question": f"Capital {i}?", "answer": "Paris"}
        for i in range(EXAMPLES)
    ]
    text = "".join(json.dumps(one) + "\n" for one in questions)
    (tmp_path / "questions.jsonl").write_text(text)
    run = ["--proxy", server.url, "--model", "m", "--dataset", "questions.jsonl",
           "--max-workers", str(IN_FLIGHT), "--quiet"]  # fmt: skip
    emitted = subprocess.run(
        [str(program.path), "emit", "slurm", "--shards", str(SHARDS), "--time", "00:30:00", "--",
         *run, "--publish-every", "1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert emitted.returncode == 0, emitted.stderr
    (tmp_path / "job.sbatch").write_text(emitted.stdout)
    said = cluster.run("bash", "job.sbatch", cwd=tmp_path)
    job = said.split("job ")[1].split(";")[0]

    until(lambda: len(server.bodies) > 30, "requests of the first tasks")
    cluster.run("scontrol", "requeue", f"{job}_1")
    until(lambda: len(server.bodies) > 90, "requests after a task was queued again")
    lost = cluster.run("squeue", "-h", "-w", "n2", "-t", "RUNNING", "-o", "%K").split()
    assert lost, "the node has nothing to lose"
    cluster.lose("n2")
    restarts: dict[str, int] = {}

    def is_over() -> bool:
        cluster.hurry()
        for task, n in cluster.restarts().items():
            restarts[task] = max(n, restarts.get(task, 0))
        return cluster.run("squeue", "-h").strip() == ""

    until(is_over, "the end of shards and merge")
    # The one that was queued again, and those of the lost node.
    assert all(restarts.get(task, 0) >= 1 for task in ["1", *lost]), restarts
    logs = {file.name: file.read_text() for file in tmp_path.glob("*.log")}
    merged = program("export", "last", "--cache-dir", tmp_path / "context-bench-results")
    assert merged.code == 0, logs
    paid = len(server.bodies)

    server.delay = 0
    single = program.run(*run[:-1], "--cache-dir", tmp_path / "single", cwd=tmp_path)
    assert merged.json is not None and single.json is not None
    assert rows(merged.json) == rows(single.json)
    # Both losses end at most the calls in flight and a second of calls, of all tasks at once.
    lost_at_most = 2 * SHARDS * (IN_FLIGHT + 2 * IN_FLIGHT / DELAY)
    assert EXAMPLES <= paid <= EXAMPLES + lost_at_most
