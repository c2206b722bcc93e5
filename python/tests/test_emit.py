"""Jobs that `context-bench emit` writes: the shell part is run, the manifests are validated."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from fronts import Program

#: Arguments that a shell, YAML or Kubernetes would change if they were not written right.
AWKWARD = [
    "--dataset",
    "my \"questions\" & it's ü.jsonl",
    "--system-prompt",
    "two\nlines, $HOME $(id) `id` $$ \\ 'x' \u2028 # %d \x7f \u202e \U0001f600",
    "--proxy",
    "http://127.0.0.1:9/v1",
    "--header",
    "X-Team: [a, b] {c: d}",
]
KEY = "sk-planted-0123456789abcdef"

#: Stands for the programs of Slurm and for ours: it notes its arguments, one call per line.
STUB = """#!{python}
import json, os, signal, sys, time
name = os.path.basename(sys.argv[0])
with open(os.environ["NOTED"], "a") as file:
    file.write(json.dumps([name, *sys.argv[1:]]) + "\\n")
if name == "sbatch":
    print("41;cluster" if "--dependency" not in " ".join(sys.argv) else "42")
if name == "context-bench":
    ends = os.environ["ENDS"]
    if ends == "drained":
        def drain(*_):
            time.sleep(0.2)  # calls in flight
            sys.exit(130)
        signal.signal(signal.SIGTERM, drain)
        open(os.environ["NOTED"] + ".ready", "w").close()
        while True:
            time.sleep(60)
    sys.exit(int(ends))
