"""``evaluate`` and ``run``: run systems over datasets and score their answers."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from context_bench import _native
from context_bench._event_loop import EventLoop
from context_bench._progress import Display
from context_bench.registry import load_dataset, registry
from context_bench.results import EvalResult, _from_parts
from context_bench.types import Evaluator, Metric, System
from context_bench.utils import tokens

if TYPE_CHECKING:
    from context_bench.distributed import Ray

__all__ = ["EvaluationWarning", "evaluate", "run"]


class EvaluationWarning(UserWarning):
    """Something about a run that its numbers do not show."""


def evaluate(
    systems: Sequence[System],
    dataset: Iterable[Mapping[str, Any]] | str | os.PathLike[str] | Sequence[str],
    evaluators: Sequence[Evaluator],
    metrics: Sequence[Metric] | None = None,
    max_examples: int | None = None,
    progress: bool = True,
    text_fields: Sequence[str] | str | None = None,
    max_workers: int | Literal["auto"] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    *,
    tokenizer: str | Callable[[str], int] | None = None,
    example_timeout: float | None = None,
    prompt: Literal["official", "plain"] | None = None,
    proxies: Sequence[str | os.PathLike[str] | Mapping[str, Any]] = (),
    upstream: str | None = None,
    arms: Sequence[Literal["direct", "passthrough", "transform"]] | None = None,
    tap: Mapping[str, Any] | None = None,
    requests: Mapping[str, Any] | None = None,
    baseline: str | None = None,
    margin: float | None = None,
    score_field: str | None = None,
    fail_if: Sequence[str] | str | None = None,
    policy: str | os.PathLike[str] | None = None,
    baseline_run: str | None = None,
    prices: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    stop_when_decided: bool = False,
    control: str | None = None,
    sweep: Sequence[str] | str | None = None,
    repeats: int | None = None,
    executor: Ray | None = None,
) -> EvalResult:
    """Runs systems over a dataset and scores their outputs.

    Args:
        systems: Objects with ``name`` and ``process(example) -> dict``, built in or your own,
            sync or async.
        dataset: Any iterable of dicts; generators are streamed. A string is the name of a
            built-in or registered dataset (``"hotpotqa"``, ``"mmlu:anatomy"``) or a file, and a
            list of strings is several of them.
        evaluators: Objects with ``name`` and ``score(original, processed) -> dict``.
        metrics: Objects with ``name`` and ``compute(rows) -> dict``.
        max_examples: Use only the first examples; a negative number leaves out that many at
            the end.
        progress: Whether to show progress on stderr.
        text_fields: Count tokens in these fields only.
        max_workers: Calls in flight at the same time, over all systems; ``"auto"`` adapts the
            number. By default, systems are called one at a time on the calling thread.
        cache_dir: Folder of the run store, which keeps answers and scores and reuses them in
            later runs.
        tokenizer: A name such as ``"o200k_base"``, or a function from text to a number.
        example_timeout: Time limit of a system for one example, in seconds.
        prompt: How endpoints are asked about datasets by name: ``"official"`` (as the authors
            of the dataset ask; the default) or ``"plain"`` (only context and question).
            Examples that are passed as dicts always get the plain prompt. Your own systems get
            the fields and may use ``datasets.prompt(name)``.
        proxies: Proxies to measure behind a tap, as ``--proxy`` of the program takes them: the
            name or file of a profile, which is then started for the run, or ``"NAME=URL"`` for
            one that already runs. A dict is a system as run files have it, such as
            ``{"proxy": "kompact", "args": ["--verbose"]}``. Needs ``upstream``.
        upstream: The base URL of the provider behind the proxies, as ``--upstream``. Every proxy
            becomes its arms, beside an arm ``direct`` that asks the provider through the tap alone.
        arms: Which arms to measure; all by default.
        tap: Further settings of the tap, by their keys in the section ``tap`` of run files:
            ``listen``, ``log``, ``credential``, ``exclusive``, ``unattributed_limit``,
            ``encoding``.
        requests: How the arms and other endpoints by name are asked, by the keys of the section
            ``requests`` of run files, such as ``model`` and ``api``.
        baseline: The name of the system that others are compared with; default: the first.
        margin: How much of the score a system may lose and still count as not worse: 0.02 is two
            points.
        score_field: The score that verdicts are about; default ``"f1"``, or that of the dataset.
        fail_if: Rules such as ``"f1 < baseline - 0.02"`` (``docs/reference/gates.md``). Nothing is
            raised: ``result.gates`` has what became of them, ``result.failed_gates`` those that
            did not pass. They may name scores, ``error_rate`` and the metrics of this package
            that are passed as ``metrics``.
        policy: A file of such rules, one on each line.
        baseline_run: A run in ``cache_dir`` that ``baseline`` means in rules, such as ``"last"``.
        prices: Files of prices (``docs/reference/prices.md``) on top of the list prices that come
            with the package; the last one that has a model decides. ``"builtin"`` stands for those
            list prices. The summary then has ``cost`` and ``mean_cost``.
        stop_when_decided: Ends the run as soon as the verdict about ``margin`` is there for every
            system; examples are then taken in a random order.
        control: The name of a system that runs a second time: what the two differ by is noise.
        sweep: Built-in systems with several values of a setting, such as
            ``"extractive:ratio=0.05..0.8/6"``, in addition to ``systems``.
        repeats: How often each system is asked about each example of datasets by name.
        executor: Where systems are asked: ``context_bench.distributed.Ray(...)`` for a Ray
            cluster; by default in this process.

    Returns:
        The rows in dataset order, and the numbers of the metrics. If a system or an evaluator
        raises an exception, only that row fails: ``row.error`` and ``row.unscored`` have the
        reason, and a warning says how often it happened.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a name, file or setting is wrong.
    """
    names = _dataset_names(dataset)
    examples: Any = () if names is not None else dataset
    if names is not None and set(names) & set(registry.list("dataset")):
        examples, names = _registered_examples(names), None
    if max_examples is not None and max_examples < 0:
        if names is not None:
            raise ValueError("`max_examples` of a dataset by name cannot be negative")
        examples = list(examples)[:max_examples]
        max_examples = None
    spec = _run_settings(max_workers, cache_dir, text_fields, example_timeout, prompt)
    spec.update(_tap_settings(proxies, upstream, arms, tap, requests))
    if executor is not None:
        executor._add_to(spec)
    _add_verdicts(
        spec,
        baseline=baseline,
        margin=margin,
        score_field=score_field,
        fail_if=fail_if,
        policy=policy,
        baseline_run=baseline_run,
        prices=prices,
        stop_when_decided=stop_when_decided,
        control=control,
        sweep=sweep,
    )
    if repeats is not None:
        if names is None:
            raise ValueError(
                "`repeats` is for datasets by name\nhint: repeat the dicts of the list"
            )
        spec.setdefault("data", {})["repeats"] = repeats
    if names is not None:
        spec["benchmarks"] = [{"dataset": name} for name in names]
        if max_examples is not None:
            spec.setdefault("data", {})["limit"] = max_examples
    return _run_spec(
        spec,
        systems=_listed("systems", systems),
        dataset=examples if names is None else None,
        max_examples=max_examples if names is None else None,
        evaluators=_listed("evaluators", evaluators),
        metrics=_listed("metrics", metrics or ()),
        tokenizer=tokens.current() if tokenizer is None else tokenizer,
        progress=progress,
        executor=executor,
    )


def run(
    spec: Mapping[str, Any] | str | os.PathLike[str],
    *,
    systems: Sequence[System] = (),
    dataset: Iterable[Mapping[str, Any]] | None = None,
    evaluators: Sequence[Evaluator] | None = None,
    metrics: Sequence[Metric] | None = None,
    progress: bool = True,
) -> EvalResult:
    """Runs a run file, as ``context-bench run bench.yaml`` does.

    Args:
        spec: The path of a run file, or its contents as a dict (``docs/reference/run-file.md``
            lists all keys).
        systems: More systems, built in or your own.
        dataset: More examples, beside the benchmarks of the spec.
        evaluators: Evaluators to use instead of those of the datasets.
        metrics: Metrics to use instead of those of reports.
        progress: Whether to show progress on stderr.

    Returns:
        The rows in dataset order, and the numbers of the metrics.

    Raises:
        ValueError: If a key, name, file or setting is wrong; in that case nothing was sent.
    """
    return _run_spec(
        dict(spec) if isinstance(spec, Mapping) else os.fspath(spec),
        systems=_listed("systems", systems),
        dataset=dataset,
        evaluators=None if evaluators is None else _listed("evaluators", evaluators),
        metrics=None if metrics is None else _listed("metrics", metrics),
        progress=progress,
    )


def _run_settings(
    max_workers: int | Literal["auto"] | None,
    cache_dir: str | os.PathLike[str] | None,
    text_fields: Sequence[str] | str | None,
    example_timeout: float | None,
    prompt: str | None = None,
) -> dict[str, Any]:
    """Returns the settings that all kinds of runs share, as a spec. Arguments that were not
    given are left out, so that the planner decides."""
    spec: dict[str, Any] = {"limits": {}}
    if max_workers is not None:
        spec["limits"]["max_workers"] = _workers(max_workers)
    if example_timeout is not None:
        spec["limits"]["example_timeout"] = example_timeout
    if prompt is not None:
        spec["prompt"] = prompt
    if cache_dir is not None:
        spec["cache_dir"] = os.fspath(cache_dir)
    if text_fields is not None:
        spec["scoring"] = {"text_fields": tokens.field_names(text_fields)}
    return spec


def _tap_settings(
    proxies: Sequence[str | os.PathLike[str] | Mapping[str, Any]],
    upstream: str | None,
    arms: Sequence[str] | None,
    tap: Mapping[str, Any] | None,
    requests: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Returns the arms of proxies behind a tap as a part of a spec. The planner decides whether
    they make sense together."""
    if isinstance(proxies, (str, os.PathLike)):
        raise TypeError("`proxies` must be a list, such as `[\"kompact\"]`")
    section = dict(tap or {})
    if "log" in section:
        section["log"] = os.fspath(section["log"])
    if upstream is not None:
        section["upstream"] = upstream
    if arms is not None:
        section["arms"] = _listed("arms", arms)
    spec: dict[str, Any] = {"tap": section} if section else {}
    if proxies:
        spec["systems"] = [_proxy(proxy) for proxy in proxies]
    if requests:
        spec["requests"] = dict(requests)
    return spec


