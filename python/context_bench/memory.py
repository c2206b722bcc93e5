"""``evaluate_memory``: run memories over conversations and score their answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Literal

from context_bench.registry import registry
from context_bench.results import EvalResult
from context_bench.runner import (
    _add_verdicts,
    _dataset_names,
    _listed,
    _registered_examples,
    _run_settings,
    _run_spec,
)
from context_bench.types import Evaluator, MemorySystem, Metric
from context_bench.utils import tokens

if TYPE_CHECKING:
    from context_bench._conversations import Conversations
    from context_bench._memory_instance import MemoryObject
    from context_bench.memory_types import BenchmarkExample

__all__ = ["evaluate_memory"]


def evaluate_memory(
    systems: Sequence[MemorySystem | Callable[[], MemorySystem] | str],
    dataset: Iterable[Mapping[str, Any] | BenchmarkExample] | str | os.PathLike[str] | Sequence[str],
    evaluators: Sequence[Evaluator] | None = None,
    metrics: Sequence[Metric] | None = None,
    max_examples: int | None = None,
    progress: bool = True,
    *,
    relay: str | None = None,
    model: str | None = None,
    top_k: int | None = None,
    budget_tokens: int | None = None,
    qa_types: Sequence[str] | str | None = None,
    embedding_model: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    max_workers: int | Literal["auto"] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    tokenizer: str | Callable[[str], int] | None = None,
    example_timeout: float | None = None,
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
) -> EvalResult:
    """Runs memories over conversations and scores their answers.

    For each conversation a memory is reset, takes in all turns, and is then asked every question.

    Args:
        systems: Objects with ``name``, ``reset``, ``ingest`` and ``query`` (plain or typed, sync or
            async); classes or functions without arguments that make them, so that conversations
            can be served side by side; names of built-in memories (``"bm25:top_k=5"``), and
            ``"mem0"`` and ``"zep"``.
        dataset: Conversations as dicts with ``turns`` and ``qa_pairs`` or as ``BenchmarkExample``;
            or the name of a dataset or file of conversations (``"locomo"``,
            ``"locomo=locomo10.json"``), or several of them.
        evaluators: Objects with ``name`` and ``score(original, processed) -> dict``; ``None`` for
            those of a dataset by name.
        metrics: Objects with ``name`` and ``compute(rows) -> dict``. With neither evaluators nor
            metrics, the summary has those of reports.
        max_examples: Use only the first conversations; a negative number leaves out that many at
            the end.
        progress: Whether to show progress on stderr.
        relay: The OpenAI-compatible endpoint that answers for memories by name. Without one the
            built-in reader answers, which is not a language model.
        model: The model to ask it for.
        top_k: How many turns memories by name recall at most.
        budget_tokens: The most tokens of memory that an answer may rest on. Memories of your own
            get it as ``budget``, if ``query`` takes that.
        qa_types: The kinds of questions to ask; ``"temporal*"`` stands for all that begin so.
        embedding_model: The model of ``embedding`` and ``hybrid``: a folder or a name on the hub.
        seed: Draws the conversations where ``max_examples`` leaves some of a dataset by name out;
            by default they are the first.
        max_workers: Questions in flight at the same time; default: one at a time.
        cache_dir: Folder of the run store, which keeps answers, scores and, where a memory can save
            itself (``save`` and ``load``), what it has taken in. Memories of your own are only
            found there again if they have a ``cache_key``.
        tokenizer: A name such as ``"o200k_base"``, or a function from text to a number.
        example_timeout: Time limit of a memory for one question, in seconds.
        baseline, margin, score_field, fail_if, policy, baseline_run, prices, stop_when_decided,
            control, sweep: As for ``evaluate``, of memories (``sweep="bm25:top_k=2..20/4"``).

    Returns:
        A row per question. Its ``input_tokens`` are those of memory that the answer rests on, its
        ``latency`` is that of the query; ``metadata`` has ``qa_type``, ``conversation_id``,
        ``turn_count``, ``ingest_latency``, ``query_latency`` and the details of the memory. If a
        memory raises an exception, only that question fails; if it does so while taking in a
        conversation, all questions about that do.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a name, file or setting is wrong.
    """
    # What only runs of memories need is imported by them, so that `import context_bench` is fast.
    from context_bench._conversations import Conversations

    conversations = Conversations()
    names = _dataset_names(dataset)
    examples: list[dict[str, Any]] | None = None
    spec = _run_settings(max_workers, cache_dir, None, example_timeout)
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
    if names is None or set(names) & set(registry.list("dataset")):
        given: Any = dataset if names is None else _registered_examples(names)
        examples = conversations.read(_first(given, max_examples))
    else:
        spec["benchmarks"] = [{"dataset": name} for name in names]
        if max_examples is not None:
            if max_examples < 0:
                raise ValueError("`max_examples` of a dataset by name cannot be negative")
            spec["data"] = {"limit": max_examples}
    spec["memory"] = _without_none(
        top_k=top_k,
        budget_tokens=budget_tokens,
        kinds=None if qa_types is None else _kinds(qa_types),
        embedding_model=None if embedding_model is None else os.fspath(embedding_model),
        seed=seed,
    )
    if relay is not None:
        spec["relay"] = relay
    if model is not None:
        spec["requests"] = {"model": model}
    objects: list[MemoryObject] = []
    automatic = evaluators is None and metrics is None
    try:
        spec["systems"] = [
            _system(one, objects, conversations, relay=relay, model=model, top_k=top_k)
            for one in _listed("systems", systems)
        ]
        result = _run_spec(
            spec,
            systems=list(objects),
            dataset=examples,
            evaluators=None if evaluators is None else _listed("evaluators", evaluators),
            metrics=None if automatic else _listed("metrics", metrics or ()),
            tokenizer=tokens.current() if tokenizer is None else tokenizer,
            progress=progress,
        )
    finally:
        for one in objects:
            one.close()
    # The examples of this function are conversations, those of the run their questions.
    asked = {(row.dataset, row.metadata.get("conversation_id")) for row in result.rows}
    result.config["num_questions"] = result.config["num_examples"]
    result.config["num_examples"] = len(asked)
    return result


def _system(
    given: Any, objects: list[MemoryObject], conversations: Conversations, **settings: Any
) -> dict[str, str]:
    """Returns how a spec names a memory. Those in Python are added to ``objects``."""
    from context_bench._memory_instance import MemoryObject

    if isinstance(given, str):
        from context_bench.memory_systems.opening import ADAPTERS, open_memory

        if given not in ADAPTERS:
            return {"system": given}
        relay = settings.pop("relay")
        if relay is None:
            hint = "hint: pass `relay=URL`, the endpoint for all its calls"
            raise ValueError(f"`{given}` needs a model\n{hint}")
        given = partial(open_memory, given, relay_url=relay, **settings)
    made = MemoryObject(given, conversations.originals)
    # Two memories of one name get different keys here; the run then rejects them.
    taken = {one.key for one in objects}
    made.key = next(key for key in _numbered(made.memory.name) if key not in taken)
    objects.append(made)
    return {"given": made.key}


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}#{number}" for number in count(2))


def _first(examples: Any, most: int | None) -> list[Any]:
    try:
        iterator = iter(examples)
    except TypeError:
        kind = type(examples).__name__
        raise TypeError(
            f"the dataset must be an iterable of conversations, found a {kind}\n"
            "hint: pass a list, a generator, or the name of a dataset"
        ) from None
    return list(iterator)[:most] if most is not None and most < 0 else list(islice(iterator, most))


def _kinds(qa_types: Sequence[str] | str) -> list[str]:
    return [qa_types] if isinstance(qa_types, str) else list(qa_types)


def _without_none(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
