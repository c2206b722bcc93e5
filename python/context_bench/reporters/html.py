"""Results as HTML: the table shown in notebooks, and a self-contained page."""

from __future__ import annotations

import json
import math
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from context_bench.results import EvalResult

__all__ = ["summary_table", "to_html"]


def summary_table(result: EvalResult) -> str:
    """Returns the summary as an HTML table with one row per system, as shown in notebooks."""
    return result._repr_html_()


def to_html(result: EvalResult) -> str:
    """Returns a page without external resources: summary, timing, and every row."""
    if not result.summary:
        return "<p>No results to report.</p>"
    timing = "".join(
        f"<li><b>{escape(name)}</b>: {seconds:.2f} s</li>" for name, seconds in result.timing.items()
    )
    # Text of a row must not close the script element.
    data = json.dumps([_record(row) for row in result.rows]).replace("<", "\\u003c")
    n = escape(str(result.config.get("num_examples", "?")))
    return _PAGE.format(
        summary=summary_table(result),
        timing=f"<h2>Timing</h2><ul>{timing}</ul>" if timing else "",
        data=data,
        n=n,
    )


def _record(row: Any) -> dict[str, Any]:
    record = {
        "system": row.system,
        "example_id": str(row.example_id),
        "dataset": row.dataset,
        "latency": round(row.latency, 4),
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
    }
    for name, value in row.scores.items():
        record[name] = round(value, 4) if math.isfinite(value) else str(value)
    for name in ("question", "answer", "response", "finish_reason"):
        value = getattr(row, name)
        if value is not None:
            record[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if row.error is not None:
        record["error"] = row.error.message
    return record


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>context-bench Results</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; }}
th, td {{ border: 1px solid #8886; padding: .3rem .6rem; text-align: right; }}
th:first-child, td:first-child {{ text-align: left; }}
.rows {{ max-height: 32rem; overflow: auto; }}
input {{ font: inherit; margin: .5rem 0; padding: .3rem; width: 20rem; }}
</style></head><body>
<h1>context-bench Results</h1>
<h2>Summary</h2>
{summary}
{timing}
<h2>Per-Example Details</h2>
<input id="filter" placeholder="filter by system or dataset" aria-label="filter">
<div class="rows"><table id="rows"></table></div>
<p>{n} examples evaluated</p>
<script type="application/json" id="data">{data}</script>
<script>
const rows = JSON.parse(document.getElementById("data").textContent);
const columns = [...new Set(rows.flatMap(Object.keys))];
const table = document.getElementById("rows");
function show(text) {{
  table.replaceChildren();
  const cells = (kind, values) => {{
    const line = table.insertRow();
    for (const value of values) {{
      const cell = document.createElement(kind);
      cell.textContent = value ?? "";
      line.append(cell);
    }}
  }};
  cells("th", columns);
  for (const row of rows)
    if ((row.system + " " + row.dataset).toLowerCase().includes(text.toLowerCase()))
      cells("td", columns.map(name => row[name]));
}}
document.getElementById("filter").addEventListener("input", event => show(event.target.value));
show("");
</script></body></html>
"""
