"""``evaluate``: systems over a dataset, scored and summed up."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from context_bench import _native
from context_bench._aio import Loop
from context_bench._progress import Display
from context_bench.registry import load_dataset, registry
from context_bench.results import EvalResult, _from_parts
from context_bench.types import Evaluator, Metric, System
from context_bench.utils import tokens

__all__ = ["EvaluationWarning", "evaluate", "run"]


class EvaluationWarning(UserWarning):
    """Something about a run that its numbers alone do not tell."""


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
) -> EvalResult:
    """Runs systems over a dataset, scores what they make of it, and sums up.

    Args:
        systems: Objects with ``name`` and ``process(example) -> dict``, native or
            your own, sync or async.
        dataset: Any iterable of dicts; generators stream. A string is the name of
            a built-in or registered dataset (``"hotpotqa"``, ``"mmlu:anatomy"``) or a
            file, a list of strings several of them.
        evaluators: Objects with ``name`` and ``score(original, processed) -> dict``.
        metrics: Objects with ``name`` and ``compute(rows) -> dict``.
        max_examples: Only the first so many examples; a negative number leaves out
            that many at the end.
        progress: Whether to show on stderr how far the run is.
        text_fields: Count the tokens of these fields only.
        max_workers: How many calls may be in flight, over all systems; ``"auto"``
            finds the number. Without it, systems are called one at a time on the
            calling thread.
        cache_dir: A folder in which everything is kept; what is there already is
            not asked again.
        tokenizer: A name (``"o200k_base"``) or a function from text to a number.
        example_timeout: Seconds that a system may take for one example.
        prompt: How endpoints are asked about datasets by name: ``"official"`` (the
            default; as the authors of the dataset ask) or ``"plain"`` (context and
            question alone). Examples that are passed as dicts are asked plainly; systems
            of your own get the fields and may use ``datasets.prompt(name)``.

    Returns:
        The rows in dataset order and the numbers of the metrics. A system or an
        evaluator that raises costs its row, not the run: ``row.error`` and
        ``row.unscored`` tell what happened, and a warning how often.

    Raises:
        TypeError: When something that was passed cannot be what it should be.
        ValueError: When names, files or settings are wrong.
    """
    names = _dataset_names(dataset)
    examples: Any = () if names is not None else dataset
    if names is not None and set(names) & set(registry.list("dataset")):
        examples, names = _registered(names), None
    if max_examples is not None and max_examples < 0:
        if names is not None:
            raise ValueError("`max_examples` of a dataset by name cannot be negative")
        examples = list(examples)[:max_examples]
        max_examples = None
    spec = _general(max_workers, cache_dir, text_fields, example_timeout, prompt)
    if names is not None:
        spec["benchmarks"] = [{"dataset": name} for name in names]
        if max_examples is not None:
            spec["data"] = {"limit": max_examples}
    return _asked(
        spec,
        systems=_listed("systems", systems),
        dataset=examples if names is None else None,
        max_examples=max_examples if names is None else None,
        evaluators=_listed("evaluators", evaluators),
        metrics=_listed("metrics", metrics or ()),
        tokenizer=tokens.current() if tokenizer is None else tokenizer,
        progress=progress,
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
    """Runs what a run file describes, as ``context-bench run bench.yaml`` does.

    Args:
        spec: The path of a run file, or the same as a dict
            (``docs/reference/run-file.md`` has all keys).
        systems: More systems, native or your own.
        dataset: Examples of your own beside the benchmarks of the spec.
        evaluators: Evaluators of your own, in place of those of the datasets.
        metrics: Metrics of your own, in place of those that reports have.
        progress: Whether to show on stderr how far the run is.

    Raises:
        ValueError: When a key, name, file or setting is wrong; nothing was sent then.
    """
    return _asked(
        dict(spec) if isinstance(spec, Mapping) else os.fspath(spec),
        systems=_listed("systems", systems),
        dataset=dataset,
        evaluators=None if evaluators is None else _listed("evaluators", evaluators),
        metrics=None if metrics is None else _listed("metrics", metrics),
        progress=progress,
    )


def _general(
    max_workers: int | Literal["auto"] | None,
    cache_dir: str | os.PathLike[str] | None,
    text_fields: Sequence[str] | str | None,
    example_timeout: float | None,
    prompt: str | None = None,
) -> dict[str, Any]:
    """What every call of the package can say about a run, as a spec. Nothing is decided
    here: what is not said is left out."""
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


def _asked(
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
) -> EvalResult:
    """Plans and runs a spec, with the objects that no spec can hold."""
    asked = {
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
        "aio": Loop(),
    }
    parts = _native.evaluate(asked)
    notes = parts.pop("_notes", [])
    result = _from_parts(parts)
    for note in notes:
        warnings.warn(note, EvaluationWarning, stacklevel=3)
    return result


def _dataset_names(dataset: Any) -> list[str] | None:
    if isinstance(dataset, (str, os.PathLike)):
        return [os.fspath(dataset)]
    if isinstance(dataset, (list, tuple)) and dataset and isinstance(dataset[0], str):
        return [str(name) for name in dataset]
    return None


def _registered(names: list[str]) -> Iterable[Mapping[str, Any]]:
    """The examples of datasets, some of which the program itself made known."""
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
    # The planner has a word on 0; a spec cannot hold less.
    return max(number, 0)


def _listed(what: str, objects: Any) -> list[Any]:
    try:
        return list(objects)
    except TypeError:
        kind = type(objects).__name__
        raise TypeError(
            f"`{what}` must be a list, found a {kind}\nhint: write `{what}=[...]`"
        ) from None
