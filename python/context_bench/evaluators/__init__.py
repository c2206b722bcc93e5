"""Evaluators: score the output of a system against the example.

They are implemented in Rust and do not hold the interpreter in a run. Each can also be called
directly: ``AnswerQuality().score(original, processed)``.
"""

from __future__ import annotations

import os
from typing import Literal

from context_bench._native import DEFAULT_MODEL, NativeEvaluator

__all__ = [
    "AnswerQuality",
    "CodeExecution",
    "FalseMemoryRate",
    "FunctionCallMatch",
    "IFEvalChecker",
    "LLMJudge",
    "MathEquivalence",
    "MemoryJudge",
    "MultipleChoiceAccuracy",
    "NLILabelMatch",
    "OfficialJudge",
    "PatchOverlap",
    "RetrievalQuality",
    "SummarizationQuality",
    "SwebenchReport",
]


class AnswerQuality(NativeEvaluator):
    """Token overlap of ``response`` and ``answer``: ``f1``, ``exact_match``, ``recall``,
    ``contains``.

    With an empty answer, every response is right (all scores are 1.0); otherwise an empty
    response is always wrong.

    Args:
        order: ``"original"`` removes articles before punctuation, as the original tool does;
            ``"official"`` removes punctuation first, as SQuAD's own script does.
    """

    def __init__(self, order: str | None = None) -> None:
        super().__init__("answer_quality", order=order)


class SummarizationQuality(NativeEvaluator):
    """ROUGE of ``response`` and ``answer``, as the package rouge-score computes it:
    ``rouge_l_precision``, ``rouge_l_recall``, ``rouge_l_f1``, and the same for ROUGE-1 and -2.

    Args:
        tokens: ``"google"``, or ``"whitespace"`` to keep punctuation.
        stem: Whether to stem words.
    """

    def __init__(self, tokens: str | None = None, stem: bool | None = None) -> None:
        super().__init__("summarization_quality", tokens=tokens, stem=stem)


class MultipleChoiceAccuracy(NativeEvaluator):
    """Whether ``response`` chooses ``correct_letter``: ``mc_accuracy``.

    Args:
        extraction: How the choice is read: ``"decisive"``, or ``"mmlu_pro"`` as in that
            benchmark.
        score: Another name for the score, so that two extractions can be compared.
    """

    def __init__(self, extraction: str | None = None, score: str | None = None) -> None:
        super().__init__("multiple_choice", extraction=extraction, score=score)


class CodeExecution(NativeEvaluator):
    """Whether generated code passes its tests, run in a sandbox: ``pass_at_1``.

    Args:
        timeout: Time limit of a program, in seconds.
        python: The interpreter that runs it.
        memory_mb: Memory limit of a program.
        allow_unsandboxed: Whether to run code without a sandbox where none works.
    """

    def __init__(
        self,
        timeout: float = 10.0,
        python: str | None = None,
        memory_mb: int | None = None,
        allow_unsandboxed: bool = False,
    ) -> None:
        super().__init__(
            "code_execution",
            timeout=timeout,
            python=python,
            memory_mb=memory_mb,
            allow_unsandboxed=allow_unsandboxed,
        )


class MathEquivalence(NativeEvaluator):
    """Whether the final answer is mathematically equal to ``answer``: ``math_equiv``."""

    def __init__(self) -> None:
        super().__init__("math_equivalence")


class NLILabelMatch(NativeEvaluator):
    """Whether ``response`` states the relation in ``answer``: ``nli_accuracy``."""

    def __init__(self) -> None:
        super().__init__("nli_label_match")


class IFEvalChecker(NativeEvaluator):
    """Whether verifiable instructions are followed: ``ifeval_strict``, ``ifeval_loose`` and
    more."""

    def __init__(self) -> None:
        super().__init__("ifeval")


class FunctionCallMatch(NativeEvaluator):
    """Whether function calls are right by the rules of BFCL and xLAM: ``call_accuracy``."""

    def __init__(self, format: str | None = None) -> None:
        super().__init__("function_call_match", format=format)


class LLMJudge(NativeEvaluator):
    """A model rates the answer: ``judge_score`` from 0 to 1.

    Without a readable verdict, the row is unscored with the reason, never a 0.

    Args:
        base_url: An OpenAI-compatible endpoint.
        model: The model that judges.
        api_key: The API key; default: the environment variable ``OPENAI_API_KEY``.
        timeout: Time limit of one attempt, in seconds.
        rubric: The criteria of the judge.
        score: The name of the score.
        mode: ``"rating"``, or ``"pairwise"`` to compare with the answer in ``baseline``.
        scale: The scale of ratings, such as ``"1-10"``; default: 1 to 5.
        baseline: With ``"pairwise"``, the field with the other answer; default: ``answer``.
        template: The prompt of the judge, with placeholders such as ``{question}``; ``"@FILE"``
            reads it from a file.
        reference: Whether the judge sees the reference answer: ``"auto"``, ``"on"``, ``"off"``.
        max_tokens: Maximum number of tokens in a verdict.
    """

    def __init__(
        self,
        base_url: str,
        model: str = DEFAULT_MODEL,
        api_key: str | None = None,
        timeout: float = 60.0,
        *,
        rubric: str | None = None,
        score: str | None = None,
        mode: Literal["rating", "pairwise"] | None = None,
        scale: str | None = None,
        baseline: str | None = None,
        template: str | None = None,
        reference: Literal["auto", "on", "off"] | None = None,
        max_tokens: int | None = None,
    ) -> None:
        super().__init__(
            "llm_judge",
            base_url=base_url,
            model=model,
            api_key=api_key or os.environ.get("OPENAI_API_KEY") or None,
            timeout=timeout,
            rubric=rubric,
            score=score,
            mode=mode,
            scale=scale,
            baseline=baseline,
            template=template,
            reference=reference,
            max_tokens=max_tokens,
        )


