"""``rouge_l``: ROUGE-L of two texts."""

from __future__ import annotations

from context_bench import _native
from context_bench.evaluators import SummarizationQuality

__all__ = ["SummarizationQuality", "rouge_l"]


def rouge_l(prediction: str, reference: str) -> dict[str, float]:
    """Returns ``rouge_l_precision``, ``rouge_l_recall`` and ``rouge_l_f1``, as
    ``SummarizationQuality`` names them.

    Text is lower-cased and split at white space.
    """
    precision, recall, f1 = _native.rouge_l(prediction, reference)
    return {"rouge_l_precision": precision, "rouge_l_recall": recall, "rouge_l_f1": f1}
