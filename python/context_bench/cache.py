"""Earlier runs that ``evaluate(..., cache_dir=...)`` has stored.

The folder contains one SQLite file. Answers are found by everything that decides them (the
example, the endpoint, the model, prompts, settings), never by names alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from context_bench._native import NativeStore
from context_bench.results import EvalResult, _from_parts
from context_bench.types import Metric

__all__ = ["Cache", "ResultCache"]


class Cache:
    """The stored runs of a folder.

    >>> Cache(".cache").runs()[-1]["status"]  # doctest: +SKIP
    'finished'
    """

    def __init__(self, cache_dir: str | os.PathLike[str]) -> None:
        self._store = NativeStore(os.fspath(cache_dir))
        self.cache_path = Path(cache_dir) / "store.sqlite"

    @property
    def cached_count(self) -> int:
        """The number of stored answers."""
        return self._store.n_responses()

    def runs(self) -> list[dict[str, Any]]:
        """Returns all runs, oldest first, with ``id``, ``created_at``, ``status``, ``systems``,
        ``rows`` and ``command``."""
        return self._store.runs()

    def load(
        self,
        run: str = "last",
        metrics: Sequence[Metric] = (),
        *,
        prices: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    ) -> EvalResult:
        """Loads the result of a run.

        Nothing is called or scored again. For a run that did not finish, there is a warning,
        ``result.part_of`` is set, and ``result.counts`` shows what is missing.

        Args:
            run: The id of the run, the first characters of it, or ``"last"``.
            metrics: Metrics to compute over the stored rows.
            prices: Files of prices, instead of those that the run had: money is computed anew
                from the stored tokens.
        """
        files = [prices] if isinstance(prices, (str, os.PathLike)) else prices
        result = _from_parts(self._store.load(run, [os.fspath(file) for file in files]))
        for name, numbers in result.summary.items():
            rows = [row for row in result.rows if row.system == name]
            for metric in metrics:
                numbers.update(metric.compute(rows))
        return result

    def record(self, run: str = "last") -> dict[str, Any]:
        """Returns what was asked for in a run (``spec``) and what was decided (``plan``)."""
        return self._store.record(run)

    def sql(self, query: str) -> list[dict[str, Any]]:
        """Runs a read-only SQL query and returns one dict per row.

        The view ``answers`` has one row per answer (``run``, ``system``, ``dataset``,
        ``example_id``, ``question``, ``response``, …), ``run_scores`` one per score. Both views
        include the texts that the file stores compressed.
        """
        return self._store.sql(query)


#: The name of this class in the original tool.
ResultCache = Cache
