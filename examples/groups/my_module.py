"""A custom task: where its documents come from, what it asks, and how it scores."""

from lm_eval.api.instance import Instance
from lm_eval.api.metrics import mean
from lm_eval.api.task import Task

WORDS = [("swift", "bird"), ("beech", "tree"), ("poodle", "dog")]


class MyTask(Task):
    VERSION = 1

    def __init__(self, config=None):
        config = dict(config or {})
        # Keys of the YAML file that only this class uses arrive like all others.
        self.short = config.pop("recipe", None) == "short"
        super().__init__(config={"metadata": {"version": self.VERSION}, **config})

    def has_training_docs(self):
        return False

    def has_validation_docs(self):
        return False

    def has_test_docs(self):
        return True

    def test_docs(self):
        return [{"word": word, "kind": kind} for word, kind in WORDS]

    def doc_to_text(self, doc):
        question = f"What is a {doc['word']}?"
        return question if self.short else f"Think of animals and plants. {question}"

    def doc_to_target(self, doc):
        return " " + doc["kind"]

    def construct_requests(self, doc, ctx, **kwargs):
        kwargs = {key: value for key, value in kwargs.items() if key == "metadata"}
        settings = {"until": ["\n"], "max_gen_toks": 8}
        return Instance(request_type="generate_until", doc=doc, arguments=(ctx, settings), idx=0, **kwargs)

    def process_results(self, doc, results):
        return {"acc": float(doc["kind"] in results[0].lower())}

    def aggregation(self):
        return {"acc": mean}

    def higher_is_better(self):
        return {"acc": True}
