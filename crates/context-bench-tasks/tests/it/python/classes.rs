//! Tasks that are Python classes, with and without the base classes of the format.

use context_bench_tasks::Host;
use serde_json::{Map, Value, json};

use super::Fixture;

const TASK: &str = r#"
import os

class Plain:
    """A class that derives from nothing."""
    VERSION = 3
    made = 0

    def __init__(self):
        Plain.made += 1
        self.seen = []

    def see(self, word, times=1):
        self.seen += [word] * times
        return len(self.seen)

    def child(self):
        return Child(self)

    def how_many(self, child):
        return child.parent is self and child.number

    def die(self):
        os._exit(4)

    def fail(self):
        raise LookupError("nothing here")

class Child:
    def __init__(self, parent):
        self.parent, self.number = parent, 7
    def double(self):
        return 2 * self.number

class Configured:
    def __init__(self, config=None):
        self.config = config

def helper(x):
    return x

NOT_A_CLASS = 3
"#;

const QASPER: &str = r#"
from lm_eval.api.task import ConfigurableTask, Task
from lm_eval.api.instance import Instance
from lm_eval.api.registry import register_task
from lm_eval.api.metrics import mean
from lm_eval.api.filter import Filter

class YesNo(Task):
    """Written against the base class: everything of its own."""
    VERSION = 1

    def __init__(self, config=None):
        super().__init__(config={"metadata": {"version": self.VERSION}, **(config or {})})

    def has_training_docs(self): return True
    def has_validation_docs(self): return True
    def has_test_docs(self): return False
    def training_docs(self):
        return [self.process(doc) for doc in self.dataset["train"]]
    def validation_docs(self):
        return [self.process(doc) for doc in self.dataset["validation"]]
    def process(self, doc):
        return {"question": doc["q"], "gold": "yes" if doc["a"] else "no"}
    def doc_to_text(self, doc): return "Q: " + doc["question"] + "\nA:"
    def doc_to_target(self, doc): return " " + doc["gold"]
    def construct_requests(self, doc, ctx, **kwargs):
        return [
            Instance(request_type="loglikelihood", doc=doc, arguments=(ctx, " yes"), idx=0, **kwargs),
            Instance(request_type="loglikelihood", doc=doc, arguments=(ctx, " no"), idx=1, **kwargs),
        ]
    def process_results(self, doc, results):
        (yes, _), (no, _) = results
        return {"acc": float((yes > no) == (doc["gold"] == "yes")), "pair": (yes, no)}
    def aggregation(self):
        return {"acc": mean, "pair": lambda pairs: sum(yes - no for yes, no in pairs)}
    def higher_is_better(self):
        return {"acc": True, "pair": True}

class Shout(Filter):
    def apply(self, resps, docs):
        return [[one.upper() for one in r] for r in resps]

@register_task("generated")
class Generated(ConfigurableTask):
    pass

class Unfinished(Task):
    def has_test_docs(self): return True
    def test_docs(self): return [{}]

from lm_eval.tasks.common.helpers import strip_all
"#;

