"""Results as texts."""

from __future__ import annotations

from context_bench.reporters.html import to_html
from context_bench.results import EvalResult

__all__ = ["to_csv", "to_html", "to_json", "to_markdown"]


def to_markdown(result: EvalResult) -> str:
    """The summary as a Markdown table, with what went wrong below it."""
    return result.to_markdown()


def to_json(result: EvalResult) -> str:
    """The whole result as strict JSON."""
    return result.to_json()


def to_csv(result: EvalResult) -> str:
    """The rows as CSV."""
    return result.to_csv()
