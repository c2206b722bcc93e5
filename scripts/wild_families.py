"""Families of task files, each in a style of real ones.

A family is a function of its name. It returns files (by path in the family's folder), the text of
the file of one subject, and the text of its group, or `None` for the usual one. In the last two,
`{task}`, `{subject}`, `{family}` and `{members}` are filled in. Every record, prompt and name is
made up.
"""

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
    """The template declares with null what files fill in; some files reset a value."""
    return {
        "_template_yaml": GENERATION + "task: null\ndataset_path: null\ndataset_name: null\n"
        f"training_split: null\ngeneration_kwargs: null\ndoc_to_choice: !!null \"null\"\n"
        f"tag: {family}_tasks\n",
        "utils.py": DATA,
        "unset.yaml": f"include: _template_yaml\ntask: {family}_unset\ndataset_name:\n"
        "fewshot_split: null\nnum_fewshot: null\ndataset_kwargs: null\n",
    }, "include: _template_yaml\ntask: {task}\ndataset_name: {subject}\ntest_split: test\n", None


def truthy(family):
    """A string instead of a boolean, and a single value instead of a list."""
    return {
        "default": GENERATION + """metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: True
    ignore_case: true
    ignore_punctuation: true
      - "."
      - ","
""",
        "utils.py": DATA,
    }, "include: default\ntask: {task}\ndescription: 'Questions about {subject}:\n\n\n  '\n", None


def registered(family):
    """A filter, a metric and an aggregation that only the Python code defines."""
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
    }, "include: _default_template_yaml\ntask: {task}\ntask_alias: {subject}\n", None


def imports(family):
    """The imports of real code, and functions that exist only after the import."""
    return {
        "_base": CHOICE + """metric_list:
  - metric: acc
    aggregation: mean
    ignore_case: true
    regexes_to_ignore:
      - ","
    weight_by_size: true
  - metric: f1
    aggregation: !function utils.weighted_f1_score
    average: weighted
    hf_evaluate: true
""",
        "utils.py": DATA + '''
import functools

import datasets
from lm_eval.api.metrics import mean, metric_max_over_ground_truths
from lm_eval.filters.extraction import Filter, RegexFilter
from lm_eval.utils import general_detokenize, weighted_f1_score

assert datasets.__version__ >= "2"


class Last(RegexFilter):
    def __init__(self, regex_pattern=r"([xy])", group_select=-1, ignore_case=False):
        super().__init__(regex_pattern, group_select)
        assert isinstance(self, Filter) and self.regex.groups == 1


def _process(rows: datasets.Dataset, subject) -> datasets.Dataset:
    return rows.map(lambda row: {**row, "q": general_detokenize(subject + " " + row["q"])})


for _subject in range(1000):
    globals()["process_subject_%d" % _subject] = functools.partial(
        _process, subject="subject_%d" % _subject)
''',
    }, "include: _base\ntask: {task}\nprocess_docs: !function utils.process_{subject}\n" \
       "fewshot_config:\n  sampler: first_n\n  doc_to_text: \"{{{{q}}}} {{{{opts[label]}}}}\\n\\n\"\n" \
       "  doc_to_target: \"\"\nnum_fewshot: 2\n", None


def flags(family):
    """A boolean as the index of a choice; quoted booleans; numbers as targets."""
    return {
        "../" + family + "_shared.yaml": CHOICE.replace("doc_to_target: label", "doc_to_target: flag")
        .replace("doc_to_choice: opts", 'doc_to_choice: ["no", "yes"]')
        .replace("!function utils", f"!function {family}_code"),
        "../" + family + "_code.py": DATA,
        "zero.yaml": f"include: ../{family}_shared.yaml\ntask: {family}_zero\ndoc_to_target: 0\n",
        "word.yaml": f"include: ../{family}_shared.yaml\ntask: {family}_word\n"
        "doc_to_target: \"{{['no', 'yes'][label]}}\"\ndoc_to_choice: \"{{['no', 'yes']}}\"\n",
    }, "include: ../{family}_shared.yaml\ntask: {task}\nnum_fewshot: 1\nmetadata: {{version: 1.0.2}}\n", None


