"""Evaluators: what a system made of an example, compared with the example.

All of them are native: in a run they never hold the interpreter. Each can also be
called by hand, ``AnswerQuality().score(original, processed)``.
"""

from __future__ import annotations

import os
from typing import Literal

from context_bench._native import DEFAULT_MODEL, NativeEvaluator

__all__ = [
    "AnswerQuality",
    "CodeExecution",
    "FunctionCallMatch",
    "IFEvalChecker",
    "LLMJudge",
    "MathEquivalence",
    "MultipleChoiceAccuracy",
    "NLILabelMatch",
    "OfficialJudge",
    "PatchOverlap",
    "SummarizationQuality",
    "SwebenchReport",
]


class AnswerQuality(NativeEvaluator):
    """Token overlap of ``response`` with ``answer``: ``f1``, ``exact_match``,
    ``recall``, ``contains``.

    An empty answer is always right (all 1.0), an empty response always wrong.

    Args:
        order: ``"original"`` removes articles before punctuation, as the original tool does;
            ``"official"`` punctuation first, as SQuAD's own script does.
    """

    def __init__(self, order: str | None = None) -> None:
        super().__init__("answer_quality", order=order)


class SummarizationQuality(NativeEvaluator):
    """ROUGE of ``response`` and ``answer`` as rouge-score computes it:
    ``rouge_l_precision``, ``rouge_l_recall``, ``rouge_l_f1`` and ROUGE-1 and -2.

    Args:
        tokens: ``"google"``, or ``"whitespace"`` to keep punctuation.
        stem: Whether words are stemmed.
    """

    def __init__(self, tokens: str | None = None, stem: bool | None = None) -> None:
        super().__init__("summarization_quality", tokens=tokens, stem=stem)


class MultipleChoiceAccuracy(NativeEvaluator):
    """Whether ``response`` decides for ``correct_letter``: ``mc_accuracy``.

    Args:
        extraction: ``"decisive"``, or ``"mmlu_pro"`` for the reading of that benchmark.
        score: Another name of the score, so that two readings can stand side by side.
    """

    def __init__(self, extraction: str | None = None, score: str | None = None) -> None:
        super().__init__("multiple_choice", extraction=extraction, score=score)


class CodeExecution(NativeEvaluator):
    """Whether generated code passes its tests, in a sandbox: ``pass_at_1``.

    Args:
        timeout: Seconds that a program may take.
        python: The interpreter that runs it.
        memory_mb: Memory that it may use.
        allow_unsandboxed: Whether to run without a sandbox where none works.
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
    """Whether the final answer equals ``answer`` as mathematics: ``math_equiv``."""

    def __init__(self) -> None:
        super().__init__("math_equivalence")


class NLILabelMatch(NativeEvaluator):
    """Whether ``response`` states the relation in ``answer``: ``nli_accuracy``."""

    def __init__(self) -> None:
        super().__init__("nli_label_match")


class IFEvalChecker(NativeEvaluator):
    """Verifiable instructions: ``ifeval_strict``, ``ifeval_loose`` and more."""

    def __init__(self) -> None:
        super().__init__("ifeval")


class FunctionCallMatch(NativeEvaluator):
    """Calls of functions by the rules of BFCL and xLAM: ``call_accuracy``."""

    def __init__(self, format: str | None = None) -> None:
        super().__init__("function_call_match", format=format)


class LLMJudge(NativeEvaluator):
    """A model rates the answer: ``judge_score`` from 0 to 1.

    A verdict that cannot be had or read is unscored with its reason, never a 0.

    Args:
        base_url: An OpenAI-compatible endpoint.
        model: The model that judges.
        api_key: Its key; the variable ``OPENAI_API_KEY`` unless given.
        timeout: Seconds that one attempt may take.
        rubric: What the judge goes by.
        score: What the score is called.
        mode: ``"rating"``, or ``"pairwise"`` to compare with the answer in ``baseline``.
        scale: Of a rating, such as ``"1-10"``; 1 to 5 unless given.
        baseline: Of a comparison: the field with the other answer; ``answer`` unless given.
        template: What the judge is asked, with ``{question}`` and the like; ``"@FILE"`` is read.
        reference: Whether the judge sees the right answer: ``"auto"``, ``"on"``, ``"off"``.
        max_tokens: How long a verdict may be.
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
    """A model asked for a verdict as the authors of a benchmark ask one.

    A verdict that cannot be had or read is unscored with its reason, never a 0.

    Args:
        kind: ``"frames"`` (score ``frames``), ``"longmemeval"`` (``longmemeval``), ``"mt_bench"``
            (``mt_bench``, from 1 to 10, and per turn) or ``"alpaca_eval"`` (``alpaca_eval``, how
            far the answer is preferred to a baseline).
        base_url: An OpenAI-compatible endpoint.
        model: The model that judges.
        api_key: Its key; the variable ``OPENAI_API_KEY`` unless given.
        timeout: Seconds that one attempt may take.
        max_tokens: How long a verdict may be; as the authors have it unless given.
        baseline: Of ``"alpaca_eval"``: the field with the baseline's answer; ``answer`` unless
            given.
        difficulty: Of ``"alpaca_eval"``: the authors' file ``instruction_difficulty.csv``.
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


class SwebenchReport(NativeEvaluator):
    """Whether SWE-bench's own harness calls an issue resolved: ``resolved``.

    Args:
        file: A report of the harness, or the folder of a run's reports.
        predictions: What the harness was given, to check that the report is of these patches.
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
    """Overlap of the patch in ``response`` with ``answer``: ``patch_overlap``. It is
    information and no score of SWE-bench."""

    def __init__(self) -> None:
        super().__init__("patch_overlap")
