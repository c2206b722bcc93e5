"""Tasks and groups in the format of lm-evaluation-harness.

    tm = TaskManager(include_path="my_tasks")
    loaded = tm.load(["my_benchmark::nli_tasks::cb", "mmlu@generate"])

The harness itself need not be installed: files are read, groups resolved, prompts rendered and
responses scored here. Functions that files name with ``!function`` run in this interpreter.
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
    """A task as a member of its group, with all settings that apply to it there."""

    name: str
    #: Unique among its siblings; with ``@format`` if one was asked for.
    id: str
    #: With the group that it was reached through: ``nli_tasks::cb``.
    path: str
    alias: str | None
    format: str | None
    #: ``generate_until``, ``multiple_choice`` …; ``None`` for Python classes.
    output_type: str | None
    #: Settings after includes, defaults and overrides.
    config: dict[str, Any] = field(repr=False)
    #: Whether the task is a Python class.
    python: bool = False
    #: The dataset of the catalog that is this task, with its own prompts and scores.
    dataset: str | None = None
    _native: NativeTask | None = field(default=None, repr=False, compare=False)

    def tasks(self) -> Iterator[Task]:
        """Yields this task."""
        yield self

    def requests(
        self,
        splits: Mapping[str, Iterable[Mapping[str, Any]]],
        *,
        num_fewshot: int | None = None,
        limit: float | None = None,
        seed: int | None = None,
    ) -> Requests:
        """Renders the requests for the records of the evaluated split.

        Args:
            splits: Records by split, with the split names of the task.
            num_fewshot: Number of worked examples per prompt; a task that sets 0 keeps 0.
            limit: Use only the first documents; a number below 1 is a share of them.
            seed: Draws the worked examples.
        """
        plain = {name: list(rows) for name, rows in splits.items()}
        made, shown, warnings = self._yaml_task().requests(plain, num_fewshot, limit, seed)
        return Requests(shown, warnings, made)

    def score(
        self, requests: Requests, responses: Sequence[Any], *, iterations: int = 100_000
    ) -> Scores:
        """Scores responses.

        Args:
            requests: What the responses answer.
            responses: One per request: a text or a list of texts for generation, a list of
                ``(log-likelihood, is_greedy)`` for choices, or ``None`` for a failure. For
                ``acc_mutual_info``, choices are ``{"likelihoods": [...], "unconditional":
                [...]}``, with log-likelihoods after an empty context as the latter.
            iterations: Number of bootstrap resamples for standard errors.
        """
        native, given = requests._native, list(responses)
        summary, documents, warnings = self._yaml_task().score(native, given, iterations)
        return Scores(summary, documents, warnings)

    def _yaml_task(self) -> NativeTask:
        if self.dataset is not None:
            raise NotImplementedError(
                f"`{self.name}` is a dataset of the catalog with its own prompts\n"
                "hint: run it with `TaskManager.evaluate`, or use `name@generate`"
            )
        if self._native is None:
            raise NotImplementedError(
                f"`{self.name}` is a Python class\n"
                "hint: use its own methods; only tasks in YAML have requests here"
            )
        return self._native


@dataclass(frozen=True)
class Requests:
    """The requests to a model, one per document."""

    requests: list[dict[str, Any]]
    #: Warnings for the author of the task.
    warnings: list[str]
    _native: NativeRequests = field(repr=False, compare=False)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.requests)

    def __len__(self) -> int:
        return len(self.requests)


@dataclass(frozen=True)
class Scores:
    """The scores of responses."""

    #: Values by ``"metric,filter"`` and ``"metric_stderr,filter"``.
    summary: dict[str, Any]
    #: Per document and filter: ``doc_id``, ``filter``, ``filtered``, ``scores``.
    documents: list[dict[str, Any]] = field(repr=False)
    #: Warnings for the author of the task.
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
        """Yields all tasks below this group, depth first."""
        for child in self.children:
            yield from child.tasks()


class Loaded(Mapping[str, "Group | Task"]):
    """The groups and tasks of a selection by id, in order."""

    def __init__(self, nodes: Sequence[Group | Task], warnings: Sequence[str]) -> None:
        self.nodes = list(nodes)
        #: Warnings for the author of the tasks.
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
        include_path: A folder of YAML files, or several; the last folder wins where names are
            equal.
        cache: A file that caches the index, for folders with thousands of files.
        include_defaults: Whether to include the built-in tasks, groups and datasets;
            ``evaluate`` always includes them.
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
        """Warnings from reading the files."""
        return self._native.warnings

    def path(self, name: str) -> Path:
        """Returns the file that defines a task or group."""
        return Path(self._native.path(name))

    def load(
        self,
        names: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]],
        overrides: Mapping[str, Any] | None = None,
    ) -> Loaded:
        """Loads tasks and groups.

        Args:
            names: Names, ``group::task`` paths, ``name@format``, patterns, files, or
                definitions as dicts.
            overrides: Settings that override those of every loaded task.
        """
        wanted = [names] if isinstance(names, (str, Mapping)) else list(names)
        nodes: list[Group | Task] = []
        warnings: list[str] = []
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
            warnings += noticed
        return Loaded(nodes, warnings)

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
        """Runs systems over tasks and groups; their results are in ``result.tasks``.

        A system gets the prompt as ``context`` and answers with ``response``. An ``OpenAIProxy``
        is also asked for likelihoods if its endpoint returns them.

        Args:
            systems: The systems to ask.
            tasks: Names, ``group::task`` paths, ``name@format``, patterns or files.
            metrics: Metrics over all rows; ``MeanScore()`` reads the main score.
            data: Records by task and split, instead of those that tasks name.
            overrides: Settings that override those of every task.
            num_fewshot: Number of worked examples per prompt; a task that sets 0 keeps 0.
            limit: Use only the first documents of each task; a number below 1 is a share.
            seed: Draws the worked examples and shuffles options.
            confirm_run_unsafe_code: Allows tasks that run code written by a model.
            prompt: The prompt of tasks that are datasets of the catalog.

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
        spec = runner._run_settings(max_workers, cache_dir, text_fields, example_timeout, prompt)
        spec["benchmarks"] = [{"task": name} for name in names]
        spec["data"] = _given(include_path=[os.fspath(path) for path in include], limit=limit)
        spec["prompts"] = _given(num_fewshot=num_fewshot, overrides=_plain(overrides))
        spec["seeds"] = _given(options=seed, fewshot=seed)
        if confirm_run_unsafe_code:
            spec.setdefault("scoring", {})["confirm_run_unsafe_code"] = True
        return runner._run_spec(
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


def _given(**settings: Any) -> dict[str, Any]:
    """Returns the settings that were given."""
    return {name: value for name, value in settings.items() if value is not None}


def _plain(overrides: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if overrides is None else dict(overrides)


def _listed(paths: _Paths | None) -> list[str | os.PathLike[str]]:
    if paths is None:
        return []
    return [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)


def _node(data: dict[str, Any], leaves: Iterator[NativeTask | None]) -> Group | Task:
    """Builds a node; ``leaves`` yields its tasks in order."""
    if data.pop("kind") == "task":
        return Task(**data, _native=next(leaves))
    children = tuple(_node(child, leaves) for child in data.pop("children"))
    metrics = tuple(data.pop("aggregate_metrics"))
    return Group(children=children, aggregate_metrics=metrics, **data)
