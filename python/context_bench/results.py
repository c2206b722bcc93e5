"""Rows and results of a run."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from context_bench import _native, comparison
from context_bench._native import EvalRow, RowError
from context_bench.comparison import Comparison

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["EvalResult", "EvalRow", "RowError"]

#: Columns that come last, if any row has them.
_TEXTS = ("question", "answer", "response", "finish_reason")
_FIXED = ("system", "example_id", "dataset", "input_tokens", "output_tokens", "latency")


@dataclasses.dataclass(repr=False)
class EvalResult:
    """The result of a run.

    ``rows`` are grouped by system, in dataset order. ``summary`` has the numbers by system and
    metric; a number that could not be computed is NaN. The other fields say what the numbers
    rest on: ``counts`` (rows planned, scored, unscored, failed, not begun), ``statistics`` (rows
    and examples used, standard error, 95 % interval) and ``provenance``.
    """

    rows: list[EvalRow]
    summary: dict[str, dict[str, float]]
    timing: dict[str, float] = dataclasses.field(default_factory=dict)
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    counts: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    statistics: dict[str, dict[str, dict[str, Any]]] = dataclasses.field(default_factory=dict)
    datasets: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    provenance: dict[str, Any] = dataclasses.field(default_factory=dict)
    #: What a tap saw of each arm: calls, bytes, usage, its verdict. Empty without a tap.
    wire: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    gave_up: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    store: dict[str, Any] | None = None
    #: Results of tasks and groups by system (``results``, ``groups``, ``table`` …).
    tasks: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    #: The rule by which each dataset of the catalog is scored, and how our score relates to it.
    rules: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    #: What became of each rule of ``fail_if`` and ``policy``, for each system it is about.
    gates: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    #: With ``stop_when_decided``: what was shown while the run went on, and what that saved.
    stopping: dict[str, Any] | None = None
    #: The curve of each sweep.
    sweeps: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    #: With ``control``: the difference that noise alone makes.
    controls: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    interrupted: bool = False
    #: For an incomplete run: which run it belongs to, and how much is missing.
    part_of: str | None = None
    _native: Any = dataclasses.field(default=None, repr=False, compare=False)

    def filter(self, **conditions: Any) -> EvalResult:
        """Returns only the rows whose attributes equal all conditions.

        The numbers of the summary are not computed again; systems without rows are dropped.

        >>> result.filter(system="kompact", dataset="hotpotqa")  # doctest: +SKIP
        """
        rows = [
            row
            for row in self.rows
            if all(getattr(row, name, None) == value for name, value in conditions.items())
        ]
        left = {row.system for row in rows}
        return dataclasses.replace(
            self,
            rows=rows,
            summary={name: numbers for name, numbers in self.summary.items() if name in left},
            counts={name: counts for name, counts in self.counts.items() if name in left},
            statistics={name: all_ for name, all_ in self.statistics.items() if name in left},
            tasks={name: found for name, found in self.tasks.items() if name in left},
            wire={name: arm for name, arm in self.wire.items() if name in left},
        )

    def compare(
        self,
        baseline: str | None = None,
        margin: float | None = None,
        score: str | None = None,
        *,
        resamples: int | None = None,
        seed: int = 0,
        flips: int = 20,
    ) -> Comparison:
        """Compares every system with a baseline, example by example.

        ``baseline`` is the name of a system; by default the one of the run, or the first.
        ``margin`` is how much of the score may be lost and still count as not worse (0.02 is two
        points). ``score`` is the score that verdicts are about. ``flips`` is how many examples of
        each direction are kept. The same seed gives the same numbers.

        >>> result.compare(margin=0.02).verdicts  # doctest: +SKIP
        """
        found = _native.compare(
            self.rows,
            list(self.summary),
            baseline=baseline,
            margin=margin,
            score=score,
            resamples=resamples,
            seed=seed,
            flips=flips,
            native=self._native,
        )
        return comparison._from_native(found)

    @property
    def failures(self) -> list[EvalRow]:
        """The rows without an output; ``row.error`` has the reason."""
        return [row for row in self.rows if row.error is not None]

    @property
    def failed_gates(self) -> list[dict[str, Any]]:
        """The gates that did not pass, those among them that could not be measured."""
        return [gate for gate in self.gates if gate["status"] != "passed"]

    def to_json(self) -> str:
        """Returns the whole result as strict JSON; numbers that are not finite are ``null``."""
        return self._render("json")

    def to_markdown(self) -> str:
        """Returns the summary as a Markdown table."""
        return self._render("markdown")

    def to_jsonl(self) -> str:
        """Returns the rows as JSON lines, one object per row."""
        return self._render("jsonl")

    def to_csv(self) -> str:
        """Returns the rows as CSV."""
        return self._render("csv")

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the rows to a Parquet file: a column of doubles for each score, nulls where a row
        has none. The file appears whole or not at all."""
        parts = (self.rows, self.summary, self.timing, self.config, self._native)
        _native.render("parquet", *parts, path=os.fspath(path))

    def to_html(self) -> str:
        """Returns a page with charts and a browser of rows: one HTML file that loads nothing."""
        return self._render("html")

    def to_dataframe(self) -> pandas.DataFrame:
        """Returns the rows as a pandas ``DataFrame``."""
        pandas = _optional("pandas")
        return pandas.DataFrame(self._columns())

    def to_arrow(self) -> pyarrow.Table:
        """Returns the rows as an Arrow table. Ids become text if some are not integers."""
        pyarrow = _optional("pyarrow")
        return pyarrow.table(self._typed_columns())

    def to_polars(self) -> polars.DataFrame:
        """Returns the rows as a polars ``DataFrame``. Ids become text if some are not
        integers."""
        polars = _optional("polars")
        return polars.DataFrame(self._typed_columns())

    def _render(self, format: str) -> str:
        parts = (self.rows, self.summary, self.timing, self.config, self._native)
        return _native.render(format, *parts).rstrip("\n")

    def _columns(self) -> dict[str, list[Any]]:
        """Returns the columns: fixed ones, scores, metadata; later ones win if names clash."""
        rows = self.rows
        columns: dict[str, list[Any]] = {
            name: [getattr(row, name) for row in rows] for name in _FIXED
        }
        for part in ("scores", "metadata"):
            fields = [getattr(row, part) for row in rows]
            for name in _names(fields):
                columns[name] = [values.get(name) for values in fields]
        for name in _TEXTS:
            values = [getattr(row, name) for row in rows]
            if any(value is not None for value in values):
                columns[name] = values
        if any(row.error is not None for row in rows):
            columns["error"] = [None if row.error is None else row.error.message for row in rows]
        return columns

    def _typed_columns(self) -> dict[str, list[Any]]:
        columns = self._columns()
        for name, values in columns.items():
            kinds = {type(value) for value in values if value is not None}
            if kinds == {int, float}:
                columns[name] = [None if value is None else float(value) for value in values]
            elif len(kinds) > 1 or kinds & {dict, list}:
                columns[name] = [None if value is None else str(value) for value in values]
        return columns

    def __repr__(self) -> str:
        """The result on one screen; ``rows`` has the rest."""
        return f"EvalResult: {self._render('overview')}"

    def _repr_html_(self) -> str:
        """The summary as a table, for notebooks."""
        return self._render("html_table")

    def _repr_markdown_(self) -> str:
        """The report as Markdown, for notebooks."""
        return self.to_markdown()


def _names(maps: Iterable[dict[str, Any]]) -> list[str]:
    names: dict[str, None] = {}
    for fields in maps:
        if fields.keys() - names.keys():
            names.update(dict.fromkeys(fields))
    return list(names)


def _optional(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"this needs the package `{module}`\nhint: pip install {module}", name=module
        ) from error


def _from_parts(parts: dict[str, Any]) -> EvalResult:
    """Makes a result of the parts that the native module returns."""
    parts.pop("_notes", None)
    return EvalResult(**parts)


@dataclasses.dataclass
class _Fields:
    """The fields of a row for ``dataclasses.fields``, ``asdict`` and ``replace``."""

    system: str
    example_id: str | int
    scores: dict[str, float]
    input_tokens: int
    output_tokens: int
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)
    latency: float = 0.0
    dataset: str = ""


# Rows are native objects, but `dataclasses.fields` and the like work with them.
EvalRow.__dataclass_fields__ = _Fields.__dataclass_fields__
EvalRow.__dataclass_params__ = _Fields.__dataclass_params__  # type: ignore[attr-defined]
EvalRow.__annotations__ = _Fields.__annotations__
