"""Functions that render a result as text."""

from __future__ import annotations

from context_bench.reporters.html import to_html
from context_bench.results import EvalResult

__all__ = ["to_csv", "to_html", "to_json", "to_markdown"]


def to_markdown(result: EvalResult) -> str:
    """Returns the summary as a Markdown table, followed by any problems."""
    return result.to_markdown()


def to_json(result: EvalResult) -> str:
    """Returns the whole result as strict JSON."""
    return result.to_json()


def to_csv(result: EvalResult) -> str:
    """Returns the rows as CSV."""
    return result.to_csv()