def _proxy(proxy: str | os.PathLike[str] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(proxy, Mapping):
        return dict(proxy)
    if not isinstance(proxy, str):
        return {"proxy": os.fspath(proxy)}
    # A name as the program takes it: nothing that an address or a path begins with.
    name, mark, rest = proxy.partition("=")
    if mark and name and not set(name) & set("/:?,"):
        return {"name": name, "proxy": rest}
    return {"proxy": proxy}


def _add_verdicts(
    spec: dict[str, Any],
    *,
    fail_if: Sequence[str] | str | None,
    policy: str | os.PathLike[str] | None,
    prices: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None,
    stop_when_decided: bool,
    sweep: Sequence[str] | str | None,
    **scoring: Any,
) -> None:
    """Adds to a spec how systems are compared, and when that is not good enough."""
    if policy is not None:
        scoring["policy"] = os.fspath(policy)
    if fail_if is not None:
        scoring["fail_if"] = _texts(fail_if)
    if prices is not None:
        scoring["prices"] = _paths(prices)
    given = {name: value for name, value in scoring.items() if value is not None}
    if given:
        spec.setdefault("scoring", {}).update(given)
    if stop_when_decided:
        spec["limits"]["stop_when_decided"] = True
    if sweep is not None:
        spec["sweeps"] = _texts(sweep)


def _paths(given: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    files = [given] if isinstance(given, (str, os.PathLike)) else list(given)
    return [os.fspath(file) for file in files]


def _texts(given: Sequence[str] | str) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _run_spec(spec: dict[str, Any] | str, *, frames: int = 3, **members: Any) -> EvalResult:
    """Plans and runs a spec, with the objects that a spec cannot hold (see ``_request``). Warnings
    are about the line so many frames away; 0 for none."""
    parts = _native.evaluate(_request(spec, **members))
    notes = parts.pop("_notes", [])
    result = _from_parts(parts)
    for note in notes if frames else ():
        warnings.warn(note, EvaluationWarning, stacklevel=frames)
    return result


def _request(
    spec: dict[str, Any] | str,
    *,
    systems: list[Any],
    dataset: Any = None,
    max_examples: int | None = None,
    evaluators: list[Any] | None = None,
    metrics: list[Any] | None = None,
    records: dict[str, Any] | None = None,
    index: str | os.PathLike[str] | None = None,
    tokenizer: Any = None,
    progress: bool = True,
    salt: str | None = None,
    leases: Any = None,
    executor: Ray | None = None,
    unit: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What the native module is asked."""
    return {
        "spec": spec,
        "systems": systems,
        "dataset": dataset,
        "max_examples": max_examples,
        "evaluators": evaluators,
        "metrics": metrics,
        "records": records,
        "index": index,
        "tokenizer": tokenizer,
        "display": Display() if progress else None,
        "aio": EventLoop(),
        "salt": salt,
        "leases": leases,
        "executor": executor,
        "unit": unit,
    }


def _dataset_names(dataset: Any) -> list[str] | None:
    if isinstance(dataset, (str, os.PathLike)):
        return [os.fspath(dataset)]
    if isinstance(dataset, (list, tuple)) and dataset and isinstance(dataset[0], str):
        return [str(name) for name in dataset]
    return None


def _registered_examples(names: list[str]) -> Iterable[Mapping[str, Any]]:
    """Yields the examples of several datasets, some of them registered."""
    for name in names:
        for example in load_dataset(name):
            tagged = isinstance(example, Mapping) and "dataset" not in example
            yield {**example, "dataset": name} if tagged else example


def _workers(max_workers: int | Literal["auto"] | None) -> int | Literal["auto"]:
    if max_workers == "auto":
        return "auto"
    try:
        number = operator.index(1 if max_workers is None else max_workers)
    except TypeError:
        raise TypeError(
            f"`max_workers` must be a whole number, found {max_workers!r}\n"
            'hint: pass a number such as 16, or "auto"'
        ) from None
    # The planner rejects 0; a spec cannot hold a negative number.
    return max(number, 0)


def _listed(what: str, objects: Any) -> list[Any]:
    try:
        return list(objects)
    except TypeError:
        kind = type(objects).__name__
        raise TypeError(
            f"`{what}` must be a list, found a {kind}\nhint: write `{what}=[...]`"
        ) from None