class OfficialJudge(NativeEvaluator):
    """A model judges the answer with the prompt of a benchmark's authors.

    Without a readable verdict, the row is unscored with the reason, never a 0.

    Args:
        kind: ``"frames"`` (score ``frames``), ``"longmemeval"`` (``longmemeval``), ``"mt_bench"``
            (``mt_bench``, from 1 to 10, and per turn) or ``"alpaca_eval"`` (``alpaca_eval``, how
            strongly the answer is preferred to a baseline).
        base_url: An OpenAI-compatible endpoint.
        model: The model that judges.
        api_key: The API key; default: the environment variable ``OPENAI_API_KEY``.
        timeout: Time limit of one attempt, in seconds.
        max_tokens: Maximum number of tokens in a verdict; default: that of the authors.
        baseline: With ``"alpaca_eval"``, the field with the baseline's answer; default:
            ``answer``.
        difficulty: With ``"alpaca_eval"``, the authors' file ``instruction_difficulty.csv``.
    """

    def __init__(
        self,
        kind: Literal["frames", "longmemeval", "mt_bench", "alpaca_eval"],
        base_url: str,
        model: str = DEFAULT_MODEL,
        api_key: str | None = None,
        timeout: float = 60.0,
        *,
        max_tokens: int | None = None,
        baseline: str | None = None,
        difficulty: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(
            f"{kind}_judge",
            base_url=base_url,
            model=model,
            api_key=api_key or os.environ.get("OPENAI_API_KEY") or None,
            timeout=timeout,
            max_tokens=max_tokens,
            baseline=baseline,
            difficulty=None if difficulty is None else os.fspath(difficulty),
        )


class MemoryJudge(NativeEvaluator):
    """A model says whether an answer from memory holds what the right answer says:
    ``memory_judge``, and the same as ``memory_judge_raw``.

    Without a readable verdict, the row is unscored with the reason, never a 0. An empty answer is
    0 without a request.

    Args:
        base_url: An OpenAI-compatible endpoint.
        model: The model that judges.
        api_key: The API key; default: the environment variable ``OPENAI_API_KEY``.
        timeout: Time limit of one attempt, in seconds.
        max_retries: Further attempts after a failed one.
        retry_base_delay: Seconds before the first of them; doubles with each.
    """

    def __init__(
        self,
        base_url: str,
        model: str = DEFAULT_MODEL,
        api_key: str | None = None,
        timeout: float = 60.0,
        max_retries: int = 3,
        retry_base_delay: float = 1.0,
    ) -> None:
        super().__init__(
            "memory_judge",
            base_url=base_url,
            model=model,
            api_key=api_key or os.environ.get("OPENAI_API_KEY") or None,
            timeout=timeout,
            max_retries=max_retries,
            retry_base_delay=retry_base_delay,
        )


class FalseMemoryRate(NativeEvaluator):
    """A model says whether an answer states facts that are not in ``context``, the excerpt of the
    conversation: ``false_memory``, 1.0 if it does. Lower is better.

    Without a readable verdict, the row is unscored with the reason, never a 0. An empty answer is
    0 without a request.

    Args:
        base_url: An OpenAI-compatible endpoint.
        model: The model that judges.
        api_key: The API key; default: the environment variable ``OPENAI_API_KEY``.
        timeout: Time limit of one attempt, in seconds.
        max_retries: Further attempts after a failed one.
        retry_base_delay: Seconds before the first of them; doubles with each.
    """

    def __init__(
        self,
        base_url: str,
        model: str = DEFAULT_MODEL,
        api_key: str | None = None,
        timeout: float = 60.0,
        max_retries: int = 3,
        retry_base_delay: float = 1.0,
    ) -> None:
        super().__init__(
            "false_memory_rate",
            base_url=base_url,
            model=model,
            api_key=api_key or os.environ.get("OPENAI_API_KEY") or None,
            timeout=timeout,
            max_retries=max_retries,
            retry_base_delay=retry_base_delay,
        )


class RetrievalQuality(NativeEvaluator):
    """The turns that a system ``recalled``, best first, against those marked as ``evidence``:
    ``recall_at_10``, ``retrieval_recall`` of all of them, ``mrr`` and ``ndcg_at_10``.

    Args:
        k: How many of the first count for the scores that have it in their names.
    """

    def __init__(self, k: int = 10) -> None:
        super().__init__("retrieval", k=k)


class SwebenchReport(NativeEvaluator):
    """Whether SWE-bench's own harness reports an issue as resolved: ``resolved``.

    Args:
        file: A report of the harness, or the folder with the reports of a run.
        predictions: The file that the harness was given, to check that the report is about
            these patches.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        predictions: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(
            "swebench_report",
            file=os.fspath(file),
            predictions=None if predictions is None else os.fspath(predictions),
        )


class PatchOverlap(NativeEvaluator):
    """Overlap of the patch in ``response`` with ``answer``: ``patch_overlap``. This is extra
    information, not a score of SWE-bench."""

    def __init__(self) -> None:
        super().__init__("patch_overlap")