def labels(family):
    """`acc` and `f1` of generated answers, aggregated in Python; classes as filters."""
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
        "spans.yaml": f"include: _one_yaml\ntask: {family}_spans\n"
        "filter_list: [{name: spans, filter: [{function: format_span}]}]\n"
        "metric_list: [{metric: f1, aggregation: !function utils.pairs}]\n",
        "tags.yaml": f"include: _one_yaml\ntask: {family}_tags\n"
        "filter_list: [{name: flexible_extract@tags, filter: [{function: regex_pos}]}]\n"
        "metric_list: [{metric: acc, aggregation: !function utils.pairs}]\n",
    }, "include: [_one_yaml, _two_yaml]\ntask: {task}\ntag: [{family}_tasks, wild]\nnum_fewshot: 3\n" \
       "num_fewshot: 0\ngen_prefix: !!null \"null\"\n", None


def writing(family):
    """Unusual YAML: multi-line quoted and plain strings, blocks, escapes, flow style, lines of
    spaces, timestamps, direction marks; a file without a final line break."""
    return {
        "_plain_yaml": GENERATION,
        "_deeper_yaml": "include: _plain_yaml\ntarget_delimiter: \"\"\nshould_decontaminate: False\n"
        "doc_to_decontamination_query: q\n",
        "utils.py": DATA,
        "block.yaml": f"task: {family}_block\ninclude: _plain_yaml\ndoc_to_text: |-\n  {{{{q}}}}\n\n  Answer:\n"
        "description: >-\n  Folded\n  into one line.\n   \n\n",
        "bare.yaml": f"include: _deeper_yaml\ntask: {family}_bare (old)\ndescription: a plain text\n"
        "  that goes on at 06:00\n  and ends here",
    }, "include: _deeper_yaml\ntask: {task}\ndescription: \"Say \\xe9 or \\u05d0 \\\n  of {subject}\n\n" \
       "  in two paragraphs\"\ntask_alias: 'it''s \u200f\u05d0\u05d1 {subject}'\n" \
       "metadata: {{version: 1.0, canonical_task: a, canonical_task: b}}\n", None


def templates(family):
    """The Jinja that real prompts are written in."""
    forms = [
        "{{q.strip()[:-1]}}{{' ' + opts[-1] if opts else ''}}",
        "{% if n is not none and n > 0 %}{{n|string}}{% else %}{{q|length}}{% endif %}: {{q}}",
        "{% for o in opts %}{{loop.index0}}. {{o}}{% if o != opts[-1] %}, {% endif %}{% endfor %}",
        "{% set letters = ['A', 'B'] -%} {{letters[label - 0]}} {{opts|join(', ')}} {{', '.join(opts)}}",
        "{{q.split('?')[0].replace('t', 'T').capitalize()}}{{'' if extra is defined else '!'}}",
        "{{ {'2': 'two', '3': 'three'}[a] }} {{range(3)|list}} {{opts|map('upper')|list|length}}",
        "{{q}}\n{% for i in range(opts|length) %}{{'ABCD'[i]}}. {{opts[i].lstrip()}}\n{% endfor %}",
    ]
    files = {"_mc_yaml": CHOICE, "utils.py": DATA}
    for number, form in enumerate(forms):
        text = form.replace('"', '\\"').replace("\n", "\\n")
        files[f"form_{number}.yaml"] = (
            f'include: _mc_yaml\ntask: {family}_form_{number}\ndoc_to_text: "{text}"\n'
            "doc_to_choice: \"{{[opts[0].strip(), opts[1] | trim]}}\"\n"
            "doc_to_target: \"{{opts.index(opts[label])}}\"\n")
    return files, "include: _mc_yaml\ntask: {task}\ndoc_to_text: \"{{{{q}}}} ({subject})\\n\"\n", None


