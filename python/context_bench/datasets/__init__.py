"""Datasets by name, each as a function.

Every loader takes ``n`` (at most so many records), ``split``, ``config`` where the
dataset has some, and ``path``: a local copy, laid out as on the hub. Examples come
from the Hugging Face hub otherwise; the cache is the one that ``datasets`` uses.
``load(name, ...)`` takes what the command line takes: ``load("mmlu:anatomy")``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

from context_bench import _native
from context_bench.datasets.local import load_file, load_jsonl

__all__ = [
    "Prompt",
    "alpaca_eval",
    "apigen_mt",
    "arc_challenge",
    "bbh",
    "bfcl_simple",
    "contract_nli",
    "demo",
    "dialogsum",
    "drop",
    "frames",
    "govreport",
    "gpqa",
    "gsm8k",
    "hellaswag",
    "hotpotqa",
    "humaneval",
    "ifeval",
    "infinitebench",
    "load",
    "load_file",
    "load_jsonl",
    "locomo",
    "longbench",
    "longbench_v2",
    "longmemeval",
    "math_dataset",
    "mbpp",
    "meetingbank",
    "mgsm",
    "mmlu",
    "mmlu_pro",
    "mt_bench",
    "multi_news",
    "musique",
    "names",
    "narrativeqa",
    "natural_questions",
    "nolima",
    "prompt",
    "qasper",
    "qmsum",
    "quality",
    "scifact",
    "summscreenfd",
    "swe_agent_traces",
    "swebench",
    "swebench_lite",
    "swebench_verified",
    "triviaqa",
    "truthfulqa",
    "winogrande",
]

Examples = list[dict[str, Any]]
Path = str | os.PathLike[str]


def names() -> list[str]:
    """The names of all built-in datasets."""
    return _native.dataset_names()


def load(
    name: str,
    n: int | None = None,
    *,
    config: str | None = None,
    split: str | None = None,
    path: Path | None = None,
    skip_bad_lines: bool = False,
) -> Examples:
    """The examples of a dataset, ``name[:config][@split]``.

    They are plain dicts: a list of them is asked as it is. ``evaluate(systems, name, ...)``
    asks as the authors of the dataset do, and ``prompt(name)`` gives that prompt to systems
    of your own.
    """
    local = None if path is None else os.fspath(path)
    typed = _typed(name, config, split)
    return _native.load_dataset(typed, n=n, path=local, skip_bad_lines=skip_bad_lines)


class Prompt:
    """How the authors of a dataset ask a model about its examples."""

    def __init__(self, native: _native.NativePrompt) -> None:
        self._native = native

    def messages(self, example: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The messages about an example; what its ``context`` is now stands in them."""
        return self._native.messages(example)

    def generation(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """How the answer is generated: ``max_tokens``, ``stop``, ``temperature``, as far as
        the authors say; empty for datasets without a prompt of their own."""
        return self._native.generation(example)


def prompt(
    name: str,
    *,
    config: str | None = None,
    split: str | None = None,
    path: Path | None = None,
) -> Prompt:
    """The official prompt of a dataset, for systems that ask models themselves.

    Worked examples are loaded once, from where the records are. A dataset whose file says
    nothing about prompts gives the usual messages: context, then question.

    Raises:
        ValueError: When there is no such dataset, or its worked examples cannot be read.
    """
    local = None if path is None else os.fspath(path)
    native = _native.NativePrompt(_typed(name, config, split), local)
    for notice in native.notices():
        warnings.warn(notice, stacklevel=2)
    return Prompt(native)


def _typed(name: str, config: str | None, split: str | None) -> str:
    typed = name
    if config is not None:
        typed += f":{config}"
    if split is not None:
        typed += f"@{split}"
    return typed


def demo(n: int | None = None) -> Examples:
    """110 questions over invented documents; bundled, needs no network."""
    return load("demo", n)


def hotpotqa(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions that join facts from two of ten Wikipedia paragraphs."""
    return load("hotpotqa", n, config=config, split=split, path=path)


def gsm8k(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Grade-school word problems with a number as the answer."""
    return load("gsm8k", n, config=config, split=split, path=path)


def bfcl_simple(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Berkeley Function-Calling Leaderboard, version 3, single-turn categories."""
    return load("bfcl", n, config=config, split=split, path=path)


def apigen_mt(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Verified function calls of xLAM; one query, its tools, the calls to make."""
    return load("apigen", n, config=config, split=split, path=path)


def swebench(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Issues of Python projects and the patches that closed them."""
    return load("swebench", n, config=config, split=split, path=path)


def swebench_verified(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """The part of SWE-bench that people checked to be solvable."""
    return load("swebench-verified", n, config=config, split=split, path=path)


def swebench_lite(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """The cheaper part of SWE-bench."""
    return load("swebench-lite", n, config=config, split=split, path=path)


def natural_questions(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions from web search with short answers; no passage is given."""
    return load("natural-questions", n, config=config, split=split, path=path)


def musique(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions of two to four hops over twenty paragraphs."""
    return load("musique", n, config=config, split=split, path=path)


def narrativeqa(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions about books and films, over the summary or the whole story."""
    return load("narrativeqa", n, config=config, split=split, path=path)


def triviaqa(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Trivia with evidence from web search."""
    return load("triviaqa", n, config=config, split=split, path=path)


def frames(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions that need several Wikipedia articles; no article is given."""
    return load("frames", n, config=config, split=split, path=path)


def quality(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions about stories of some 5,000 words, written to need all of it."""
    return load("quality", n, config=config, split=split, path=path)


def qasper(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions about research papers, over the whole paper."""
    return load("qasper", n, config=config, split=split, path=path)


def humaneval(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Python functions to complete from signature and docstring, with tests."""
    return load("humaneval", n, config=config, split=split, path=path)


def mbpp(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Short Python tasks with three assertions each."""
    return load("mbpp", n, config=config, split=split, path=path)


def multi_news(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Several news articles on one event to be summed up together."""
    return load("multi-news", n, config=config, split=split, path=path)


def dialogsum(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Everyday dialogues and their summaries."""
    return load("dialogsum", n, config=config, split=split, path=path)


def qmsum(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions about meetings answered by a summary of the transcript."""
    return load("qmsum", n, config=config, split=split, path=path)


def summscreenfd(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Transcripts of television episodes and their recaps."""
    return load("summscreenfd", n, config=config, split=split, path=path)


def meetingbank(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Transcripts of city council meetings and their minutes."""
    return load("meetingbank", n, config=config, split=split, path=path)


def govreport(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Reports of United States agencies and their summaries."""
    return load("govreport", n, config=config, split=split, path=path)


def contract_nli(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Whether a contract entails, contradicts or does not mention a statement."""
    return load("contract-nli", n, config=config, split=split, path=path)


def scifact(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Scientific claims to be checked against cited abstracts."""
    return load("scifact", n, config=config, split=split, path=path)


def mmlu(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Multiple-choice questions in 57 subjects, from school to profession."""
    return load("mmlu", n, config=config, split=split, path=path)


def arc_challenge(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Science questions of school exams that simple retrieval gets wrong."""
    return load("arc-challenge", n, config=config, split=split, path=path)


def truthfulqa(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions that many people answer falsely."""
    return load("truthfulqa", n, config=config, split=split, path=path)


def gpqa(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Questions in biology, physics and chemistry that experts write."""
    return load("gpqa", n, config=config, split=split, path=path)


def hellaswag(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Which of four sentences goes on from a description."""
    return load("hellaswag", n, config=config, split=split, path=path)


def winogrande(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Which of two names fills the gap of a sentence."""
    return load("winogrande", n, config=config, split=split, path=path)


def mmlu_pro(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Harder multiple-choice questions with up to ten options."""
    return load("mmlu-pro", n, config=config, split=split, path=path)


def drop(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Paragraphs to count, compare and compute over."""
    return load("drop", n, config=config, split=split, path=path)


def math_dataset(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Competition mathematics with worked solutions."""
    return load("math", n, config=config, split=split, path=path)


def mgsm(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Grade-school word problems in eleven languages."""
    return load("mgsm", n, config=config, split=split, path=path)


def bbh(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """The 27 tasks of BIG-Bench that were hardest for models."""
    return load("bbh", n, config=config, split=split, path=path)


def ifeval(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Instructions whose fulfilment a program can check."""
    return load("ifeval", n, config=config, split=split, path=path)


def alpaca_eval(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Open instructions with the answers of a reference model; needs a judge."""
    return load("alpaca-eval", n, config=config, split=split, path=path)


def mt_bench(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Two-turn conversations in eight categories; needs a judge."""
    return load("mt-bench", n, config=config, split=split, path=path)


def longbench(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """21 tasks over long English and Chinese texts and code."""
    return load("longbench", n, config=config, split=split, path=path)


def longbench_v2(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Hard questions over 8,000 to 2,000,000 words."""
    return load("longbench-v2", n, config=config, split=split, path=path)


def infinitebench(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Twelve tasks over texts of 100,000 tokens and more."""
    return load("infinitebench", n, config=config, split=split, path=path)


def nolima(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """A fact hidden in a long text, asked for without its own words."""
    return load("nolima", n, config=config, split=split, path=path)


def locomo(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Long conversations of two friends over months, with questions."""
    return load("locomo", n, config=config, split=split, path=path)


def longmemeval(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """One question each about a history of chat sessions."""
    return load("longmemeval", n, config=config, split=split, path=path)


#: The name that ``swebench_lite`` had.
swe_agent_traces = swebench_lite
