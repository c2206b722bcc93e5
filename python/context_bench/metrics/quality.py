"""Metrics of scores, and the text functions of ``AnswerQuality``."""

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
    "PerQATypeMetric",
    "exact_match",
    "f1_score",
    "normalize_answer",
    "recall_score",
]


class MeanScore(NativeMetric):
    """``mean_score``: the mean of one score over the scored rows."""

    score_field: str

    def __init__(self, score_field: str = "score") -> None:
        super().__init__("mean_score", score_field=score_field)
        self.score_field = score_field


class PassRate(NativeMetric):
    """``pass_rate``: the share of scored rows at or above a threshold."""

    threshold: float
    score_field: str

    def __init__(self, threshold: float = 0.7, score_field: str = "score") -> None:
        super().__init__("pass_rate", score_field=score_field, threshold=threshold)
        self.threshold, self.score_field = threshold, score_field


class PerDatasetBreakdown(NativeMetric):
    """``dataset:<name>``: the mean of one score per dataset."""

    score_field: str

    def __init__(self, score_field: str = "f1") -> None:
        super().__init__("per_dataset", score_field=score_field)
        self.score_field = score_field


class PerQATypeMetric(NativeMetric):
    """``<score_field>_<type>``: the mean of one score per ``qa_type`` in the metadata of rows, and
    ``<score_field>_mean`` over all."""

    score_field: str

    def __init__(self, score_field: str = "f1") -> None:
        super().__init__("per_qa_type", score_field=score_field)
        self.score_field = score_field
