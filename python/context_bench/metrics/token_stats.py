"""Metrics of tokens, cost and time."""

from __future__ import annotations

from collections.abc import Mapping

from context_bench import _native
from context_bench._native import NativeMetric

__all__ = ["CompressionRatio", "CostOfPass", "Latency", "ParetoRank", "TokenEfficiencyMetric"]


class CompressionRatio(NativeMetric):
    """``compression_ratio`` (1 − output tokens / input tokens), ``mean_input_tokens`` and
    ``mean_output_tokens``."""

    def __init__(self) -> None:
        super().__init__("compression_ratio")


class CostOfPass(NativeMetric):
    """``cost_of_pass`` (output tokens per passing row; infinite if no row passes) and
    ``num_passing``."""

    threshold: float
    score_field: str

    def __init__(self, threshold: float = 0.7, score_field: str = "score") -> None:
        super().__init__("cost_of_pass", score_field=score_field, threshold=threshold)
        self.threshold, self.score_field = threshold, score_field


class Latency(NativeMetric):
    """``latency_mean``, ``latency_median``, ``latency_p95`` and ``latency_p99``, in seconds."""

    def __init__(self) -> None:
        super().__init__("latency")


class ParetoRank(NativeMetric):
    """``pareto_rank``: 1 + the number of systems that are better and cheaper.

    In a run it is computed last, from the summaries of all systems.
    """

    quality_field: str
    cost_field: str

    def __init__(self, quality_field: str = "score", cost_field: str = "cost_of_pass") -> None:
        super().__init__("pareto_rank", score_field=quality_field, cost_field=cost_field)
        self.quality_field, self.cost_field = quality_field, cost_field

    @staticmethod
    def rank_systems(
        summary: Mapping[str, Mapping[str, float]],
        quality_field: str = "mean_score",
        cost_field: str = "cost_of_pass",
    ) -> dict[str, int]:
        """Returns the rank of each system in a summary.

        >>> ParetoRank.rank_systems({"a": {"mean_score": 0.8, "cost_of_pass": 9.0},
        ...                          "b": {"mean_score": 0.7, "cost_of_pass": 10.0}})
        {'a': 1, 'b': 2}
        """
        plain = {name: dict(numbers) for name, numbers in summary.items()}
        return _native.rank_systems(plain, quality_field, cost_field)


class TokenEfficiencyMetric(NativeMetric):
    """A score against the tokens that it took: ``token_efficiency`` (mean score · (100 / mean
    input tokens) ^ 0.1), ``token_efficiency_raw`` (per 1,000 tokens), ``mean_score``,
    ``mean_input_tokens``, ``mean_ingest_latency`` and ``mean_query_latency``."""

    score_field: str

    def __init__(self, score_field: str = "f1") -> None:
        super().__init__("token_efficiency", score_field=score_field)
        self.score_field = score_field
