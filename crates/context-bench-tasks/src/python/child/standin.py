# Modules that stand in for `lm_eval` and `datasets` when those cannot be imported.
import importlib.abc
import importlib.machinery
import logging
import math

REGISTERED = {"aggregation": {}, "metric": {}, "filter": {}, "task": {}, "model": {}}
DEFAULT_AGGREGATION = {
    "perplexity": "perplexity", "word_perplexity": "weighted_perplexity",
    "byte_perplexity": "weighted_perplexity", "bits_per_byte": "bits_per_byte",
}


def _registers(kind):
    def register(*names, **_):
        def decorate(target):
            for one in names or (getattr(target, "__name__", str(target)),):
                REGISTERED[kind][one] = target
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


class Filter:
    def __init__(self, **kwargs):
        pass

    def apply(self, resps, docs):
        raise Unsupported("`Filter.apply`")


_REGISTRY = {"register_" + kind: _registers(kind) for kind in REGISTERED}
_REGISTRY.update({"get_" + kind: _looked_up(kind) for kind in REGISTERED})
_METRICS = {f.__name__: f for f in (mean, median, nanmean, perplexity, weighted_mean,
                                    weighted_perplexity, bits_per_byte)}
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
    "lm_eval.filters": {},
    "lm_eval.tasks": {},
    "lm_eval.utils": {"eval_logger": _LOGGER, "logger": _LOGGER},
    "datasets": {"Dataset": Dataset, "DatasetDict": DatasetDict, "IterableDataset": Dataset,
                 "concatenate_datasets": concatenate_datasets, "load_dataset": load_dataset},
}
_PACKAGES = ("lm_eval", "lm_eval.api", "lm_eval.filters", "lm_eval.tasks")


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked last, so an installed package is always preferred."""

    def find_spec(self, name, path=None, target=None):
        if name not in MODULES:
            return None
        root = sys.modules.get(name.partition(".")[0])
        if root is not None and not getattr(root, "__stand_in__", False):
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
