"""Metrics of scores, and the functions behind ``AnswerQuality``."""

from __future__ import annotations

from context_bench._native import (
    NativeMetric,
    exact_match,
    f1_score,
    normalize_answer,
    recall_score,
)

__all__ = [
    "MeanScore",
    "PassRate",
    "PerDatasetBreakdown",
    "exact_match",
    "f1_score",
    "normalize_answer",
    "recall_score",
]


class MeanScore(NativeMetric):
    """``mean_score``: the mean of one score over the scored rows."""

    score_field: str

    def __new__(cls, score_field: str = "score") -> MeanScore:
        made = super().__new__(cls, "mean_score", score_field=score_field)
        made.score_field = score_field
        return made


class PassRate(NativeMetric):
    """``pass_rate``: the share of scored rows at or above a threshold."""

    threshold: float
    score_field: str

    def __new__(cls, threshold: float = 0.7, score_field: str = "score") -> PassRate:
        made = super().__new__(cls, "pass_rate", score_field=score_field, threshold=threshold)
        made.threshold, made.score_field = threshold, score_field
        return made


class PerDatasetBreakdown(NativeMetric):
    """``dataset:<name>``: the mean of one score per dataset."""

    score_field: str

    def __new__(cls, score_field: str = "f1") -> PerDatasetBreakdown:
        made = super().__new__(cls, "per_dataset", score_field=score_field)
        made.score_field = score_field
        return made