"""


def emitted(program: Program, *arguments: str) -> str:
    done = subprocess.run(
        [str(program.path), "emit", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def slurm(tmp_path: Path, program: Program) -> Any:
    """Runs the script as Slurm would run a task of its array."""
    for name in ("sbatch", "scontrol", "context-bench"):
        stub = tmp_path / "bin" / name
        stub.parent.mkdir(exist_ok=True)
        stub.write_text(STUB.format(python=sys.executable))
        stub.chmod(0o755)
    script = tmp_path / "job.sbatch"
    script.write_text(emitted(program, "slurm", "--shards", "8", "--", *AWKWARD))
    noted = tmp_path / "noted"

    def start(ends: str, **variables: str) -> tuple[subprocess.Popen[str], Path]:
        environment = {
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "NOTED": str(noted),
            "ENDS": ends,
            **variables,
        }
        process = subprocess.Popen(
            ["bash", str(script)], env=environment, cwd=tmp_path, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        return process, noted

    return start


TASK = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_JOB_ID": "77"}


def calls(noted: Path) -> list[list[str]]:
    return [json.loads(line) for line in noted.read_text().splitlines()]


def test_the_script_is_plain_shell(program: Program, tmp_path: Path) -> None:
    script = tmp_path / "job.sbatch"
    script.write_text(emitted(program, "slurm", "--shards", "64", "--", *AWKWARD))
    checked = subprocess.run(["bash", "-n", str(script)], capture_output=True, check=False)
    assert checked.returncode == 0 and checked.stderr == b""


def test_arguments_arrive_as_they_were_given(slurm: Any) -> None:
    process, noted = slurm("0", **TASK)
    assert process.wait(120) == 0
    [call] = calls(noted)
    ours = ["context-bench", "run", "--shard", "auto", "--shards-at-once", "8"]
    assert call == [*ours, "--cache-dir", "context-bench-results", *AWKWARD]


def test_outside_slurm_it_submits_shards_and_merge(slurm: Any) -> None:
    process, noted = slurm("0")
    out, _ = process.communicate(timeout=120)
    shards, merge = calls(noted)
    assert shards[:2] == ["sbatch", "--parsable"] and shards[2].endswith("job.sbatch")
    assert "--dependency=afterany:41" in merge
    assert merge[-1] == "context-bench merge context-bench-results"
    assert out == "shards: job 41; merge: job 42\n"


@pytest.mark.parametrize(
    ("ends", "restarts", "requeued"),
    [("0", "", False), ("2", "", False), ("3", "", False), ("75", "", True), ("75", "20", False)],
)
def test_only_what_may_get_better_is_queued_again(
    slurm: Any, ends: str, restarts: str, requeued: bool
) -> None:
    variables = {"SLURM_RESTART_COUNT": restarts} if restarts else {}
    process, noted = slurm(ends, **TASK, **variables)
    assert process.wait(120) == int(ends)
    assert (["scontrol", "requeue", "77"] in calls(noted)) == requeued


@pytest.mark.parametrize(("sent", "requeued"), [(signal.SIGUSR1, True), (signal.SIGTERM, False)])
def test_signals_drain_the_run(slurm: Any, sent: signal.Signals, requeued: bool) -> None:
    """SIGUSR1 says that the time limit is near; on SIGTERM Slurm itself decides what follows."""
    process, noted = slurm("drained", **TASK)
    ready = Path(f"{noted}.ready")
    for _ in range(6000):
        if ready.exists():
            break
        time.sleep(0.02)
    process.send_signal(sent)
    assert process.wait(120) == 130
    assert (["scontrol", "requeue", "77"] in calls(noted)) == requeued


def manifests(text: str) -> list[dict[str, Any]]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: make target/venv/tools")
    return list(yaml.safe_load_all(text))


K8S = ["k8s", "--shards", "64", "--shards-at-once", "16", "--image", "registry.local/bench:1",
       "--claim", "results", "--secret", "endpoint-key", "--"]  # fmt: skip
IN_BUCKET = [word for word in K8S if word not in ("--claim", "results")]


@pytest.mark.skipif(
    find_spec("kubernetes_validate") is None, reason="kubernetes-validate is not installed"
)
@pytest.mark.parametrize("version", ["1.29", "1.33", "newest"])
@pytest.mark.parametrize(
    "arguments",
    [[*K8S, *AWKWARD], [*K8S, *AWKWARD[:2]], [*IN_BUCKET, *AWKWARD, "--cache-dir", "s3://bench/x"]],
    ids=["all", "few", "bucket"],
)
def test_manifests_are_valid(program: Program, version: str, arguments: list[str]) -> None:
    import kubernetes_validate

    known = kubernetes_validate.latest_version()
    for manifest in manifests(emitted(program, *arguments)):
        kubernetes_validate.validate(
            manifest, known if version == "newest" else version, strict=True
        )


def test_manifests_say_what_schemas_do_not_check(program: Program) -> None:
    shards, merge = manifests(emitted(program, *K8S, *AWKWARD))
    spec = shards["spec"]
    pod = spec["template"]["spec"]
    [container] = pod["containers"]
    assert spec["completionMode"] == "Indexed"
    [count] = [one["value"] for one in container["env"] if one["name"] == "CONTEXT_BENCH_SHARDS"]
    assert spec["completions"] == int(count) == 64
    assert spec["parallelism"] == 16
    assert spec["maxFailedIndexes"] <= spec["completions"]
    # What Kubernetes itself checks when a Job is made.
    assert pod["restartPolicy"] == "Never"
    assert spec["podReplacementPolicy"] == "Failed"
    rules = spec["podFailurePolicy"]["rules"]
    assert {rule["action"] for rule in rules} <= {"FailJob", "FailIndex", "Ignore", "Count"}
    [codes] = [rule["onExitCodes"] for rule in rules if "onExitCodes" in rule]
    assert codes == {"containerName": container["name"], "operator": "In", "values": [2]}
    assert container["envFrom"] == [{"secretRef": {"name": "endpoint-key"}}]
    # `$$` is how a plain `$` is written where Kubernetes replaces `$(NAME)`.
    command = [word.replace("$$", "$") for word in container["command"]]
    assert command[-len(AWKWARD):] == AWKWARD  # fmt: skip
    assert not any(
        "$" in word.replace("$$", "") for word in container["command"]
    ), container["command"]
    [mount] = container["volumeMounts"]
    at = command.index("--cache-dir")
    assert command[at + 1] == mount["mountPath"] == "/results"
    merging = merge["spec"]["template"]["spec"]
    assert merge["spec"]["suspend"] is True and merging["restartPolicy"] == "Never"
    assert merging["containers"][0]["command"] == ["context-bench", "merge", "/results"]
    assert merging["volumes"] == pod["volumes"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--header", f"Authorization: Bearer {KEY}"],
        ["--proxy", f"http://me:{KEY}@gateway/v1"],
        ["--proxy", f"http://gateway/v1?api_key={KEY}"],
        ["--proxy", f"http://gateway/v1,key-env={KEY}"],
        ["--api-key-env", KEY],
        ["--extra-body", json.dumps({"api_key": KEY})],
        ["--model-args", f"base_url=http://h,api_key={KEY}"],
        ["--system-prompt", f"the key is {KEY}"],
    ],
)
@pytest.mark.parametrize("engine", ["slurm", "k8s"])
def test_keys_go_into_no_job(program: Program, engine: str, arguments: list[str]) -> None:
    flags = ["--image", "i", "--claim", "c"] if engine == "k8s" else []
    done = subprocess.run(
        [str(program.path), "emit", engine, "--shards", "2", *flags, "--", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""
    assert "hint: " in done.stderr and KEY not in done.stderr
