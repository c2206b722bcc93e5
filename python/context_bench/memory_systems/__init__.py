"""Memory systems of other packages, as thin adapters.

``Mem0Memory`` needs the package ``mem0ai`` (extra ``mem0``), ``ZepMemory`` needs ``graphiti-core``
(extra ``zep``) and a Neo4j database. Both find facts in their own stores and answer through an
OpenAI-compatible relay. The memories of the library itself (``BUILTIN_MEMORIES``) are passed to
``evaluate_memory`` by name.

``python -m context_bench.memory_systems NAME`` serves one of them, or any ``module:Class``, to
``context-bench memory --system``.
"""

from __future__ import annotations

from context_bench.memory_systems._relay_memory import MissingPackageError
from context_bench.memory_systems.mem0 import Mem0Memory
from context_bench.memory_systems.opening import ADAPTERS, open_memory
from context_bench.memory_systems.serving import serve
from context_bench.memory_systems.zep import ZepMemory

__all__ = [
    "ADAPTERS",
    "BUILTIN_MEMORIES",
    "Mem0Memory",
    "MissingPackageError",
    "ZepMemory",
    "open_memory",
    "serve",
]

#: The memories that come with the library; parameters are written as ``bm25:top_k=5``.
BUILTIN_MEMORIES = (
    "naive",
    "window",
    "keyword",
    "bm25",
    "embedding",
    "hybrid",
    "summary",
    "oracle",
    "none",
)
