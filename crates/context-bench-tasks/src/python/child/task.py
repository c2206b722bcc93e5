# Stand-ins for the classes that a Python task derives from, for those who have no
# `lm_eval`. Own code after the description of the format; what is not here raises an
# error that names it.
import random
from dataclasses import dataclass, field


class Unsupported(NotImplementedError):
    def __init__(self, what):
        super().__init__("%s is not part of the built-in stand-in for `lm_eval`; install that "
                         "package for %s, or define it in the class" % (what, sys.executable))


# Splits that the parent supplies, by name; there is no download in here.
PROVIDED = {}


@dataclass
class Instance:
    request_type: str = ""
    doc: dict = field(default_factory=dict)
    arguments: tuple = ()
    idx: int = 0
    metadata: object = None
    resps: list = field(default_factory=list)
    filtered_resps: dict = field(default_factory=dict)
    task_name: object = None
    doc_id: object = None
    repeats: object = None

    def __post_init__(self):
        if isinstance(self.metadata, (tuple, list)) and len(self.metadata) == 3:
            self.task_name, self.doc_id, self.repeats = self.metadata

    @property
    def args(self):
        return self.arguments if isinstance(self.arguments, tuple) else (self.arguments,)


class TaskConfig(dict):
    """A configuration whose keys are attributes too."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    def __setattr__(self, name, value):
        self[name] = value

    def to_dict(self, **_):
        return dict(self)


class Splits(DatasetDict):
    """The splits that the parent supplies; of a class that names a dataset itself, those of
    that, when they are first looked at."""

    def __init__(self, task):
        super().__init__(PROVIDED)
        self._task = task

    def __missing__(self, split):
        config, task = self._task.config, self._task
        path = config.get("dataset_path") or task.DATASET_PATH
        if path is None or len(self):
            raise KeyError("no split `%s`; there are %s" % (split, sorted(self)))
        import datasets
        name = config.get("dataset_name") or task.DATASET_NAME
        self.update(datasets.load_dataset(path, name, **(config.get("dataset_kwargs") or {})))
        return self[split]


class Task:
    VERSION = None
    OUTPUT_TYPE = None
    DATASET_PATH = None
    DATASET_NAME = None
    # The texts of such a class carry their own space.
    _SEAM = ""

    def __init__(self, data_dir=None, cache_dir=None, download_mode=None, config=None):
        self._config = TaskConfig(config or {})
        self._instances, self._fewshot_seed = [], 1234
        self._download(data_dir, cache_dir, download_mode)

    def _download(self, *places):
        self.download(*places)

    def download(self, data_dir=None, cache_dir=None, download_mode=None):
        self.dataset = Splits(self)

    @property
    def config(self):
        return self._config

    @property
    def task_name(self):
        return self._config.get("task") or type(self).__name__

    @property
    def instances(self):
        return self._instances

    @property
    def fewshot_rng(self):
        return random.Random(self._fewshot_seed)

    def get_config(self, key):
        return self._config.get(key)

    def set_config(self, key, value, update=False):
        if update and isinstance(self._config.get(key), dict):
            self._config[key].update(value)
        else:
            self._config[key] = value

    def dump_config(self):
        return {k: v for k, v in self._config.items() if v is not None and not callable(v)}

    def set_fewshot_seed(self, seed=None):
        self._fewshot_seed = seed
        self._rng = random.Random(seed)

    def override_metric(self, metric_name):
        self._config["metric_list"] = [{"metric": metric_name}]

    # Documents.

    def _split(self, key):
        name = self._config.get(key)
        if name is None:
            return None
        if name not in self.dataset:
            raise LookupError("no split `%s` for the task `%s`; there are %s"
                           % (name, self.task_name, sorted(self.dataset)))
        process = self._config.get("process_docs")
        return process(self.dataset[name]) if callable(process) else self.dataset[name]

    def has_training_docs(self):
        return self._config.get("training_split") is not None

    def has_validation_docs(self):
        return self._config.get("validation_split") is not None

    def has_test_docs(self):
        return self._config.get("test_split") is not None

    def training_docs(self):
        return self._split("training_split")

    def validation_docs(self):
        return self._split("validation_split")

    def test_docs(self):
        return self._split("test_split")

    def fewshot_docs(self):
        if self._config.get("fewshot_split") is not None:
            return self._split("fewshot_split")
        for has, docs in ((self.has_training_docs, self.training_docs),
                          (self.has_validation_docs, self.validation_docs)):
            if has():
                return docs()
        return self.test_docs()

    @property
    def eval_docs(self):
        if self.has_test_docs():
            return self.test_docs()
        if self.has_validation_docs():
            return self.validation_docs()
        raise ValueError("the task `%s` has no test and no validation documents" % self.task_name)

    def doc_iterator(self, *, rank=0, limit=None, world_size=1, samples=None):
        docs = list(self.eval_docs)
        if samples is not None:
            chosen = sorted(samples)
        else:
            count = len(docs)
            if limit is not None:
                count = min(count, ceil(len(docs) * limit) if limit < 1 else int(limit))
            chosen = range(count)
        return ((index, docs[index]) for index in list(chosen)[rank::world_size])

    # Prompts and requests.

    def doc_to_text(self, doc):
        raise Unsupported("`Task.doc_to_text`")

    def doc_to_target(self, doc):
        raise Unsupported("`Task.doc_to_target`")

    def fewshot_examples(self, k, rnd):
        return rnd.sample(list(self.fewshot_docs()), k)

    def _shown(self, doc, n):
        """The examples for a document. Where it could be among them, one more is drawn."""
        settings = dict(self._config.get("fewshot_config") or {})
        sampler = settings.pop("sampler", "default")
        if settings or sampler not in ("default", "first_n"):
            raise Unsupported("`fewshot_config` with %s" % (sorted(settings) or sampler))
        if sampler == "first_n":
            return [one for one in self.fewshot_docs() if one != doc][:n]
        if not hasattr(self, "_rng"):
            self._rng = random.Random(self._fewshot_seed)
        same_name = self._config.get("fewshot_split") == self._config.get("test_split")
        evaluated = not self.has_training_docs() and not (
            self.has_validation_docs() and self.has_test_docs())
        if not same_name and not evaluated:
            return self.fewshot_examples(n, self._rng)
        return [one for one in self.fewshot_examples(n + 1, self._rng) if one != doc][:n]

    def fewshot_context(self, doc, num_fewshot=0, **_):
        for key in ("gen_prefix", "use_prompt"):
            if self._config.get(key):
                raise Unsupported("`%s` in a class" % key)
        between = self._config.get("fewshot_delimiter", "\n\n")
        seam = self._config.get("target_delimiter", self._SEAM)
        text = rendered(self._config.get("description") or "", doc)
        for one in self._shown(doc, num_fewshot) if num_fewshot else ():
            text += str(self.doc_to_text(one))
            answer = str(self._answer(one))
            # An empty answer stands in the question already.
            text += seam + answer + between if answer else ""
        return text + str(self.doc_to_text(doc))

    def _answer(self, doc):
        return self.doc_to_target(doc)

    def construct_requests(self, doc, ctx, **kwargs):
        raise Unsupported("`Task.construct_requests`")

    def build_all_requests(self, *, limit=None, samples=None, rank=0, world_size=1,
                           system_instruction=None, apply_chat_template=False, **_):
        if apply_chat_template or system_instruction:
            raise Unsupported("`build_all_requests` with a chat template or system instruction")
        shots = int(self._config.get("num_fewshot") or 0)
        repeats = int(self._config.get("repeats") or 1)
        self._instances = []
        for doc_id, doc in self.doc_iterator(
                rank=rank, limit=limit, world_size=world_size, samples=samples):
            made = self.construct_requests(
                doc, self.fewshot_context(doc, num_fewshot=shots),
                metadata=(self.task_name, doc_id, repeats))
            self._instances += made if isinstance(made, (list, tuple)) else [made]

    def apply_filters(self):
        pipelines = self._config.get("filter_list")
        if not pipelines:
            for one in self._instances:
                one.filtered_resps["none"] = one.resps[0]
            return self._instances
        docs = [one.doc for one in self._instances]
        for pipeline in pipelines:
            state = [one.resps for one in self._instances]
            for step in pipeline["filter"]:
                rest = {k: v for k, v in step.items() if k != "function"}
                function = step["function"]
                if function == "take_first":
                    state = [resps[0] for resps in state]
                elif function == "custom":
                    state = list(rest["filter_fn"](state, docs))
                elif isinstance(function, type):
                    state = list(function(**rest).apply(state, docs))
                elif function in REGISTERED["filter"]:
                    state = list(REGISTERED["filter"][function](**rest).apply(state, docs))
                else:
                    raise Unsupported("the filter `%s`" % (function,))
            for one, value in zip(self._instances, state):
                one.filtered_resps[pipeline["name"]] = value
        return self._instances

    def process_results(self, doc, results):
        raise Unsupported("`Task.process_results`")

    def aggregation(self):
        raise Unsupported("`Task.aggregation`")

    def higher_is_better(self):
        raise Unsupported("`Task.higher_is_better`")

    @staticmethod
    def count_words(text):
        import re
        return len(re.split(r"\s+", text))

    @staticmethod
    def count_bytes(text):
        return len(text.encode("utf-8"))

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError("`%s` is neither defined by the class `%s` nor by the built-in "
                             "stand-in for `lm_eval`" % (name, type(self).__name__))


class ConfigurableTask(Task):
    CONFIG = None
    _SEAM = " "

    def __init__(self, data_dir=None, cache_dir=None, download_mode=None, config=None):
        merged = dict(self.CONFIG or {})
        merged.update({k: v for k, v in (config or {}).items() if k != "class"})
        super().__init__(data_dir, cache_dir, download_mode, merged)
        self.OUTPUT_TYPE = self._config.get("output_type") or self.OUTPUT_TYPE or "generate_until"
        self.VERSION = (self._config.get("metadata") or {}).get("version", self.VERSION)

    def _download(self, *_):
        """Classes define it with one parameter for the settings of the loader, or with these
        as keywords."""
        settings = self._config.get("dataset_kwargs")
        kinds = [p.kind for p in inspect.signature(self.download).parameters.values()]
        if any(kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL,
                        inspect.Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds):
            self.download(settings)
        else:
            self.download(**(settings or {}))

    def download(self, *_, **__):
        custom = self._config.get("custom_dataset")
        if not callable(custom):
            self.dataset = Splits(self)
            return
        given = dict(self._config.get("metadata") or {}, **(self._config.get("dataset_kwargs") or {}))
        self.dataset = DatasetDict(
            {k: v if isinstance(v, Dataset) else Dataset(rows_of(v)) for k, v in custom(**given).items()})

    def _prompt(self, key, doc):
        value = self._config.get(key)
        if callable(value):
            return value(doc)
        if not isinstance(value, str):
            return value
        return doc[value] if value in doc else rendered(value, doc)

    def doc_to_text(self, doc):
        return self._prompt("doc_to_text", doc)

    def doc_to_target(self, doc):
        target = self._prompt("doc_to_target", doc)
        written = self._config.get("doc_to_target")
        if isinstance(target, str) and isinstance(written, str) and written not in doc \
                and target.isdigit() and self._config.get("doc_to_choice") is not None:
            return int(target)
        return target

    def doc_to_choice(self, doc):
        import ast
        choices = self._prompt("doc_to_choice", doc)
        if isinstance(choices, dict):
            return list(choices.values())
        return ast.literal_eval(choices) if isinstance(choices, str) else choices

    def _answer(self, doc):
        target = self.doc_to_target(doc)
        if isinstance(target, int) and self._config.get("doc_to_choice") is not None:
            return self.doc_to_choice(doc)[target]
        return target[0] if isinstance(target, list) else target

    def construct_requests(self, doc, ctx, **kwargs):
        kind = self.OUTPUT_TYPE
        for unused in ("apply_chat_template", "chat_template"):
            kwargs.pop(unused, None)
        if kind == "multiple_choice":
            seam = self._config.get("target_delimiter", " ")
            return [Instance("loglikelihood", doc, (ctx, seam + choice), i, **kwargs)
                    for i, choice in enumerate(self.doc_to_choice(doc))]
        if kind == "generate_until":
            settings = dict(self._config.get("generation_kwargs") or {})
            settings.setdefault("until", [self._config.get("fewshot_delimiter", "\n\n")])
            arguments = (ctx, settings)
        elif kind == "loglikelihood":
            arguments = (ctx, self.doc_to_target(doc))
        elif kind == "loglikelihood_rolling":
            arguments = (self.doc_to_target(doc),)
        else:
            raise Unsupported("the output type `%s`" % kind)
        return [Instance(kind, doc, arguments, 0, **kwargs)]

    def _metrics(self):
        default = {"multiple_choice": ["acc", "acc_norm"], "generate_until": ["exact_match"],
                   "loglikelihood": ["perplexity", "acc"],
                   "loglikelihood_rolling": ["word_perplexity", "byte_perplexity", "bits_per_byte"]}
        return self._config.get("metric_list") or [
            {"metric": name} for name in default.get(self.OUTPUT_TYPE, [])]

    def process_results(self, doc, results):
        process = self._config.get("process_results")
        if callable(process):
            return process(doc, results)
        return {name(entry): self._score(entry, doc, results) for entry in self._metrics()}

    def _score(self, entry, doc, results):
        metric, kind = entry["metric"], self.OUTPUT_TYPE
        target = self.doc_to_target(doc)
        if kind == "multiple_choice" and metric in ("acc", "acc_norm", "acc_bytes"):
            choices = self.doc_to_choice(doc)
            gold = target if isinstance(target, int) else choices.index(target)
            length = {"acc": lambda c: 1, "acc_norm": len, "acc_bytes": self.count_bytes}[metric]
            values = [ll / max(length(c), 1) for (ll, _), c in zip(results, choices)]
            return float(values.index(max(values)) == gold)
        if kind == "loglikelihood" and metric in ("acc", "perplexity"):
            likelihood, greedy = results[0]
            return likelihood if metric == "perplexity" else float(greedy)
        if kind == "loglikelihood_rolling":
            likelihood = results[0][0] if isinstance(results[0], (tuple, list)) else results[0]
            count = self.count_words if metric == "word_perplexity" else self.count_bytes
            return (likelihood, count(target))
        if kind == "generate_until":
            golds = target if isinstance(target, list) else [self._answer(doc)]
            if callable(metric):
                rest = {k: v for k, v in entry.items()
                        if k not in ("metric", "aggregation", "higher_is_better")}
                return metric(references=golds, predictions=[results[0]], **rest)
            if metric == "exact_match" and set(entry) <= {"metric", "aggregation", "higher_is_better"}:
                return float(any(str(gold) == str(results[0]) for gold in golds))
        raise Unsupported("the metric `%s` with its options, for `%s`" % (name(entry), kind))

    def aggregation(self):
        found = {}
        for entry in self._metrics():
            wanted = entry.get("aggregation", DEFAULT_AGGREGATION.get(name(entry), "mean"))
            function = wanted if callable(wanted) else REGISTERED["aggregation"].get(wanted)
            if function is None:
                raise Unsupported("the aggregation `%s`" % wanted)
            found[name(entry)] = function
        return found

    def higher_is_better(self):
        lower = ("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "brier_score")
        return {name(e): e.get("higher_is_better", name(e) not in lower) for e in self._metrics()}


def name(entry):
    metric = entry["metric"]
    return metric if isinstance(metric, str) else getattr(metric, "__name__", str(metric))


def rendered(template, doc):
    if "{{" not in template and "{%" not in template:
        return template
    try:
        import jinja2
    except ImportError:
        raise Unsupported("a Jinja template inside a class (without the package `jinja2`)") from None
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(template).render(**doc)
