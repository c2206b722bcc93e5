"""Tasks and groups in the format of lm-evaluation-harness.

    tm = TaskManager(include_path="my_tasks")
    loaded = tm.load(["my_benchmark::nli_tasks::cb", "mmlu@generate"])

Files are read, groups resolved, prompts rendered and responses scored natively;
nothing of the harness needs to be installed. Functions that files name with
``!function`` run in this interpreter.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from context_bench._native import NativeRequests, NativeTask, NativeTasks
from context_bench.results import EvalResult
from context_bench.types import Metric, System

__all__ = ["Group", "Loaded", "Requests", "Scores", "Task", "TaskManager"]

_Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class Task:
    """A task where it stands, with everything that applies to it there."""

    name: str
    #: Unique among its siblings; with ``@format`` when one was asked for.
    id: str
    #: With the group it was reached through: ``nli_tasks::cb``.
    path: str
    alias: str | None
    format: str | None
    #: ``generate_until``, ``multiple_choice`` …; ``None`` for tasks in Python.
    output_type: str | None
    #: Settings after includes, defaults and overrides.
    config: dict[str, Any] = field(repr=False)
    #: Whether a Python class is the task.
    python: bool = False
    #: The dataset of the catalog that is the task, asked and scored in its own way.
    dataset: str | None = None
    _native: NativeTask | None = field(default=None, repr=False, compare=False)

    def tasks(self) -> Iterator[Task]:
        """This task."""
        yield self

    def requests(
        self,
        splits: Mapping[str, Iterable[Mapping[str, Any]]],
        *,
        num_fewshot: int | None = None,
        limit: float | None = None,
        seed: int | None = None,
    ) -> Requests:
        """What a model is asked about the records of the evaluated split.

        Args:
            splits: Records by split, as the task names its splits.
            num_fewshot: Examples per prompt; does not replace a 0 of the task.
            limit: So many documents, or a share of them below 1.
            seed: Decides which examples are drawn.
        """
        plain = {name: list(rows) for name, rows in splits.items()}
        made, shown, warnings = self._ready().requests(plain, num_fewshot, limit, seed)
        return Requests(shown, warnings, made)

    def score(
        self, requests: Requests, responses: Sequence[Any], *, iterations: int = 100_000
    ) -> Scores:
        """Scores responses, one per request: a text or a list of texts for generation,
        a list of ``(log-likelihood, is_greedy)`` for choices, ``None`` for a failure.
        For ``acc_mutual_info`` choices are ``{"likelihoods": [...], "unconditional": [...]}``,
        the latter log-likelihoods after an empty context.

        ``iterations`` is how often documents are drawn again for standard errors.
        """
        native, given = requests._native, list(responses)
        summed, documents, warnings = self._ready().score(native, given, iterations)
        return Scores(summed, documents, warnings)

    def _ready(self) -> NativeTask:
        if self.dataset is not None:
            raise NotImplementedError(
                f"`{self.name}` is a dataset of the catalog, asked in its own way\n"
                "hint: `TaskManager.evaluate` runs it; `name@generate` has prompts of its own"
            )
        if self._native is None:
            raise NotImplementedError(
                f"`{self.name}` is a Python class\n"
                "hint: use its own methods; requests are built for tasks in YAML"
            )
        return self._native


@dataclass(frozen=True)
class Requests:
    """What a model is asked, one entry per document."""

    requests: list[dict[str, Any]]
    #: What was noticed.
    warnings: list[str]
    _native: NativeRequests = field(repr=False, compare=False)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.requests)

    def __len__(self) -> int:
        return len(self.requests)


@dataclass(frozen=True)
class Scores:
    """What came of the responses."""

    #: ``"metric,filter"`` and ``"metric_stderr,filter"`` to their values.
    summary: dict[str, Any]
    #: Per document and filter: ``doc_id``, ``filter``, ``filtered``, ``scores``.
    documents: list[dict[str, Any]] = field(repr=False)
    #: What was noticed.
    warnings: list[str]


@dataclass(frozen=True)
class Group:
    """A group with its members, in order."""

    name: str
    id: str
    alias: str | None
    aggregate_metrics: tuple[str, ...]
    children: tuple[Group | Task, ...]
    metadata: dict[str, Any] = field(default_factory=dict, repr=False)

    def tasks(self) -> Iterator[Task]:
        """All tasks below, depth first."""
        for child in self.children:
            yield from child.tasks()


class Loaded(Mapping[str, "Group | Task"]):
    """What a selection stands for: groups and tasks by id, in order."""

    def __init__(self, nodes: Sequence[Group | Task], warnings: Sequence[str]) -> None:
        self.nodes = list(nodes)
        #: What was noticed on the way.
        self.warnings = list(warnings)

    def __getitem__(self, key: str) -> Group | Task:
        for node in self.nodes:
            if key in (node.id, getattr(node, "path", None)):
                return node
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter([node.id for node in self.nodes])

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def tasks(self) -> list[Task]:
        """All tasks, depth first."""
        return [task for node in self.nodes for task in node.tasks()]

    def __repr__(self) -> str:
        return f"Loaded({[node.id for node in self.nodes]})"


class TaskManager:
    """Finds and loads tasks, groups and tags by name.

    Args:
        include_path: A folder of YAML files, or several; of equal names the one of
            the later folder counts.
        cache: A file that keeps the index, for trees of thousands of files.
        include_defaults: Whether the tasks and groups that come with the package, and
            its datasets, are known too; what is evaluated always knows them.
    """

    def __init__(
        self,
        include_path: _Paths | None = None,
        *,
        cache: str | os.PathLike[str] | None = None,
        include_defaults: bool = True,
    ) -> None:
        self._native = NativeTasks(
            [os.fspath(path) for path in _listed(include_path)],
            None if cache is None else os.fspath(cache),
            include_defaults,
        )

    @property
    def all_tasks(self) -> list[str]:
        """Every name that can be loaded: tasks, groups and tags."""
        return sorted({*self.all_subtasks, *self.all_groups, *self.all_tags})

    @property
    def all_subtasks(self) -> list[str]:
        """The names of tasks."""
        return self._native.tasks()

    @property
    def all_groups(self) -> list[str]:
        """The names of groups."""
        return self._native.groups()

    @property
    def all_tags(self) -> list[str]:
        """The names of tags."""
        return list(self._native.tags())

    @property
    def warnings(self) -> list[str]:
        """What was noticed while reading the files."""
        return self._native.warnings

    def path(self, name: str) -> Path:
        """The file that defines a task or group."""
        return Path(self._native.path(name))

    def load(
        self,
        names: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]],
        overrides: Mapping[str, Any] | None = None,
    ) -> Loaded:
        """Resolves names, ``group::task`` paths, ``name@format``, patterns, files,
        and definitions written as dicts.

        ``overrides`` replace settings of every task that is loaded.
        """
        wanted = [names] if isinstance(names, (str, Mapping)) else list(names)
        nodes: list[Group | Task] = []
        remarks: list[str] = []
        texts = [name for name in wanted if isinstance(name, str)]
        if len(texts) == len(wanted):
            found, tasks, noticed = self._native.load(texts, _plain(overrides))
            leaves = iter(tasks)
            return Loaded([_node(node, leaves) for node in found], noticed)
        for name in wanted:
            if isinstance(name, str):
                found, tasks, noticed = self._native.load([name], _plain(overrides))
            else:
                definition = {**name, **(overrides or {})}
                node, tasks, noticed = self._native.load_inline(definition, os.getcwd())
                found = [node]
            leaves = iter(tasks)
            nodes += [_node(node, leaves) for node in found]
            remarks += noticed
        return Loaded(nodes, remarks)

    def evaluate(
        self,
        systems: Sequence[System],
        tasks: str | Sequence[str],
        metrics: Sequence[Metric] = (),
        *,
        data: Mapping[str, Mapping[str, Iterable[Mapping[str, Any]]]] | None = None,
        overrides: Mapping[str, Any] | None = None,
        num_fewshot: int | None = None,
        limit: float | None = None,
        seed: int | None = None,
        max_workers: int | Literal["auto"] | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        progress: bool = True,
        text_fields: Sequence[str] | None = None,
        example_timeout: float | None = None,
        confirm_run_unsafe_code: bool = False,
        prompt: Literal["official", "plain"] | None = None,
    ) -> EvalResult:
        """Runs systems over tasks and groups; ``result.tasks`` has their results.

        A system gets the prompt as ``context`` and answers with ``response``; an
        ``OpenAIProxy`` is also asked for likelihoods where its address gives them.

        Args:
            systems: Who is asked.
            tasks: Names, ``group::task``, ``name@format``, patterns, files.
            metrics: Computed over all rows; ``MeanScore()`` reads the main score.
            data: Records by task and split, in place of those that tasks name.
            overrides: Settings of every task.
            num_fewshot: Examples per prompt; does not replace a 0 of a task.
            limit: So many documents per task, or a share of them below 1.
            seed: Decides which examples are drawn, and the order of options.
            confirm_run_unsafe_code: Allows tasks that run code which a model wrote.
            prompt: How datasets of the catalog are asked, which are tasks too.

        The other arguments are those of ``context_bench.evaluate``.
        """
        from context_bench import runner
        from context_bench.utils import tokens

        records = {
            task: {split: list(rows) for split, rows in splits.items()}
            for task, splits in (data or {}).items()
        }
        names = [tasks] if isinstance(tasks, str) else list(tasks)
        include, index = self._native.settings()
        spec = runner._general(max_workers, cache_dir, text_fields, example_timeout, prompt)
        spec["benchmarks"] = [{"task": name} for name in names]
        spec["data"] = _said(include_path=[os.fspath(path) for path in include], limit=limit)
        spec["prompts"] = _said(num_fewshot=num_fewshot, overrides=_plain(overrides))
        spec["seeds"] = _said(options=seed, fewshot=seed)
        if confirm_run_unsafe_code:
            spec.setdefault("scoring", {})["confirm_run_unsafe_code"] = True
        return runner._asked(
            spec,
            systems=list(systems),
            metrics=list(metrics),
            records=records,
            index=index,
            tokenizer=tokens.current(),
            progress=progress,
        )

    def __repr__(self) -> str:
        return f"TaskManager({self._native!r})"


def _said(**settings: Any) -> dict[str, Any]:
    """What was said of some settings."""
    return {name: value for name, value in settings.items() if value is not None}


def _plain(overrides: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if overrides is None else dict(overrides)


def _listed(paths: _Paths | None) -> list[str | os.PathLike[str]]:
    if paths is None:
        return []
    return [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)


def _node(data: dict[str, Any], leaves: Iterator[NativeTask | None]) -> Group | Task:
    """A node, with the native tasks in the order of its leaves."""
    if data.pop("kind") == "task":
        return Task(**data, _native=next(leaves))
    children = tuple(_node(child, leaves) for child in data.pop("children"))
    metrics = tuple(data.pop("aggregate_metrics"))
    return Group(children=children, aggregate_metrics=metrics, **data)
