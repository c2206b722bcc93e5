"""Tasks of every output type, for both front ends."""

from __future__ import annotations

import json
from pathlib import Path

RECORDS = [{"q": f"{i} + {i}?", "a": str(2 * i % 5)} for i in range(8)]
SUMS = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: docs.jsonl, train: shots.jsonl}}}}
test_split: test
training_split: train
output_type: {kind}
doc_to_text: "Q: {{{{q}}}}\\nA:"
doc_to_target: "{target}"
"""
GENERATED = """
generation_kwargs: {until: ["\\n"], max_gen_toks: 8}
repeats: 3
num_fewshot: 1
filter_list:
  - {name: number, filter: [{function: regex, regex_pattern: "([0-9])"}, {function: take_first}]}
  - {name: majority, filter: [{function: regex, regex_pattern: "([0-9])"},
                              {function: majority_vote}, {function: take_first}]}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
"""
SPOKEN = """
generation_kwargs: {until: ["END"], max_gen_toks: 8}
num_fewshot: 1
metric_list:
  - {metric: bleu, aggregation: bleu, higher_is_better: true}
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
"""
CHOICES = """
doc_to_choice: ["0", "2", "4", "seventeen"]
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: acc_norm, aggregation: mean, higher_is_better: true}
  - {metric: acc_mutual_info, aggregation: mean, higher_is_better: true}
"""
LIKELY = """
metric_list:
  - {metric: perplexity, aggregation: perplexity, higher_is_better: false}
  - {metric: acc, aggregation: mean, higher_is_better: true}
"""
ROLLING = """
metric_list:
  - {metric: word_perplexity, aggregation: weighted_perplexity, higher_is_better: false}
  - {metric: byte_perplexity, aggregation: weighted_perplexity, higher_is_better: false}
  - {metric: bits_per_byte, aggregation: bits_per_byte, higher_is_better: false}
"""
FUNCTIONS = """
process_docs: !function own.even
process_results: !function own.judge
metric_list:
  - {metric: right, aggregation: !function own.share, higher_is_better: true}
"""
OWN = """
def even(docs):
    return docs.filter(lambda doc: int(doc["a"]) % 4 == 0)


def judge(doc, results):
    return {"right": float(doc["a"] in results[0])}


def share(scores):
    return sum(scores) / len(scores)
"""
GROUP = """
group: all
task: [generated, {group: likely, task: [chosen, said], aggregate_metric_list: [{metric: acc}]}]
aggregate_metric_list:
  - {metric: exact_match, weight_by_size: true, filter_list: number}
"""


def write(folder: Path) -> Path:
    """Writes tasks of every output type, one with functions, and a group of groups."""
    folder.mkdir()
    for name, kind, rest in [
        ("generated", "generate_until", GENERATED),
        ("spoken", "generate_until", SPOKEN),
        ("chosen", "multiple_choice", CHOICES),
        ("said", "loglikelihood", LIKELY),
        ("rolled", "loglikelihood_rolling", ROLLING),
        ("functions", "generate_until", FUNCTIONS),
        ("unsafe", "generate_until", "unsafe_code: true\n"),
    ]:
        target = "{{a}} Capital and so on" if name == "spoken" else "{{a}}"
        text = SUMS.format(name=name, kind=kind, target=target)
        (folder / f"{name}.yaml").write_text(text + rest)
    (folder / "own.py").write_text(OWN)
    (folder / "all.yaml").write_text(GROUP)
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, RECORDS[:6])))
    (folder / "shots.jsonl").write_text("\n".join(map(json.dumps, RECORDS[6:])))
    return folder
