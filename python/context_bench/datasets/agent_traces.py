"""Function calls, and issues of software projects."""

from __future__ import annotations

from context_bench.datasets.loading import Examples, Path, load

__all__ = [
    "apigen_mt",
    "bfcl_simple",
    "swe_agent_traces",
    "swebench",
    "swebench_lite",
    "swebench_verified",
]


def apigen_mt(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Function calls of xLAM, verified: a query, its tools, and the calls to make."""
    return load("apigen", n, config=config, split=split, path=path)


def bfcl_simple(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Berkeley Function-Calling Leaderboard, version 3, single-turn categories."""
    return load("bfcl", n, config=config, split=split, path=path)


def swebench(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Issues of Python projects and the patches that fixed them."""
    return load("swebench", n, config=config, split=split, path=path)


def swebench_lite(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """The cheaper part of SWE-bench."""
    return load("swebench-lite", n, config=config, split=split, path=path)


def swebench_verified(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """The part of SWE-bench that people have checked to be solvable."""
    return load("swebench-verified", n, config=config, split=split, path=path)


#: The name of ``swebench_lite`` in the original tool.
swe_agent_traces = swebench_lite
