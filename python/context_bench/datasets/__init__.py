"""Datasets by name, each with a loader function.

Every loader takes ``n`` (the maximum number of records), ``split``, ``config`` where the dataset
has several, and ``path`` (a local copy with the same layout as on the hub). Without ``path``,
records come from the Hugging Face hub and are cached in the cache of the package ``datasets``.
``load(name, ...)`` takes a dataset as the command line does: ``load("mmlu:anatomy")``.
"""

from __future__ import annotations

from context_bench.datasets.agent_traces import (
    apigen_mt,
    bfcl_simple,
    swe_agent_traces,
    swebench,
    swebench_lite,
    swebench_verified,
)
from context_bench.datasets.code import humaneval, mbpp
from context_bench.datasets.instruction import alpaca_eval, ifeval
from context_bench.datasets.knowledge import (
    arc_challenge,
    gpqa,
    hellaswag,
    mmlu,
    mmlu_pro,
    truthfulqa,
    winogrande,
)
from context_bench.datasets.loading import load, names
from context_bench.datasets.local import demo, load_file, load_jsonl
from context_bench.datasets.longcontext import infinitebench, longbench, longbench_v2, nolima
from context_bench.datasets.memory import (
    locomo,
    longmemeval,
    sample_search_pool,
    split_conversations,
)
from context_bench.datasets.multi_turn import mt_bench
from context_bench.datasets.nli import contract_nli, scifact
from context_bench.datasets.prompts import Prompt, prompt
from context_bench.datasets.qa import (
    frames,
    hotpotqa,
    musique,
    narrativeqa,
    natural_questions,
    qasper,
    quality,
    triviaqa,
)
from context_bench.datasets.reasoning import bbh, drop, gsm8k, math_dataset, mgsm
from context_bench.datasets.summarization import (
    dialogsum,
    govreport,
    meetingbank,
    multi_news,
    qmsum,
    summscreenfd,
)

__all__ = [
    "Prompt",
    "alpaca_eval",
    "apigen_mt",
    "arc_challenge",
    "bbh",
    "bfcl_simple",
    "contract_nli",
    "demo",
    "dialogsum",
    "drop",
    "frames",
    "govreport",
    "gpqa",
    "gsm8k",
    "hellaswag",
    "hotpotqa",
    "humaneval",
    "ifeval",
    "infinitebench",
    "load",
    "load_file",
    "load_jsonl",
    "locomo",
    "longbench",
    "longbench_v2",
    "longmemeval",
    "math_dataset",
    "mbpp",
    "meetingbank",
    "mgsm",
    "mmlu",
    "mmlu_pro",
    "mt_bench",
    "multi_news",
    "musique",
    "names",
    "narrativeqa",
    "natural_questions",
    "nolima",
    "prompt",
    "qasper",
    "qmsum",
    "quality",
    "sample_search_pool",
    "scifact",
    "split_conversations",
    "summscreenfd",
    "swe_agent_traces",
    "swebench",
    "swebench_lite",
    "swebench_verified",
    "triviaqa",
    "truthfulqa",
    "winogrande",
]
