"""Writes a tree of task files the way real ones are written.

    python3 scripts/wild_tree.py FOLDER [--families 40] [--subjects 30]

Each family is a folder: templates without `.yaml` (some announce with null what the tasks
fill in), a Python file, a file for each subject, a group. Families differ in how they do
it; together they use what `docs/reference/tasks.md` lists. `context-bench validate
--include-path FOLDER '*'` must find nothing wrong. No package is needed to write or to
load it.
"""

import argparse
import pathlib

DATA = '''
def data(**_):
    rows = [{"q": "two?", "a": "2", "n": 1, "opts": ["x", "y"], "label": 1, "flag": True},
            {"q": "three?", "a": "3", "n": 0, "opts": ["x", "y"], "label": 0, "flag": False}]
    return {"test": rows, "train": rows}
'''

BASE = """custom_dataset: !function utils.data
test_split: test
fewshot_split: train
"""
GENERATION = BASE + """doc_to_text: "{{q.strip()}}\\nAnswer:"
doc_to_target: a
generation_kwargs:
  until:
    - "\\n"
  do_sample: false
"""
CHOICE = BASE + """output_type: multiple_choice
doc_to_text: "{{q}}"
doc_to_choice: opts
doc_to_target: label
"""


def nulls(family):
    """The template says what is to be filled in, by null."""
    return {
        "_template_yaml": GENERATION + "task: null\ndataset_name: null\ngeneration_kwargs: null\n"
        f"tag: {family}_tasks\n",
        "utils.py": DATA,
    }, "include: _template_yaml\ntask: {task}\ndataset_name: {subject}\ntest_split: test\n"


def truthy(family):
    """A text where a truth value is expected."""
    return {
        "default": GENERATION + """metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    ignore_case: true
    ignore_punctuation: true
      - "."
      - ","
""",
        "utils.py": DATA,
    }, "include: default\ntask: {task}\ndescription: 'Questions about {subject}:\n\n\n  '\n"


def registered(family):
    """A filter, a metric and an aggregation that only the code knows."""
    return {
        "_default_template_yaml": GENERATION + """process_results: !function filters.results
filter_list:
  - name: clean-it
    filter:
      - function: clean_up
        marks: "*"
      - function: take_first
metric_list:
  - metric: same
    aggregation: halved
    higher_is_better: true
""",
        "utils.py": DATA,
        "filters.py": '''
from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_aggregation, register_filter, register_metric


@register_filter("clean_up")
class CleanUp(Filter):
    def __init__(self, marks=None):
        self.marks = marks

    def apply(self, resps, docs):
        return [[text.strip(self.marks) for text in texts] for texts in resps]


@register_aggregation("halved")
def halved(values):
    return sum(values) / len(values) / 2


@register_metric(metric="shout", higher_is_better=True, output_type="generate_until",
                 aggregation="halved")
def shout(references, predictions, **kwargs):
    return float(references[0].upper() == predictions[0].upper())


def results(doc, results):
    return {"same": float(doc["a"] == results[0])}
''',
        "own_metric.yaml": GENERATION + f"task: {family}_own_metric\n"
        "process_docs: !function filters_docs.same\nmetric_list: [{metric: shout}]\n",
        "filters_docs.py": "from filters import shout\n\n\ndef same(rows):\n    return rows\n",
    }, "include: _default_template_yaml\ntask: {task}\ntask_alias: {subject}\n"


