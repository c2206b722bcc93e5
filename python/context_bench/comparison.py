"""Systems beside their baseline: is the difference real?"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

__all__ = ["Comparison"]


@dataclasses.dataclass(repr=False)
class Comparison:
    """Every system of a result beside the baseline, on the examples that both were asked about.

    ``print`` shows the table and the sentences of the terminal. ``systems`` has for each system
    its ``verdict``, its ``sentence``, ``differences`` (one per measure and dataset) and ``flips``.
    """

    #: The system that others are compared with.
    baseline: str
    #: The score that verdicts are about; ``None`` when rows have none.
    score: str | None
    #: How much of it may be lost; ``None`` when verdicts are about any difference.
    margin: float | None
    #: What was found about each system.
    systems: list[dict[str, Any]]
    _data: dict[str, Any] = dataclasses.field(repr=False, compare=False)
    _table: str = dataclasses.field(repr=False, compare=False)
    _markdown: str = dataclasses.field(repr=False, compare=False)

    @property
    def verdicts(self) -> dict[str, str | None]:
        """System → ``better``, ``not_worse``, ``worse`` or ``inconclusive``.

        Without a margin ``inconclusive`` means that no difference is shown; ``None`` means that no
        example has a score of both.
        """
        return {one["system"]: one["verdict"] for one in self.systems}

    @property
    def sentences(self) -> list[str]:
        """What a user can act on, a sentence for each system."""
        return [one["sentence"] for one in self.systems]

    def to_dict(self) -> dict[str, Any]:
        """Returns everything, as the member ``comparison`` of results in JSON has it."""
        return self._data

    def to_markdown(self) -> str:
        """Returns the tables and sentences as Markdown."""
        return self._markdown

    def to_dataframe(self) -> pandas.DataFrame:
        """Returns the differences as a pandas ``DataFrame``, one row for each system, measure and
        dataset."""
        from context_bench.results import _optional

        pandas = _optional("pandas")
        return pandas.DataFrame(self._records())

    def _records(self) -> list[dict[str, Any]]:
        records = []
        for one in self.systems:
            for difference in one["differences"]:
                low, high = _ends(difference["interval"])
                relative = difference.get("relative") or {}
                relative_low, relative_high = _ends(relative.get("interval"))
                flips = difference.get("flips") or {}
                missing = difference.get("missing") or {}
                records.append(
                    {
                        "system": one["system"],
                        "baseline": one["baseline"],
                        "scope": difference["scope"],
                        "name": difference["name"],
                        "measure": difference["measure"],
                        "n": difference["n"],
                        "clusters": difference["clusters"],
                        "baseline_mean": difference["baseline_mean"],
                        "system_mean": difference["system_mean"],
                        "difference": difference["difference"],
                        "low": low,
                        "high": high,
                        "relative": relative.get("value"),
                        "relative_low": relative_low,
                        "relative_high": relative_high,
                        "test": difference["test"],
                        "p_value": difference["p_value"],
                        "p_adjusted": difference.get("p_adjusted"),
                        "margin": difference["margin"],
                        "verdict": difference["verdict"],
                        "further_examples": difference.get("further_examples"),
                        "gained": flips.get("gained"),
                        "lost": flips.get("lost"),
                        "missing": missing.get("either", 0),
                    }
                )
        return records

    def __str__(self) -> str:
        return self._table.rstrip("\n")

    def __repr__(self) -> str:
        return f"Comparison against {self.baseline!r}:\n{self}"

    def _repr_markdown_(self) -> str:
        return self._markdown


def _ends(interval: dict[str, float] | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval["low"], interval["high"])


def _from_native(found: tuple[dict[str, Any], str, str]) -> Comparison:
    data, table, markdown = found
    return Comparison(
        baseline=data["baseline"],
        score=data["score"],
        margin=data["margin"],
        systems=data["systems"],
        _data=data,
        _table=table,
        _markdown=markdown,
    )
