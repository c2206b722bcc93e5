"""Runs on many machines: ``evaluate(..., executor=Ray(...))``.

The process that calls ``evaluate`` (the driver) reads the dataset, looks up what is stored
already, hands out units of missing examples and is the only one that writes the store. Workers
need the package and, for endpoints, the environment variables with their keys; no shared folder.
``docs/guide/scale-out.md`` says when it is worth it.
"""

from __future__ import annotations

from context_bench.distributed._driver import Ray
from context_bench.distributed._preflight import PreflightError
from context_bench.distributed._ray import ClusterLost

__all__ = ["ClusterLost", "PreflightError", "Ray"]