def filters(family):
    """Pipelines of every built-in step, and functions as steps."""
    return {
        "_gen_yaml": GENERATION + "repeats: 3\n",
        "utils.py": DATA + '''
def shorten(resps, docs):
    return [[text[:10] for text in texts] for texts in resps]


def choices(rows):
    return rows.map(lambda row: dict(row, choices=row["opts"]))
''',
        "vote.yaml": f"include: _gen_yaml\ntask: {family}_vote\n" """filter_list:
  - name: score-first
    filter:
      - function: "regex"
        regex_pattern: "(?<=The answer is )(.*)(?=.)"
      - function: "take_first"
  - name: "maj@3"
    filter:
      - function: take_first_k
        k: 3
      - function: regex
        regex_pattern: "(-?[0-9.,]{2,})|(-?[0-9]+)"
        group_select: -1
      - function: majority_vote
      - function: take_first
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true, ignore_punctuation: false, regexes_to_ignore: [",", "\\\\$"]}]
""",
        "map.yaml": f"include: _gen_yaml\ntask: {family}_map\nrepeats: 1\n" """filter_list:
  - name: get-answer
    filter:
      - {function: regex, regex_pattern: "[2-3]"}
      - {function: take_first}
      - {function: map, mapping_dict: {"2": 0, "3": 1}, default_value: -1}
      - {function: take_first}
""",
        "letters.yaml": f"include: _gen_yaml\ntask: {family}_letters\nrepeats: 1\n"
        "process_docs: !function utils.choices\n" """filter_list:
  - name: flexible-extract
    filter:
      - function: multi_choice_regex
        group_select: -1
        ignore_case: true
        ignore_punctuation: true
        regex_pattern: "(\\\\([A-Z]\\\\))"
      - function: lowercase
      - function: take_first
""",
    }, "include: _gen_yaml\ntask: {task}\nrepeats: 1\nfilter_list:\n  - name: custom-step\n    filter:\n" \
       "      - function: custom\n        filter_fn: !function utils.shorten\n" \
       "      - function: remove_whitespace\n      - function: take_first\n", None


def metrics(family):
    """Functions as metrics, custom results, numeric names, corpora."""
    return {
        "_gen_yaml": GENERATION,
        "utils.py": DATA + '''
from functools import partial


def of_items(items):
    return float(items[0] == items[1])


def of_keywords(predictions, references, k=None, **kwargs):
    return {"m": 1.0, "at_%d" % (k or [1])[0]: 0.0}


def results(doc, results, **kwargs):
    return {"4096": 1.0, "pair": (doc["n"], 1.0)}


def _weighted(items, power=1):
    return sum(a * b for a, b in items) / len(items) ** power


weighted = partial(_weighted, power=1)
''',
        "corpus.yaml": f"include: _gen_yaml\ntask: {family}_corpus\nmetric_list:\n"
        "  - {metric: bleu}\n  - {metric: chrf, aggregation: chrf}\n  - {metric: ter}\n"
        "  - {metric: wer, aggregation: mean, high_is_better: false}\n",
        "outside.yaml": f"include: _gen_yaml\ntask: {family}_outside\nmetric_list:\n"
        "  - {metric: accuracy, aggregation: mean, hf_evaluate: true}\n"
        "  - {metric: f1, aggregation: mean, hf_evaluate: true, average: micro}\n",
        "items.yaml": f"include: _gen_yaml\ntask: {family}_items\nmetric_list:\n"
        "  - {metric: !function utils.of_items, aggregation: mean}\n"
        "  - {metric: !function utils.of_keywords, aggregation: mean, k: [1, 5]}\n",
        "choices.yaml": CHOICE + f"task: {family}_choices\nmetric_list:\n  - {{metric: acc}}\n"
        "  - {metric: acc_norm}\n  - {metric: acc_bytes}\n  - {metric: mcc}\n  - {metric: brier_score}\n",
        "rolling.yaml": BASE + f"task: {family}_rolling\noutput_type: loglikelihood_rolling\n"
        "doc_to_text: \"\"\ndoc_to_target: \"{{q}}\"\nmetric_list:\n"
        "  - {metric: word_perplexity, aggregation: weighted_perplexity}\n"
        "  - {metric: bits_per_byte, aggregation: bits_per_byte}\n",
        "likely.yaml": BASE + f"task: {family}_likely\noutput_type: loglikelihood\n"
        "doc_to_text: \"{{q}}\"\ndoc_to_target: \" {{a}}\"\nmetric_list:\n"
        "  - {metric: perplexity, aggregation: perplexity}\n  - {metric: acc}\n",
    }, "include: _gen_yaml\ntask: {task}\nprocess_results: !function utils.results\nmetric_list:\n" \
       "  - metric: \"4096\"\n    aggregation: nanmean\n    higher_is_better: true\n" \
       "  - metric: pair\n    aggregation: !function utils.weighted\n", None