def imports(family):
    """What real code imports, and functions that exist only after the import."""
    return {
        "_base": CHOICE + """metric_list:
  - metric: acc
    aggregation: mean
    ignore_case: true
  - metric: f1
    aggregation: !function utils.weighted_f1_score
    average: weighted
    hf_evaluate: true
""",
        "utils.py": DATA + '''
import functools

import datasets
from lm_eval.api.metrics import mean, metric_max_over_ground_truths
from lm_eval.filters.extraction import RegexFilter
from lm_eval.utils import general_detokenize, weighted_f1_score

assert datasets.__version__ >= "2"


class Last(RegexFilter):
    def __init__(self, regex_pattern=r"([xy])", group_select=-1, ignore_case=False):
        super().__init__(regex_pattern, group_select)


def _process(rows, subject):
    return rows.map(lambda row: {**row, "q": general_detokenize(subject + " " + row["q"])})


for _subject in range(1000):
    globals()["process_subject_%d" % _subject] = functools.partial(
        _process, subject="subject_%d" % _subject)
''',
    }, "include: _base\ntask: {task}\nprocess_docs: !function utils.process_{subject}\n" \
       "fewshot_config:\n  sampler: first_n\n  doc_to_text: \"{{{{q}}}} {{{{opts[label]}}}}\\n\\n\"\n" \
       "  doc_to_target: \"\"\nnum_fewshot: 2\n"


def flags(family):
    """A truth value as a place among the choices; quoted booleans; targets that are numbers."""
    return {
        "../" + family + "_shared.yaml": CHOICE.replace("doc_to_target: label", "doc_to_target: flag")
        .replace("doc_to_choice: opts", 'doc_to_choice: ["no", "yes"]')
        .replace("!function utils", f"!function {family}_code"),
        "../" + family + "_code.py": DATA,
    }, "include: ../{family}_shared.yaml\ntask: {task}\nnum_fewshot: 1\nmetadata: {{version: 1.0.2}}\n"


def labels(family):
    """`acc` and `f1` of generated answers, summed up in Python; filters that are classes."""
    return {
        "_one_yaml": GENERATION + "repeats: 1\n",
        "_two_yaml": """metric_list:
  - metric: f1
    aggregation: !function utils.pairs
filter_list:
  - name: "strict-match"
    filter:
      - function: regex
        regex_pattern: "([0-9]+)"
        group_select: -1
      - function: !function utils.Drop
        letters: "x"
      - function: take_first
""",
        "utils.py": DATA + '''
from lm_eval.api.filter import Filter


class Drop(Filter):
    def __init__(self, letters=""):
        self.letters = letters

    def apply(self, resps, docs):
        return [[text.replace(self.letters, "") for text in texts] for texts in resps]


def pairs(items):
    return sum(gold == given for gold, given in items) / len(items)
''',
    }, "include: [_one_yaml, _two_yaml]\ntask: {task}\ntag: [{family}_tasks, wild]\nnum_fewshot: 3\n" \
       "num_fewshot: 0\ngen_prefix: !!null \"null\"\n"


FAMILIES = [nulls, truthy, registered, imports, flags, labels]


def write(root, families, subjects):
    """Writes the tree; gives how many tasks and groups it has."""
    tasks = groups = 0
    for number in range(families):
        make = FAMILIES[number % len(FAMILIES)]
        family = f"{make.__name__}_{number}"
        files, subject_file = make(family)
        # As deep as real ones: some families lie in a folder of folders.
        folder = root / f"area_{number % 7}" / family if number % 3 else root / family
        folder.mkdir(parents=True)
        names = []
        for n in range(subjects):
            names.append(f"{family}_subject_{n}")
            files[f"{family}_subject_{n}.yaml"] = subject_file.format(
                task=names[-1], subject=f"subject_{n}", family=family)
        members = "\n".join(f"  - {name}" for name in names)
        files[f"_{family}.yaml"] = (
            f"group: {family}\ngroup_alias: {family.upper()} (日本語)\ntask:\n{members}\n"
            "aggregate_metric_list:\n  - metric: acc\n    aggregation: mean\n"
            f"    weight_by_size: {'truez' if number % 5 == 0 else 'true'}\n"
            "metadata:\n  version: 1.0\n")
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
            tasks += "\ntask: " in "\n" + text and name.endswith(".yaml") and "group:" not in text
        groups += 1
    return tasks, groups


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--families", type=int, default=40)
    parser.add_argument("--subjects", type=int, default=30)
    args = parser.parse_args()
    tasks, groups = write(args.folder, args.families, args.subjects)
    print(f"{tasks} tasks and {groups} groups in {args.folder}")


if __name__ == "__main__":
    main()
