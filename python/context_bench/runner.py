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

__all__ = ["EvaluationWarning", "evaluate"]


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
    return run(
        systems=_listed("systems", systems),
        names=names,
        dataset=examples,
        evaluators=_listed("evaluators", evaluators),
        metrics=_listed("metrics", metrics or ()),
        max_examples=max_examples,
        max_workers=_workers(max_workers),
        text_fields=None if text_fields is None else tokens.field_names(text_fields),
        cache_dir=None if cache_dir is None else os.fspath(cache_dir),
        tokenizer=tokens.current() if tokenizer is None else tokenizer,
        example_timeout=example_timeout,
        display=Display() if progress else None,
        tasks=None,
    )


def run(**plan: Any) -> EvalResult:
    """Runs a plan with nothing left open. For the package itself."""
    parts = _native.evaluate({**plan, "aio": Loop()})
    notes = parts.pop("_notes", [])
    result = _from_parts(parts)
    for note in [*notes, *_troubles(result)]:
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


def _workers(max_workers: int | Literal["auto"] | None) -> int | None:
    if max_workers == "auto":
        return None
    try:
        return max(operator.index(max_workers or 1), 1)
    except TypeError:
        raise TypeError(
            f"`max_workers` must be a whole number, found {max_workers!r}\n"
            'hint: pass a number such as 16, or "auto"'
        ) from None


def _listed(what: str, objects: Any) -> list[Any]:
    try:
        return list(objects)
    except TypeError:
        kind = type(objects).__name__
        raise TypeError(
            f"`{what}` must be a list, found a {kind}\nhint: write `{what}=[...]`"
        ) from None


def _troubles(result: EvalResult) -> Iterable[str]:
    """What users must know although the run went on."""
    for system, counts in result.counts.items():
        for kind in ("failed", "unscored"):
            n = counts.get(kind, 0)
            if n:
                why = _first_reason(result, system, kind)
                yield f"`{system}`: {n} of {counts['planned']} rows {kind}: {why}"
    store = result.store
    if store and store.get("unread"):
        yield (
            f"{store['path']} could not be read for {store['unread']} examples, so nothing "
            f"was asked about them: {store.get('unread_reason')}"
        )
    if store and store.get("failure"):
        yield f"not everything was kept in {store['path']}: {store['failure']}"


def _first_reason(result: EvalResult, system: str, kind: str) -> str:
    for row in result.rows:
        if row.system == system and kind == "failed" and row.error is not None:
            return row.error.message
        if row.system == system and kind == "unscored" and row.unscored:
            lines = next(iter(row.unscored.values())).strip().splitlines()
            return lines[-1] if len(lines) > 1 else lines[0]
    return "the rows tell why"
