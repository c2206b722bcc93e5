"""What ``evaluate(..., cache_dir=...)`` keeps: earlier runs, to be looked at again.

The folder holds one SQLite file. Answers are found by everything that decides them
(the example, the endpoint, the model, prompts, settings), never by names alone.
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
    """The runs in a folder.

    >>> Cache(".cache").runs()[-1]["status"]  # doctest: +SKIP
    'finished'
    """

    def __init__(self, cache_dir: str | os.PathLike[str]) -> None:
        self._store = NativeStore(os.fspath(cache_dir))
        self.cache_path = Path(cache_dir) / "store.sqlite"

    @property
    def cached_count(self) -> int:
        """How many answers are kept."""
        return self._store.n_responses()

    def runs(self) -> list[dict[str, Any]]:
        """All runs, the oldest first: ``id``, ``created_at``, ``status``, ``systems``,
        ``rows``."""
        return self._store.runs()

    def load(self, run: str = "last", metrics: Sequence[Metric] = ()) -> EvalResult:
        """A run as a result again, by its id, the beginning of it, or ``"last"``.

        Nothing is called or scored; ``tasks`` are summed up as the run did, and
        ``metrics`` are computed over the stored rows. A run that did not finish is a part:
        a warning and ``part_of`` say so, and ``counts`` what is missing.
        """
        result = _from_parts(self._store.load(run))
        for name, numbers in result.summary.items():
            rows = [row for row in result.rows if row.system == name]
            for metric in metrics:
                numbers.update(metric.compute(rows))
        return result

    def record(self, run: str = "last") -> dict[str, Any]:
        """What was asked for in a run (``spec``) and what was decided (``plan``)."""
        return self._store.record(run)

    def sql(self, query: str) -> list[dict[str, Any]]:
        """What a query in SQL finds, one dict per row; it may only read.

        The view ``answers`` has one row per answer (``run``, ``system``, ``dataset``,
        ``example_id``, ``question``, ``response``, …), ``run_scores`` one per score; texts
        that the file holds compressed are there as well.
        """
        return self._store.sql(query)


#: As users of the original tool know it.
ResultCache = Cache