fn config(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

#[test]
fn objects_keep_their_state_and_give_handles() {
    let fixture = Fixture::new(&[("task.py", TASK)]);
    let class = fixture.function("task.Plain");
    let given = json!({ "task": "plain" });
    let object = fixture.pool.object(&class, config(&given), &[]).unwrap();
    let none = Map::new();
    assert_eq!(object.get("VERSION").unwrap(), json!(3));
    assert_eq!(object.call("see", &[json!("a")], &none).unwrap(), json!(1));
    let twice = json!({ "times": 2 });
    assert_eq!(
        object.call("see", &[json!("b")], config(&twice)).unwrap(),
        json!(3)
    );
    assert_eq!(object.get("seen").unwrap(), json!(["a", "b", "b"]));
    object.set("seen", &json!([])).unwrap();
    assert_eq!(object.get("seen").unwrap(), json!([]));

    let child = object.call("child", &[], &none).unwrap();
    assert_eq!(child["type"], json!("Child"));
    assert_eq!(
        object
            .call("how_many", std::slice::from_ref(&child), &none)
            .unwrap(),
        json!(7)
    );
    assert_eq!(
        object.call_on(&child, "double", &[], &none).unwrap(),
        json!(14)
    );
    assert_eq!(object.get_from(&child, "number").unwrap(), json!(7));
    object.release(&child).unwrap();
    let error = object
        .call_on(&child, "double", &[], &none)
        .unwrap_err()
        .to_string();
    assert!(error.contains("a handle of another process"), "{error}");

    let error = object.call("fail", &[], &none).unwrap_err().to_string();
    assert!(error.contains("`!function task.Plain .fail`"), "{error}");
    assert!(error.contains("LookupError: nothing here"), "{error}");
    let other = fixture.pool.object(&class, config(&given), &[]).unwrap();
    assert_eq!(
        other.get("made").unwrap(),
        json!(1),
        "objects do not share a process"
    );

    assert!(
        object
            .call("die", &[], &none)
            .unwrap_err()
            .to_string()
            .contains("exit status: 4")
    );
    let error = object.get("seen").unwrap_err().to_string();
    assert!(
        error.contains("before this use of the object: exit status: 4"),
        "{error}"
    );
    assert_eq!(other.get("seen").unwrap(), json!([]));
    assert_eq!(fixture.pool.started(), 0);
}

#[test]
fn the_configuration_goes_to_those_who_take_it() {
    let fixture = Fixture::new(&[("task.py", TASK)]);
    let helper = fixture.function("task.helper").to_json();
    let given = json!({ "task": "named", "recipe": "basic", "list": [1, { "f": helper }] });
    let class = fixture.function("task.Configured");
    let object = fixture.pool.object(&class, config(&given), &[]).unwrap();
    let back = object.get("config").unwrap();
    assert_eq!(
        (&back["task"], &back["recipe"]),
        (&json!("named"), &json!("basic"))
    );
    assert_eq!(back["list"][1]["f"]["type"], json!("function"));
    let error = fixture
        .pool
        .object(&fixture.function("task.NOT_A_CLASS"), config(&given), &[]);
    assert!(error.unwrap_err().to_string().contains("TypeError"));
}

const HELPERS: (&str, &str) = (
    "lm_eval/tasks/common/helpers.py",
    "def strip_all(texts):\n    return [text.strip() for text in texts]\n",
);

fn splits() -> Vec<(String, Vec<Value>)> {
    let row = |q: &str, a: bool| json!({ "q": q, "a": a });
    vec![
        (
            "train".into(),
            vec![row("t1", true), row("t2", false), row("t3", true)],
        ),
        ("validation".into(), vec![row("v1", true), row("v2", false)]),
    ]
}

#[test]
fn a_class_over_the_base_class_runs_to_its_aggregate() {
    let fixture = Fixture::new(&[("lm_eval/tasks/q/task.py", QASPER), HELPERS]);
    let class = super::function(&fixture.folder.path().join("lm_eval/tasks/q"), "task.YesNo");
    let given = json!({ "task": "yes_no", "num_fewshot": 1 });
    let task = Host::object(&fixture.pool, &class, config(&given), &splits()).unwrap();
    assert_eq!(task.get("task_name").unwrap(), json!("yes_no"));
    let requests = task.requests(&Map::new()).unwrap();
    assert_eq!(requests.len(), 4);
    assert_eq!(requests[3]["request_type"], json!("loglikelihood"));
    assert_eq!(
        (&requests[3]["doc_id"], &requests[3]["idx"]),
        (&json!(1), &json!(1))
    );
    let prompt = requests[0]["arguments"][0].as_str().unwrap();
    assert!(
        prompt.ends_with("\n\nQ: v1\nA:") && prompt.starts_with("Q: t"),
        "{prompt}"
    );
    let answer = |ll: f64| json!([[ll, true]]);
    let answers = [answer(-1.0), answer(-2.0), answer(-1.0), answer(-3.0)];
    let scores = task.scores(&answers).unwrap();
    let metrics: Vec<&Value> = scores
        .iter()
        .map(|score| &score["metrics"]["acc"])
        .collect();
    assert_eq!(metrics, [&json!(1.0), &json!(0.0)]);
    assert_eq!(scores[0]["filter"], json!("none"));
    assert_eq!(
        task.aggregate("acc", &[json!(1.0), json!(0.0)]).unwrap(),
        json!(0.5)
    );
    let pairs: Vec<Value> = scores
        .iter()
        .map(|score| score["metrics"]["pair"].clone())
        .collect();
    assert_eq!(task.aggregate("pair", &pairs).unwrap(), json!(3.0));
    assert!(
        task.aggregate("f1", &[])
            .unwrap_err()
            .message()
            .contains("no aggregation for the metric `f1`")
    );
    let error = task.scores(&answers[..1]).unwrap_err();
    assert!(
        error
            .message()
            .contains("1 lists of responses for 4 requests"),
        "{error}"
    );
    let one = json!({ "limit": 1 });
    assert_eq!(task.requests(config(&one)).unwrap().len(), 2);
}

#[test]
fn a_configurable_task_needs_no_code() {
    let fixture = Fixture::new(&[("lm_eval/tasks/q/task.py", QASPER), HELPERS]);
    let folder = fixture.folder.path().join("lm_eval/tasks/q");
    let class = super::function(&folder, "task.Generated");
    let filter = super::function(&folder, "task.Shout").to_json();
    let given = json!({
        "task": "g", "validation_split": "validation", "doc_to_text": "q", "doc_to_target": "q",
        "filter_list": [
            { "name": "raw", "filter": [{ "function": "take_first" }] },
            { "name": "loud", "filter": [{ "function": filter }, { "function": "take_first" }] },
        ],
    });
    let task = Host::object(&fixture.pool, &class, config(&given), &splits()).unwrap();
    assert_eq!(task.get("OUTPUT_TYPE").unwrap(), json!("generate_until"));
    let requests = task.requests(&Map::new()).unwrap();
    assert_eq!(
        requests[1]["arguments"],
        json!(["v2", { "until": ["\n\n"] }])
    );
    let scores = task.scores(&[json!(["v1"]), json!(["other"])]).unwrap();
    let metrics: Vec<Value> = scores
        .iter()
        .map(|score| {
            json!([
                score["doc_id"],
                score["filter"],
                score["metrics"]["exact_match"]
            ])
        })
        .collect();
    let expected = json!([
        [0, "raw", 1.0],
        [0, "loud", 0.0],
        [1, "raw", 0.0],
        [1, "loud", 0.0]
    ]);
    assert_eq!(json!(metrics), expected);
    let better = task.call("higher_is_better", &[], &Map::new()).unwrap();
    assert_eq!(better, json!({ "exact_match": true }));
}

#[test]
fn what_the_stand_in_lacks_is_named() {
    let fixture = Fixture::new(&[
        ("lm_eval/tasks/q/task.py", QASPER),
        HELPERS,
        ("other.py", "from lm_eval.api.metrics import ter\n"),
        ("model.py", "import lm_eval.models.huggingface\n"),
    ]);
    let class = super::function(
        &fixture.folder.path().join("lm_eval/tasks/q"),
        "task.Unfinished",
    );
    let task = Host::object(&fixture.pool, &class, &Map::new(), &[]).unwrap();
    let error = task.requests(&Map::new()).unwrap_err();
    assert!(
        error
            .message()
            .contains("`Task.doc_to_text` is not part of the built-in stand-in"),
        "{error}"
    );
    for (name, expected) in [("other.f", "ter"), ("model.f", "lm_eval.models")] {
        let error = fixture.pool.call(&fixture.function(name), &[]).unwrap_err();
        assert!(error.message().contains(expected), "{error}");
    }
}
