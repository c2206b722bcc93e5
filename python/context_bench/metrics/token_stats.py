"""Metrics of tokens, cost and time."""

from __future__ import annotations

from collections.abc import Mapping

from context_bench import _native
from context_bench._native import NativeMetric

__all__ = ["CompressionRatio", "CostOfPass", "Latency", "ParetoRank"]


class CompressionRatio(NativeMetric):
    """``compression_ratio`` (1 − output tokens / input tokens),
    ``mean_input_tokens``, ``mean_output_tokens``."""

    def __new__(cls) -> CompressionRatio:
        return super().__new__(cls, "compression_ratio")


class CostOfPass(NativeMetric):
    """``cost_of_pass``: output tokens spent per passing row, infinite when none
    passes; ``num_passing``."""

    threshold: float
    score_field: str

    def __new__(cls, threshold: float = 0.7, score_field: str = "score") -> CostOfPass:
        made = super().__new__(cls, "cost_of_pass", score_field=score_field, threshold=threshold)
        made.threshold, made.score_field = threshold, score_field
        return made


class Latency(NativeMetric):
    """``latency_mean``, ``latency_median``, ``latency_p95``, ``latency_p99`` in seconds."""

    def __new__(cls) -> Latency:
        return super().__new__(cls, "latency")


class ParetoRank(NativeMetric):
    """``pareto_rank``: 1 + the number of systems that are better and cheaper.

    In a run it is computed last, from the summaries of all systems.
    """

    quality_field: str
    cost_field: str

    def __new__(
        cls, quality_field: str = "score", cost_field: str = "cost_of_pass"
    ) -> ParetoRank:
        made = super().__new__(
            cls, "pareto_rank", score_field=quality_field, cost_field=cost_field
        )
        made.quality_field, made.cost_field = quality_field, cost_field
        return made

    @staticmethod
    def rank_systems(
        summary: Mapping[str, Mapping[str, float]],
        quality_field: str = "mean_score",
        cost_field: str = "cost_of_pass",
    ) -> dict[str, int]:
        """The rank of each system of a summary.

        >>> ParetoRank.rank_systems({"a": {"mean_score": 0.8, "cost_of_pass": 9.0},
        ...                          "b": {"mean_score": 0.7, "cost_of_pass": 10.0}})
        {'a': 1, 'b': 2}
        """
        plain = {name: dict(numbers) for name, numbers in summary.items()}
        return _native.rank_systems(plain, quality_field, cost_field)
