"""Results as HTML: the table shown in notebooks, and a self-contained page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from context_bench.results import EvalResult

__all__ = ["summary_table", "to_html"]


def summary_table(result: EvalResult) -> str:
    """Returns the summary as an HTML table with one row per system, as shown in notebooks."""
    return result._repr_html_()


def to_html(result: EvalResult) -> str:
    """Returns a page in one file: summary, charts and a browser of rows."""
    return result.to_html()
