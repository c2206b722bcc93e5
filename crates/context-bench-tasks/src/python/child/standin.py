# Modules that stand in for `lm_eval` and `datasets` when those cannot be imported.
import importlib.abc
import importlib.machinery
import logging
import math
import re
from collections import Counter

REGISTERED = {"aggregation": {}, "metric": {}, "filter": {}, "task": {}, "model": {}}
# What each module registered itself: two folders may use the same name.
REGISTERED_BY = {}
METRIC_AGGREGATION = {}
DEFAULT_AGGREGATION = {
    "perplexity": "perplexity", "word_perplexity": "weighted_perplexity",
    "byte_perplexity": "weighted_perplexity", "bits_per_byte": "bits_per_byte",
}


def _registers(kind, real=None):
    """A decorator that remembers who registered what, and tells the installed package."""
    def register(*names, **options):
        # `register_metric(metric="name", aggregation="mean")` gives its name by keyword.
        given = names or tuple(options[key] for key in (kind, "name") if key in options)

        def decorate(target):
            for one in given or (getattr(target, "__name__", str(target)),):
                REGISTERED[kind][one] = target
                module = getattr(target, "__module__", None)
                REGISTERED_BY[kind, one, module] = target
                if kind == "metric" and options.get("aggregation") is not None:
                    METRIC_AGGREGATION[one, module] = options["aggregation"]
            if real is None:
                return target
            try:
                return real(*names, **options)(target)
            except Exception:
                # The package refuses a second class of a name; here each folder has its own.
                return target

        return decorate

    return register


def _looked_up(kind):
    def get(wanted, *_, **__):
        if wanted not in REGISTERED[kind]:
            raise Unsupported("the %s `%s`" % (kind, wanted))
        return REGISTERED[kind][wanted]

    return get


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def nanmean(values):
    values = [value for value in values if not math.isnan(value)]
    return mean(values) if values else math.nan


def perplexity(values):
    return math.exp(-mean(values))


def weighted_mean(pairs):
    likelihoods, weights = zip(*pairs)
    return sum(likelihoods) / sum(weights)


def weighted_perplexity(pairs):
    return math.exp(-weighted_mean(pairs))


def bits_per_byte(pairs):
    return -weighted_mean(pairs) / math.log(2)


def bypass(values):
    return 999


for _function in (mean, median, nanmean, perplexity, weighted_perplexity, bits_per_byte, bypass):
    REGISTERED["aggregation"][_function.__name__] = _function


def metric_max_over_ground_truths(metric_fn, prediction, ground_truths):
    return max(metric_fn(prediction, truth) for truth in ground_truths)


def weighted_f1_score(items):
    """F1 of each class, weighted by how many right answers are of it."""
    pairs = [tuple(item) for item in items]
    golds, found = Counter(gold for gold, _ in pairs), Counter(pred for _, pred in pairs)
    hits = Counter(gold for gold, pred in pairs if gold == pred)
    total = 0.0
    for label, count in golds.items():
        if hits[label]:
            total += count * 2 * hits[label] / (count + found[label])
    return total / len(pairs)


def general_detokenize(text):
    for before, after in ((" n't", "n't"), (" )", ")"), ("( ", "("), ("\" ", "\""),
                          (" \"", "\""), (" '", "'"), (" .", "."), (" ,", ",")):
        text = text.replace(before, after)
    return text


def handle_non_serializable(value):
    return int(value) if hasattr(value, "__index__") else str(value)


class Filter:
    def __init__(self, **kwargs):
        pass

    def apply(self, resps, docs):
        raise Unsupported("`Filter.apply`")


class RegexFilter(Filter):
    def __init__(self, regex_pattern=r"#### (\-?[0-9\.\,]+)", group_select=0,
                 fallback="[invalid]"):
        self.regex_pattern = regex_pattern
        self.regex = re.compile(regex_pattern)
        self.group_select = group_select
        self.fallback = fallback

    def _one(self, text):
        found = self.regex.findall(text) if isinstance(text, str) else []
        if not found:
            return self.fallback
        found = found[self.group_select]
        if isinstance(found, tuple):
            found = [part for part in found if part]
            if not found:
                return self.fallback
            found = found[0]
        return found.strip()

    def apply(self, resps, docs):
        return [[self._one(text) for text in texts] for texts in resps]


class WhitespaceFilter(Filter):
    def apply(self, resps, docs):
        return [[text.strip() for text in texts] for texts in resps]


class LowercaseFilter(Filter):
    def apply(self, resps, docs):
        return [[text.lower() for text in texts] for texts in resps]


class TakeFirstFilter(Filter):
    def apply(self, resps, docs):
        return [texts[0] for texts in resps]


