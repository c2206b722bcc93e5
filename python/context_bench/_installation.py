"""Checks that the files of this package are complete and unmixed.

Another project, ``context-bench`` on PyPI, installs a folder of the same name. The check runs on
every import, so it only lists folders: this package, its subpackages, and the folder that it is
installed in. No file is read unless that folder has metadata of the other project.
"""

from __future__ import annotations

import os

__all__ = ["check"]

#: The modules of the package by folder; a test compares this with the files.
_MODULES = {
    "": """__init__ __main__ _conversations _event_loop _installation _memory_instance _progress
        _sandbox _task_host cache comparison memory memory_types registry results runner types""",
    "datasets": """__init__ agent_traces code huggingface instruction knowledge loading local
        longcontext memory multi_turn nli prompts qa reasoning summarization""",
    "distributed": "__init__ _driver _payload _preflight _quota _ray _worker",
    "evaluators": """__init__ answer_quality code_execution ifeval_checker llm_judge
        math_equivalence multiple_choice nli_label_match rouge summarization_quality""",
    "memory_systems": "__init__ __main__ _relay_memory mem0 opening serving zep",
    "metrics": """__init__ compression cost_of_pass latency mean_score pareto pass_rate
        per_dataset quality token_stats""",
    "reporters": "__init__ html",
    "systems": "__init__ claude_cli openai_proxy",
    "tasks": "__init__",
    "utils": "__init__ tokens",
}

_HINT = (
    "hint: pip uninstall --yes context-bench context-bench-rs\n"
    "      then install the wheel of context-bench-rs again; `make python` in a clone builds it"
)


def check(folder: str) -> None:
    """Raises ``ImportError`` when files are missing or belong to another distribution."""
    there, native = _modules(folder)
    if "__init__" not in there:
        return  # Bundled into a program, which nothing else installs into.
    if not native:
        raise ImportError(
            "the native module of context-bench-rs, `context_bench/_native`, is missing: the "
            f"installation is broken\n{_HINT}"
        )
    ours = {f"{part}/{name}" if part else name for part in _MODULES for name in _names(part)}
    foreign, missing = sorted(there - ours), sorted(ours - there)
    if foreign or missing:
        what = "does not belong to it" if foreign else "is missing"
        raise ImportError(
            f"the files of context-bench-rs are mixed with those of another distribution: "
            f"`context_bench/{(foreign or missing)[0]}.py` {what}\n{_HINT}"
        )
    metadata = _other_distribution(os.path.dirname(folder))
    if metadata is not None:
        raise ImportError(
            f"`context-bench`, another project, is installed into the same folder as "
            f"context-bench-rs (`{metadata}`); removing only one would break both\n{_HINT}"
        )


def _names(part: str) -> list[str]:
    return _MODULES[part].split()


def _modules(folder: str) -> tuple[set[str], bool]:
    """The modules in the folder, and whether the native one is among them."""
    names: set[str] = set()
    native = False
    for part in _MODULES:
        try:
            found = os.listdir(os.path.join(folder, part) if part else folder)
        except OSError:
            continue
        prefix = f"{part}/" if part else ""
        modules = (name for name in found if name.endswith(".py") and name[0] != ".")
        names.update(prefix + name[:-3] for name in modules)
        if not part:
            native = any(name.startswith("_native.") and name != "_native.pyi" for name in found)
    return names, native


def _other_distribution(parent: str) -> str | None:
    """The metadata of a distribution ``context-bench`` that owns files of this package."""
    try:
        found = os.listdir(parent)
    except OSError:
        return None
    for name in found:
        if name.startswith("context_bench-") and name.endswith((".dist-info", ".egg-info")):
            for record in ("RECORD", "installed-files.txt"):
                try:
                    with open(os.path.join(parent, name, record), encoding="utf-8") as file:
                        if any("context_bench/__init__.py" in line for line in file):
                            return name
                except OSError:
                    continue
    return None