def classes(family):
    """Python classes as tasks, with keys of their own."""
    return {
        "task.py": '''
import datasets
from lm_eval.api.instance import Instance
from lm_eval.api.metrics import mean
from lm_eval.api.task import ConfigurableTask

ROWS = [{"q": "two?", "a": "2"}, {"q": "three?", "a": "3"}]


class Base(ConfigurableTask):
    VERSION = 0
    DATASET_PATH = "nobody/nothing"
    DATASET_NAME = None

    def __init__(self, config=None):
        super().__init__(config={"metadata": {"version": self.VERSION}})
        self.recipe = (config or {}).get("recipe")

    def download(self, dataset_kwargs=None):
        self.dataset = {"test": datasets.Dataset.from_list(ROWS)}

    def has_training_docs(self):
        return False

    def has_validation_docs(self):
        return False

    def has_test_docs(self):
        return True

    def test_docs(self):
        return map(self._process_doc, self.dataset["test"])

    def _process_doc(self, doc):
        return {**doc, "recipe": self.recipe}

    def doc_to_text(self, doc):
        return "Q: %s\\nA:" % doc["q"]

    def doc_to_target(self, doc):
        return " " + doc["a"]

    def should_decontaminate(self):
        return False

    def construct_requests(self, doc, ctx, chat_template=None, apply_chat_template=False, **kwargs):
        return Instance(request_type="generate_until", doc=doc,
                        arguments=(ctx, {"until": ["\\n"]}), idx=0, **kwargs)

    def process_results(self, doc, results):
        return {"em": float(results[0].strip() == doc["a"])}

    def aggregation(self):
        return {"em": mean}

    def higher_is_better(self):
        return {"em": True}


class Derived(Base):
    def __init__(self, **kwargs):
        super().__init__()

    def download(self, **kwargs):
        self.dataset = {"test": ROWS}

    def fewshot_context(self, doc, **kwargs):
        return "Think. " + super().fewshot_context(doc, **kwargs)
''',
        "derived.yaml": f"task: {family}_derived\nclass: !function task.Derived\n",
    }, "task: {task}\nclass: !function task.Base\nrecipe: {subject}\ngroup: {family}_old\n" \
       "tag:\n  - {family}_tasks\n", None


