"""Looks at every node before anything is paid for."""

from __future__ import annotations

import os
import sys
from typing import TypedDict

from context_bench import _native, runner
from context_bench.distributed import _worker
from context_bench.distributed._payload import key_variables, unpack
from context_bench.distributed._ray import ray

#: How long a node may take to answer.
_NODE_SECONDS = 120.0


class PreflightError(ValueError):
    """A node cannot take part in a run."""


class Report(TypedDict):
    """What a node says about itself."""

    version: str
    python: str
    #: Systems and evaluators as they are there, with a key each.
    identities: list[tuple[str, str]]
    problems: list[str]


def look(packed: bytes, settings: _worker.Settings, variables: list[str]) -> Report:
    """Runs on a node."""
    problems = [
        f"the environment variable `{variable}` is not set"
        for variable in variables
        if not os.environ.get(variable)
    ]
    identities: list[tuple[str, str]] = []
    if not problems:
        try:
            asked = _worker.members(unpack(packed), settings)
            identities, unreachable = _native.look(runner._request(settings["spec"], **asked))
            problems += unreachable
        except Exception as error:
            problems.append(f"the run cannot be planned there: {error}")
    return {
        "version": _native.__version__,
        "python": "{}.{}".format(*sys.version_info[:2]),
        "identities": identities,
        "problems": problems,
    }


def check_nodes(packed: bytes, settings: _worker.Settings, units: _native.NativeUnits) -> int:
    """Asks every node and returns how many there are.

    Raises:
        PreflightError: If a node differs or lacks something, with its address.
    """
    affinity = ray("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    nodes = [
        node for node in ray().nodes() if node["Alive"] and node["Resources"].get("CPU", 0) > 0
    ]
    if not nodes:
        raise PreflightError(
            "no node of the Ray cluster has a CPU for work\nhint: start nodes with `--num-cpus`"
        )
    task = ray().remote(num_cpus=0, max_retries=0)(look)
    variables = sorted({*units.key_variables, *key_variables(packed)})
    asked = {}
    for node in nodes:
        pinned = affinity(node["NodeID"], soft=False)
        name = node["NodeManagerAddress"] + " " + node["NodeID"][:8]
        asked[name] = task.options(scheduling_strategy=pinned).remote(packed, settings, variables)
    problems = []
    for name, reference in asked.items():
        try:
            report: Report = ray().get(reference, timeout=_NODE_SECONDS)
        except Exception as error:
            last = (str(error).strip().splitlines() or [type(error).__name__])[-1]
            problems.append(f"node {name} does not answer: {last}")
            continue
        problems += [f"node {name}: {problem}" for problem in _differences(report, units)]
    if problems:
        raise PreflightError(
            "\n".join(problems)
            + "\nhint: nothing was sent; all nodes need the same package, the variables with keys "
            "and a way to the endpoints"
        )
    return len(nodes)


def _differences(report: Report, units: _native.NativeUnits) -> list[str]:
    """What speaks against a node, the most likely cause first."""
    here = {
        "context-bench": (_native.__version__, report["version"]),
        "Python": ("{}.{}".format(*sys.version_info[:2]), report["python"]),
    }
    found = [
        f"{what} {there}, here {ours}" for what, (ours, there) in here.items() if ours != there
    ]
    if found or report["problems"]:
        return found + report["problems"]
    ours, theirs = set(units.identities), set(map(tuple, report["identities"]))
    for what, key in sorted(ours ^ theirs):
        if what == "caution":
            where = "here and not there" if (what, key) in ours else "there and not here"
            return [f"{where}: {key}"]
        return [f"the {what} is another one there than here"]
    return []