class GroupConfig(TaskConfig):
    """What a group file says."""


class Group:
    """A name for files to import: groups are made by those who read them."""

    def __init__(self, config=None):
        self.config = GroupConfig(config or {})


class ConfigurableGroup(Group):
    pass


def make_table(*_, **__):
    raise Unsupported("`make_table`")


_REGISTRY = {"register_" + kind: _registers(kind) for kind in REGISTERED}
_REGISTRY.update({"get_" + kind: _looked_up(kind) for kind in REGISTERED})
_METRICS = {f.__name__: f for f in (mean, median, nanmean, perplexity, weighted_mean,
                                    weighted_perplexity, bits_per_byte,
                                    metric_max_over_ground_truths)}
_LOGGER = logging.getLogger("lm-eval")

# What each module offers.
MODULES = {
    "lm_eval": {},
    "lm_eval.api": {},
    "lm_eval.api.task": {"Task": Task, "ConfigurableTask": ConfigurableTask,
                         "TaskConfig": TaskConfig},
    "lm_eval.api.instance": {"Instance": Instance},
    "lm_eval.api.registry": _REGISTRY,
    "lm_eval.api.metrics": _METRICS,
    "lm_eval.api.filter": {"Filter": Filter},
    "lm_eval.api.group": {"Group": Group, "ConfigurableGroup": ConfigurableGroup,
                          "GroupConfig": GroupConfig},
    "lm_eval.config": {},
    "lm_eval.config.group": {"GroupConfig": GroupConfig},
    "lm_eval.config.task": {"TaskConfig": TaskConfig},
    "lm_eval.filters": {},
    "lm_eval.filters.extraction": {"Filter": Filter, "RegexFilter": RegexFilter,
                                   "WhitespaceFilter": WhitespaceFilter, "re": re},
    "lm_eval.filters.selection": {"Filter": Filter, "TakeFirstFilter": TakeFirstFilter},
    "lm_eval.filters.transformation": {"Filter": Filter, "LowercaseFilter": LowercaseFilter},
    "lm_eval.tasks": {},
    "lm_eval.utils": {"eval_logger": _LOGGER, "logger": _LOGGER,
                      "weighted_f1_score": weighted_f1_score,
                      "general_detokenize": general_detokenize,
                      "handle_non_serializable": handle_non_serializable,
                      "make_table": make_table},
    "datasets": {"Dataset": Dataset, "DatasetDict": DatasetDict, "IterableDataset": Dataset,
                 "concatenate_datasets": concatenate_datasets, "load_dataset": load_dataset,
                 "load_metric": load_metric, "Features": Features, "Value": Value,
                 "Sequence": Sequence, "ClassLabel": ClassLabel,
                 **{one: _without_effect for one in (
                     "disable_caching", "enable_caching", "disable_progress_bar",
                     "disable_progress_bars", "enable_progress_bar", "enable_progress_bars")},
                 # Code compares it with versions whose behaviour it knows.
                 "__version__": "4.0.0"},
}
_PACKAGES = ("lm_eval", "lm_eval.api", "lm_eval.config", "lm_eval.filters", "lm_eval.tasks")


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked last, so an installed package is always preferred."""

    def find_spec(self, name, path=None, target=None):
        root = sys.modules.get(name.partition(".")[0])
        if root is not None and not getattr(root, "__stand_in__", False):
            return None
        parent, _, last = name.rpartition(".")
        if parent == "lm_eval.tasks":
            found = task_root_of(last)
            if found is None:
                return None
            TASK_ROOTS.append(found)
            return importlib.machinery.PathFinder.find_spec(name, [found])
        if name not in MODULES:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=name in _PACKAGES)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__
        module.__stand_in__ = True
        if name == "lm_eval.tasks":
            module.__path__ = TASK_ROOTS
        vars(module).update(MODULES[name])

        def missing(attribute):
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            raise AttributeError(
                "the built-in stand-in for `%s` has no `%s`; install the package `%s` for %s"
                % (name, attribute, name.partition(".")[0].replace("_", "-"), sys.executable))

        module.__getattr__ = missing


class WatchedRegistry(importlib.abc.MetaPathFinder):
    """Asked first, for one module of the installed package: what task code registers there
    is remembered by folder, as with the stand-in."""

    def find_spec(self, name, path=None, target=None):
        if name != "lm_eval.api.registry" or path is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            for kind in ("filter", "metric", "aggregation"):
                real = getattr(module, "register_" + kind, None)
                if real is not None:
                    setattr(module, "register_" + kind, _registers(kind, real))

        spec.loader.exec_module = exec_module
        return spec