def data(family):
    """Records from files, with loader settings; unusual split names."""
    return {
        "rows.csv": "two?,2\nthree?,3\n",
        "rows.jsonl": '{"q": "two?", "a": "2"}\n{"q": "three?", "a": "3"}\n',
        "_json_yaml": "dataset_path: json\ndataset_kwargs:\n  data_files: {latest: rows.jsonl}\n"
        "  trust_remote_code: true\noutput_type: generate_until\ntest_split: latest\n"
        "validation_split: null\ntraining_split: null\ndoc_to_text: q\ndoc_to_target: a\n",
        "csv.yaml": f"task: {family}_csv\ndataset_path: csv\ndataset_kwargs:\n"
        "  data_files: {test: rows.csv}\n  column_names: [q, a]\n  header: null\n"
        "test_split: test\ndoc_to_text: q\ndoc_to_target: a\n",
        "samples.yaml": f"include: _json_yaml\ntask: {family}_samples\nnum_fewshot: 2\n"
        "fewshot_config:\n  sampler: first_n\n  samples:\n    - {q: one?, a: '1'}\n    - {q: 'four?', a: '4'}\n",
        "called.yaml": f"include: _json_yaml\ntask: {family}_called\nnum_fewshot: 1\n"
        "fewshot_config: {sampler: first_n, samples: !function shots.rows}\n",
        "shots.py": "def rows():\n    return [{'q': 'one?', 'a': '1'}]\n",
    }, "include: _json_yaml\ntask: {task}\ndataset_name: \"2016\"\ngeneration_kwargs:\n  until: []\n" \
       "  temperature: 0\n  max_gen_toks: 10\n  top_p: 1.0\n  num_beams: 1\n", None


def groups(family):
    """Nested groups; members that are overridden, defined inline or repeated; a template."""
    return {
        "_mc_yaml": CHOICE, "utils.py": DATA,
        "_group_yaml": "aggregate_metric_list: {metric: acc, weight_by_size: false, filter_list: none}\n"
        "metadata: {version: 2, description: of a template}\n",
        "_templated.yaml": f"include: _group_yaml\ngroup: {family}_templated\ntask: [{family}_subject_0]\n",
        "_odd.yaml": f"group: {family}_odd\ntask: [{family}_subject_0]\ntag: [not_a_tag]\n"
        "aggregate_metric_list:\n  - metric: !function utils.data\n    aggregation: !function utils.data\n",
        "_whole.yaml": CHOICE + f"group: {family}_whole\ntask:\n"
        "  - {task: plain}\n  - {task: same, process_docs: !function utils.same}\n",
        "same.py": "",
    } | {"utils.py": DATA + "\n\ndef same(rows):\n    return rows\n"}, \
        "include: _mc_yaml\ntask: {task}\ntag: {family}_tasks\n", \
        "group: {family}\ngroup_alias: ' {family} '\nmetric_list: [{{metric: acc_norm}}]\ntask:\n" \
        "  - {family}_tasks\n  - {family}_templated\n" \
        "  - task: {family}_subject_0\n  - {{task: made@cloze, include: _mc_yaml}}\n" \
        "  - {{task: made@mcqa, include: _mc_yaml}}\n" \
        "  - group: inner\n    group_alias: Inner\n    task:\n" \
        "      - {{task: {family}_subject_0, task_alias: other, num_fewshot: 1, fewshot_split: train}}\n" \
        "      - {{group: innermost, task: [{family}_tasks]}}\n" \
        "    aggregate_metric_list:\n      - metric: acc_norm\n        weight_by_size: true\n" \
        "aggregate_metric_list: {{metric: acc_norm, aggregation: mean, weight_by_size: false}}\n"


def across(family):
    """Code and templates of other folders, imported by their names in the harness."""
    return {
        "../" + family + "_common/helpers.py": DATA + "\n\ndef target(doc):\n    return doc['a']\n",
        "../" + family + "_common/_base.yaml": GENERATION.replace("!function utils", "!function helpers"),
        "utils.py": f"from lm_eval.tasks.{{}}{family}_common.helpers import data\n"
        f"from lm_eval.tasks.{{}}{family}_common import helpers\n",
    }, "include: ../{family}_common/_base.yaml\ntask: {task}\n" \
       "doc_to_target: !function lm_eval.tasks.{area}{family}_common.helpers.target\n", None


FAMILIES = [nulls, truthy, registered, imports, flags, labels, writing, templates, filters,
            metrics, classes, data, groups, across]
