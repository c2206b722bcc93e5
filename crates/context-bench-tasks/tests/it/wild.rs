//! Task files as real trees have them (F1–F37 of the specification): what the reference
//! made of each was found by running it.

use std::num::NonZeroUsize;

use context_bench_error::Hint as _;
use context_bench_tasks::options::Chat;
use context_bench_tasks::outcome::{Resampling, Summary};
use context_bench_tasks::python::{PythonPool, PythonSettings};
use context_bench_tasks::request::{Ask, Context};
use context_bench_tasks::{
    Dataset, Error, Node, Options, Response, Task, TaskResolver, Warning, select, validate,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::vectors::{resolver, write_tree};

/// Rows, and functions that tasks name.
const CODE: &str = r#"
def data(**_):
    rows = [{"q": "two?", "a": "2", "n": 1, "opts": ["x", "y"], "label": 1, "flag": True},
            {"q": "three?", "a": "3", "n": 1, "opts": ["x", "y"], "label": 1, "flag": False}]
    return {"test": rows, "train": rows}

def agg(items):
    assert items == EXPECTED, items
    return 0.25

def items_metric(items):
    return float(items == ["2", "two"])

def two(references, predictions):
    return {"m": 1.0, "k": 2.0}

def rows():
    return [{"q": "a?", "a": "A"}, {"q": "b?", "a": "B"}]

EXPECTED = [["2", "two"], ["3", "two"]]

for _name in ("x", "y"):
    globals()["proc_" + _name] = lambda rows, name=_name: [dict(row, q=name) for row in rows]
"#;

/// `B` of the specification, without a name.
const B: &str = "custom_dataset: !function code.data\ntest_split: test\ndoc_to_text: q\ndoc_to_target: a\ngeneration_kwargs: {until: [\"x\"]}\n";
/// `MC`: the same with choices.
const MC: &str = "custom_dataset: !function code.data\ntest_split: test\noutput_type: multiple_choice\ndoc_to_text: q\ndoc_to_target: label\ndoc_to_choice: opts\n";

/// A folder of task files, and Python for them.
struct TaskFolder {
    folder: TempDir,
    resolver: TaskResolver,
    pool: PythonPool,
}

impl TaskFolder {
    fn new(files: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_tree(folder.path(), &json!({ "code.py": CODE }));
        write_tree(folder.path(), files);
        let resolver = resolver(folder.path());
        let pool = PythonPool::new(PythonSettings {
            processes: NonZeroUsize::MIN,
            ..PythonSettings::default()
        });
        Self {
            folder,
            resolver,
            pool,
        }
    }

    /// One task in a file of its own.
    fn one(task: &str) -> Self {
        Self::new(&json!({ "t.yaml": format!("task: t\n{task}") }))
    }

    fn task(&self, name: &str) -> Result<Task, Error> {
        let (tree, _) = select(&self.resolver, &[name])?;
        Task::build(tree.leaves()[0])
    }

    fn data(&self, task: &Task) -> Dataset {
        let function = task.config.get("custom_dataset").unwrap();
        let function = context_bench_tasks::Function::from_json(function).unwrap();
        let splits = self.pool.splits(&function, &Map::new()).unwrap();
        let record = |row: Value| row.as_object().unwrap().clone();
        let split = |(name, rows): (String, Vec<Value>)| {
            (name, rows.into_iter().map(record).collect::<Vec<_>>())
        };
        splits
            .into_iter()
            .map(split)
            .collect::<Vec<_>>()
            .into_iter()
            .collect()
    }

    /// What the first document is asked.
    fn context(&self, name: &str, shots: usize, chat: Option<Chat>) -> Context {
        let task = self.task(name).unwrap();
        let options = Options {
            num_fewshot: Some(shots),
            chat,
            ..Options::default()
        };
        let requests = task.requests(&self.data(&task), &options, &self.pool);
        match requests.unwrap().requests.swap_remove(0).ask {
            Ask::Generation { context, .. } | Ask::Choices { context, .. } => context,
            other => panic!("{other:?}"),
        }
    }

    fn text(&self, shots: usize) -> String {
        match self.context("t", shots, None) {
            Context::Text(text) => text,
            other => panic!("{other:?}"),
        }
    }

    /// What task `t` makes of the same answer to both documents.
    fn summed(&self, answer: &Response) -> Summary {
        let task = self.task("t").unwrap();
        let requests = task
            .requests(&self.data(&task), &Options::default(), &self.pool)
            .unwrap();
        let answers = vec![Some(answer.clone()); requests.requests.len()];
        let scored = task.score(&requests, &answers, &self.pool).unwrap();
        assert!(scored.failed.is_empty(), "{:?}", scored.failed);
        task.sum_up(&scored, Resampling::default(), &self.pool)
    }

    fn score(&self, answer: &str, key: &str) -> Value {
        let found = self.summed(&texts(answer));
        found
            .scores
            .get(key)
            .cloned()
            .unwrap_or_else(|| panic!("{:?}", found.scores))
    }

    /// That everything in the folder can be used, Python included.
    fn all_valid(&self) -> Vec<String> {
        let report = validate(&self.resolver, &["*"], Some(&self.pool));
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        let lost = |warning: &&Warning| !warning.message.contains("are templates");
        let lost: Vec<&Warning> = self.resolver.index.warnings.iter().filter(lost).collect();
        assert!(lost.is_empty(), "{lost:?}");
        report.valid
    }
}

fn texts(answer: &str) -> Response {
    Response::Texts(vec![answer.to_owned()])
}

fn choices(first: f64, second: f64) -> Response {
    Response::Choices {
        likelihoods: vec![(first, false), (second, false)],
        unconditional: None,
    }
}

#[test]
fn f1_null_in_a_base_is_absent() {
    let wild = TaskFolder::new(&json!({
        "base_yaml": format!("{B}task: null\ntag: g1\n"),
        "t.yaml": "include: base_yaml\ntask: t\n",
        // A whole file of that kind defines nothing, and loses nobody.
        "base.yaml": format!("{B}task: null\ngroup:\nclass: null\n"),
        "u.yaml": "include: base.yaml\ntask: u\n",
    }));
    assert_eq!(wild.all_valid(), ["t", "u"]);
    let (tree, _) = select(&wild.resolver, &["g1"]).unwrap();
    assert_eq!(tree.keys(), ["t"]);
}

#[test]
fn f2_to_f6_includes_and_yaml() {
    let wild = TaskFolder::new(&json!({
        "a_yaml": B, "b_yaml": "include: a_yaml\ngen_prefix: !!null \"null\"\n",
        "t.yaml": "include: [a_yaml, b_yaml]\ntask: t\nnum_fewshot: 3\nnum_fewshot: 5\n",
        "less.yaml": "include: a_yaml\ntask: less\ngeneration_kwargs: {max_gen_toks: 5}\n",
        "none.yaml": "include: a_yaml\ntask: none\ngeneration_kwargs: null\n",
    }));
    let task = wild.task("t").unwrap();
    assert_eq!(task.num_fewshot, Some(5));
    assert!(task.prompting.gen_prefix.is_none());
    let less = wild.task("less").unwrap().generation;
    assert_eq!(
        Value::Object(less),
        json!({"max_gen_toks": 5, "until": ["\n\n"]})
    );
    let none = wild.task("none").unwrap().generation;
    assert_eq!(
        Value::Object(none),
        json!({"temperature": 0.0, "do_sample": false, "max_gen_toks": 256, "until": ["\n\n"]})
    );
    for unknown in ["foo: 1\n", "fewshot_config: {foo: 1}\n"] {
        let error = TaskFolder::one(&format!("{B}{unknown}"))
            .task("t")
            .unwrap_err();
        assert!(error.message().contains("`foo`"), "{error}");
    }
    let above = TaskFolder::new(&json!({
        "t.yaml": format!("task: t\n{B}"), "g.yaml": "group: g\nfoo: 1\ntask: [t]\n"
    }));
    assert!(above.task("g").unwrap_err().message().contains("`foo`"));
    let second = TaskFolder::new(&json!({ "t.yaml": format!("task: t\n{B}---\ntask: u\n") }));
    assert!(second.task("t").is_err() && second.task("u").is_err());
}

#[test]
fn f7_and_f8_targets_and_choices() {
    let quoted = MC
        .replace("opts", "[\"no\", \"yes\"]")
        .replace("target: label", "target: \"{{label}}\"");
    let wild = TaskFolder::one(&quoted);
    let found = wild.summed(&choices(-2.0, -1.0));
    assert_eq!(found.scores["acc,none"], json!(1.0));
    let error = TaskFolder::one(&MC.replace("opts", "[no, yes]"))
        .task("t")
        .unwrap_err();
    assert!(error.message().contains("truth values"), "{error}");
    assert!(error.place().is_some());
    for (target, expected) in [("0", 0.0), ("\"{{opts[label]}}\"", 1.0), ("zzz", 0.0)] {
        let wild = TaskFolder::one(&MC.replace("target: label", &format!("target: {target}")));
        let found = wild.summed(&choices(-2.0, -1.0));
        assert_eq!(found.scores["acc,none"], json!(expected), "{target}");
    }
}

#[test]
fn f9_targets_of_generation() {
    let several = B.replace("target: a", "target: \"{{[a, n]}}\"");
    assert_eq!(
        TaskFolder::one(&several).score("2", "exact_match,none"),
        json!(0.5)
    );
    let number = B.replace("target: a", "target: \"{{n}}\"");
    assert_eq!(
        TaskFolder::one(&number).score("1", "exact_match,none"),
        json!(1.0)
    );
}

#[test]
fn f10_and_f11_labels_of_generated_answers_are_pairs() {
    let f1 = "metric_list: [{metric: f1, aggregation: !function code.agg, ignore_case: true}]\n";
    assert_eq!(
        TaskFolder::one(&format!("{B}{f1}")).score("two", "f1,none"),
        json!(0.25)
    );
    let spans = format!("{B}{f1}filter_list: [{{name: s, filter: [{{function: format_span}}]}}]\n");
    // The response is still a list, as no step reduced it.
    let code = CODE.replace(
        "assert items == EXPECTED, items",
        "assert [gold for gold, _ in items] == [\"2\", \"3\"], items\n    assert all(isinstance(given, list) for _, given in items), items",
    );
    let wild = TaskFolder::new(&json!({ "code.py": code, "t.yaml": format!("task: t\n{spans}") }));
    assert_eq!(wild.score("two", "f1,s"), json!(0.25));
    let error = TaskFolder::one(&format!(
        "{B}metric_list: [{{metric: acc, aggregation: mean}}]\n"
    ));
    let error = error.task("t").unwrap_err();
    assert!(error.message().contains("pairs of texts"), "{error}");
    assert!(error.hint().unwrap().contains("aggregation: !function"));
}

#[test]
fn f12_every_text_is_true() {
    for option in [
        "\n    ignore_punctuation: true\n      - \".\"\n      - \",\"\n",
        "\n    ignore_punctuation: \"false\"\n",
    ] {
        let list = format!("metric_list:\n  - metric: exact_match\n    aggregation: mean{option}");
        let wild = TaskFolder::one(&format!("{B}{list}"));
        assert_eq!(wild.score("2.", "exact_match,none"), json!(0.5));
        let warnings = wild.task("t").unwrap().warnings;
        assert!(
            warnings
                .iter()
                .any(|warning| warning.message.contains("counts as true")),
            "{warnings:?}"
        );
    }
}

#[test]
fn code_that_is_unsafe_by_a_text_is_unsafe() {
    for (written, is_unsafe) in [
        ("\"false\"", true),
        ("yes", true),
        ("''", false),
        ("0", false),
    ] {
        let wild = TaskFolder::one(&format!("{B}unsafe_code: {written}\n"));
        assert_eq!(wild.task("t").unwrap().unsafe_code, is_unsafe, "{written}");
        let (tree, _) = select(&wild.resolver, &["t"]).unwrap();
        assert_eq!(tree.leaves()[0].is_unsafe(), is_unsafe, "{written}");
    }
}

#[test]
fn f13_odd_groups_load() {
    let wild = TaskFolder::new(&json!({
        "t.yaml": format!("task: t\n{B}"),
        "g.yaml": "group: g\ntask: [t]\naggregate_metric_list: {metric: exact_match, weight_by_size: truez}\n",
        "h.yaml": "group: h\ntask: [t]\naggregate_metric_list: [{metric: !function code.agg}]\n",
    }));
    wild.all_valid();
    let (tree, warnings) = select(&wild.resolver, &["g", "h"]).unwrap();
    let weighs = |node: &Node| match node {
        Node::Group(group) => group.aggregate[0].weight_by_size,
        Node::Task(_) => false,
    };
    assert!(tree.nodes.iter().all(weighs));
    assert!(
        warnings
            .iter()
            .any(|warning| warning.message.contains("weight_by_size: truez")),
        "{warnings:?}"
    );
}

#[test]
fn f14_options_of_choices_are_ignored() {
    let list = "metric_list:\n  - {metric: acc, aggregation: mean, regexes_to_ignore: [x], weight_by_size: true}\n  - {metric: f1, aggregation: f1, average: weighted, hf_evaluate: true}\n";
    let found = TaskFolder::one(&format!("{MC}{list}")).summed(&choices(-2.0, -1.0));
    assert_eq!(found.scores["acc,none"], json!(1.0));
    assert_eq!(found.scores["f1,none"], json!(1.0), "of the pairs (1, 1)");
}

#[test]
fn f15_and_f16_metrics_in_python() {
    let two = "metric_list: [{metric: !function code.two, aggregation: mean}]\n";
    let found = TaskFolder::one(&format!("{B}{two}")).summed(&texts("x"));
    assert_eq!(found.scores["m,none"], json!(1.0));
    assert_eq!(found.scores["k,none"], json!(2.0));
    let one = "metric_list: [{metric: !function code.items_metric, aggregation: mean}]\n";
    let wild = TaskFolder::one(&format!("{B}{one}"));
    assert_eq!(wild.score("two", "items_metric,none"), json!(0.5));
}

#[test]
fn f20_the_weighted_f1_of_the_harness() {
    let utils = "from lm_eval.utils import weighted_f1_score\n";
    let rows = CODE.replace(
        "    return {\"test\": rows, \"train\": rows}",
        "    return {\"test\": [dict(rows[0], label=n) for n in (0, 0, 1, 1)]}",
    );
    let list = "metric_list: [{metric: f1, aggregation: !function utils.weighted_f1_score, average: weighted}]\n";
    let wild = TaskFolder::new(&json!({
        "code.py": rows, "utils.py": utils, "t.yaml": format!("task: t\n{MC}{list}"),
    }));
    let task = wild.task("t").unwrap();
    let requests = task
        .requests(&wild.data(&task), &Options::default(), &wild.pool)
        .unwrap();
    let answers = [
        choices(-1.0, -2.0),
        choices(-2.0, -1.0),
        choices(-2.0, -1.0),
        choices(-2.0, -1.0),
    ];
    let scored = task
        .score(&requests, &answers.map(Some), &wild.pool)
        .unwrap();
    let found = task
        .sum_up(&scored, Resampling::default(), &wild.pool)
        .scores;
    let f1 = found["f1,none"].as_f64().unwrap();
    assert!((f1 - (2.0 / 3.0 * 0.5 + 0.8 * 0.5)).abs() < 1e-12, "{f1}");
}

#[test]
fn f21_filters_derive_from_those_of_the_harness() {
    let filt = r#"
import re
from lm_eval.filters.extraction import Filter, RegexFilter

class Numbers(RegexFilter):
    def __init__(self, regex_pattern=r"(\d+)", group_select=0, fallback="none", ignore_case=False):
        super().__init__(regex_pattern, group_select, fallback)
        assert self.regex.pattern == regex_pattern and isinstance(self, Filter)
        self.ignore_case = ignore_case
"#;
    let list = "filter_list: [{name: f, filter: [{function: !function filt.Numbers, group_select: -1, ignore_case: true}, {function: take_first}]}]\n";
    let wild =
        TaskFolder::new(&json!({ "filt.py": filt, "t.yaml": format!("task: t\n{B}{list}") }));
    wild.all_valid();
    assert_eq!(wild.score("3 or 2", "exact_match,f"), json!(0.5));
}

const SHOUT: &str = r#"
from lm_eval.api.registry import register_filter
from lm_eval.api.filter import Filter

@register_filter("shout")
class Shout(Filter):
    def __init__(self, clean=None):
        self.clean = clean

    def apply(self, resps, docs):
        return [[text.replace(self.clean, "") for text in texts] for texts in resps]

def proc(doc, results):
    return {"same": float(results[0] == doc["a"])}
"#;

#[test]
fn f22_filters_that_task_code_registers() {
    let list = "process_results: !function filt.proc\nmetric_list: [{metric: same, aggregation: mean}]\nfilter_list: [{name: f, filter: [{function: shout, clean: x}, {function: take_first}]}]\n";
    // The same name in two folders means another class in each.
    let other = SHOUT.replace("text.replace(self.clean, \"\")", "text[:1]");
    let tasks = |name: &str| format!("task: {name}\n{B}{list}");
    let wild = TaskFolder::new(&json!({
        "filt.py": SHOUT, "t.yaml": tasks("t"),
        "other/code.py": CODE, "other/filt.py": other, "other/u.yaml": tasks("u"),
    }));
    assert_eq!(wild.all_valid(), ["t", "u"]);
    assert_eq!(wild.score("x2", "same,f"), json!(0.5));
    let task = wild.task("u").unwrap();
    let requests = task
        .requests(&wild.data(&task), &Options::default(), &wild.pool)
        .unwrap();
    let answers = vec![Some(texts("2x")); 2];
    let scored = task.score(&requests, &answers, &wild.pool).unwrap();
    assert_eq!(scored.filters["f"][0].filtered, json!("2"));
    let nowhere = TaskFolder::new(&json!({
        "filt.py": SHOUT, "t.yaml": tasks("t").replace("function: shout", "function: shuot"),
    }));
    let report = validate(&nowhere.resolver, &["t"], Some(&nowhere.pool));
    let errors = format!("{:?}", report.errors);
    assert!(
        errors.contains("no filter `shuot`") && errors.contains("`shout`"),
        "{errors}"
    );
    let hint = report.errors[0].hint().unwrap();
    assert!(
        hint.contains("`take_first`"),
        "those that are built in: {hint}"
    );
}

#[test]
fn f23_metrics_and_aggregations_that_task_code_registers() {
    let code = format!(
        r#"{CODE}
from lm_eval.api.registry import register_aggregation, register_metric

@register_aggregation("half")
def half(values):
    return 0.5

@register_metric(metric="shoutm", higher_is_better=True, output_type="generate_until", aggregation="half")
def shoutm(references, predictions, **kwargs):
    return float(references[0] == predictions[0])
"#
    );
    for list in [
        "[{metric: exact_match, aggregation: half}]",
        "[{metric: shoutm, higher_is_better: true}]",
    ] {
        let wild = TaskFolder::new(&json!({
            "code.py": code, "t.yaml": format!("task: t\n{B}metric_list: {list}\n")
        }));
        assert_eq!(wild.all_valid(), ["t"]);
        let found = wild.summed(&texts("2")).scores;
        let key = if list.contains("shoutm") {
            "shoutm,none"
        } else {
            "exact_match,none"
        };
        assert_eq!(found[key], json!(0.5), "{list}");
    }
}

#[test]
fn f24_functions_that_exist_after_import_only() {
    let wild = TaskFolder::one(&format!("{B}process_docs: !function code.proc_y\n"));
    wild.all_valid();
    assert_eq!(wild.text(0), "y");
}

#[test]
fn f30_an_empty_target_of_an_example_adds_nothing() {
    let shots = |text: &str| {
        format!(
            "{B}fewshot_split: train\nfewshot_config: {{sampler: first_n, doc_to_text: \"{text}\", doc_to_target: \"\"}}\n"
        )
    };
    let wild = TaskFolder::one(&shots("{{q}} => {{a}}"));
    assert_eq!(wild.text(2), "two? => 2three? => 3two?");
    let chat = wild.context("t", 2, Some(Chat::MultiTurn));
    let Context::Chat { messages, .. } = &chat else {
        panic!("{chat:?}");
    };
    let said: Vec<(&str, &str)> = messages
        .iter()
        .map(|message| (message.role, message.content.as_str()))
        .collect();
    assert_eq!(
        said,
        [
            ("user", "two? => 2"),
            ("user", "three? => 3"),
            ("user", "two?")
        ]
    );
    let chat = wild.context("t", 2, Some(Chat::SingleTurn));
    let Context::Chat { messages, .. } = &chat else {
        panic!("{chat:?}");
    };
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].content, "two? => 2three? => 3two?");
    let usual = TaskFolder::one(&shots("{{q}} => {{a}}\\n\\n"));
    assert_eq!(usual.text(2), "two? => 2\n\nthree? => 3\n\ntwo?");
    // A target of the task that is empty counts alike.
    let own = B
        .replace("text: q", "text: \"{{q}} => {{a}}\\n\"")
        .replace("target: a", "target: \"\"");
    let own = TaskFolder::one(&format!(
        "{own}fewshot_split: train\nfewshot_config: {{sampler: first_n}}\n"
    ));
    assert_eq!(own.text(2), "two? => 2\nthree? => 3\ntwo? => 2\n");
}

#[test]
fn f31_examples_from_a_function() {
    let shots = format!("{B}fewshot_config: {{sampler: first_n, samples: !function code.rows}}\n");
    let wild = TaskFolder::one(&shots);
    assert_eq!(wild.text(2), "a? A\n\nb? B\n\ntwo?");
    let task = wild.task("t").unwrap();
    let options = Options {
        num_fewshot: Some(3),
        ..Options::default()
    };
    let error = task
        .requests(&wild.data(&task), &options, &wild.pool)
        .unwrap_err();
    assert!(
        error.message().contains("3 examples are asked for"),
        "{error}"
    );
}

#[test]
fn f32_and_f33_what_groups_hand_down() {
    let wild = TaskFolder::new(&json!({
        "t.yaml": format!("task: t\n{B}metric_list: [{{metric: exact_match, aggregation: mean}}]\n"),
        "g.yaml": "group: g\nmetric_list: [{metric: bleu}]\ntask:\n  - {task: t, task_alias: AA, num_fewshot: 3}\n",
        "h.yaml": format!("group: h\n{B}task:\n  - {{task: one, process_docs: !function code.proc_x}}\n"),
    }));
    let task = wild.task("g").unwrap();
    assert_eq!(task.metrics[0].name, "bleu");
    assert_eq!(task.alias.as_deref(), Some("AA"));
    assert_eq!(task.num_fewshot, Some(3));
    let (tree, _) = select(&wild.resolver, &["h"]).unwrap();
    assert_eq!(tree.keys(), ["h::one"]);
    assert!(wild.task("h").unwrap().process_docs.is_some());
}

#[test]
fn f34_a_class_with_keys_of_its_own() {
    let code = r#"
class K:
    def __init__(self, config):
        self.config = config
"#;
    let wild = TaskFolder::new(&json!({
        "k.py": code, "t.yaml": "task: t\nclass: !function k.K\nrecipe: abc\ngroup: g\n",
    }));
    let (tree, _) = select(&wild.resolver, &["t"]).unwrap();
    let leaf = tree.leaves()[0];
    assert!(leaf.python);
    assert_eq!(leaf.config.text("recipe"), Some("abc"));
    assert!(leaf.config.get("group").is_none());
    assert!(leaf.config.get("class").is_some());
}

#[test]
fn f35_a_block_is_text_and_no_column() {
    let wild = TaskFolder::one(&B.replace("doc_to_text: q\n", "doc_to_text: |\n  q\n"));
    assert_eq!(wild.text(0), "q\n");
}

#[test]
fn f36_versions() {
    for (metadata, version) in [
        ("3", None),
        ("[{version: 1}]", None),
        ("{version: 1.0.2}", Some(json!("1.0.2"))),
    ] {
        let wild = TaskFolder::one(&format!("{B}metadata: {metadata}\n"));
        let task = wild.task("t").unwrap();
        assert_eq!(task.version().cloned(), version, "{metadata}");
    }
}

#[test]
fn f37_a_truth_value_is_a_place_among_the_choices() {
    let flags = MC
        .replace("target: label", "target: flag")
        .replace("opts", "[\"no\", \"yes\"]");
    let shots = "fewshot_split: train\nfewshot_config: {sampler: first_n}\n";
    let wild = TaskFolder::one(&format!("{flags}{shots}"));
    assert_eq!(wild.text(2), "two? yes\n\nthree? no\n\ntwo?");
    let found = wild.summed(&choices(-2.0, -1.0));
    assert_eq!(found.scores["acc,none"], json!(0.5));
}

#[test]
fn names_that_real_code_imports() {
    let utils = r#"
import datasets
from lm_eval.api.metrics import mean, metric_max_over_ground_truths
from lm_eval.utils import general_detokenize, handle_non_serializable

assert tuple(map(int, datasets.__version__.split("."))) >= (2, 0)
assert general_detokenize("I do n't ( know ) , he said . It 's \" odd \"") == \
    'I don\'t (know), he said. It\'s"odd"'
assert metric_max_over_ground_truths(lambda a, b: len(a) - len(b), "abc", ["a", "ab"]) == 2
assert mean([1, 2]) == 1.5

def text(doc):
    return doc["q"]
"#;
    let task = B.replace("doc_to_text: q", "doc_to_text: !function utils.text");
    let wild = TaskFolder::new(&json!({ "utils.py": utils, "t.yaml": format!("task: t\n{task}") }));
    wild.all_valid();
    assert_eq!(wild.text(0), "two?");
}

#[test]
fn word_errors_and_labels_of_other_libraries() {
    let list = "metric_list:\n  - {metric: wer, aggregation: mean, higher_is_better: false}\n  - {metric: accuracy, aggregation: mean, hf_evaluate: true}\n  - {metric: f1, aggregation: mean, hf_evaluate: true, average: micro}\n";
    let wild = TaskFolder::one(&format!("{B}{list}"));
    let found = wild.summed(&texts("2")).scores;
    assert_eq!(found["wer,none"], json!(0.5));
    assert_eq!(found["accuracy,none"], json!(0.5));
    assert_eq!(found["f1,none"], json!(0.5));
    assert!(wild.folder.path().exists());
}

#[test]
fn a_document_that_is_there_several_times_still_gets_all_its_examples() {
    let code = CODE.replace(
        "    return {\"test\": rows, \"train\": rows}",
        "    return {\"test\": [rows[0]] * 6 + [rows[1]] * 6}",
    );
    // Examples come from the records that are asked about.
    let wild = TaskFolder::new(&json!({
        "code.py": code, "t.yaml": format!("task: t\n{B}num_fewshot: 3\n")
    }));
    let task = wild.task("t").unwrap();
    let requests = task
        .requests(&wild.data(&task), &Options::default(), &wild.pool)
        .unwrap();
    for request in &requests.requests {
        let Ask::Generation { context, .. } = &request.ask else {
            panic!("{request:?}");
        };
        let Context::Text(text) = context else {
            panic!("{context:?}");
        };
        assert_eq!(text.matches("\n\n").count(), 3, "{text}");
        let (_, question) = text.rsplit_once("\n\n").unwrap();
        assert_eq!(text.matches(question).count(), 1, "never itself: {text}");
    }
}

#[test]
fn a_package_that_is_not_installed_is_named() {
    let utils = "import a_package_of_nobody.part\n\ndef text(doc):\n    return doc\n";
    let guarded = "try:\n    import another_of_nobody\nexcept ImportError:\n    raise RuntimeError('pip install it')\n\ndef text(doc):\n    return doc\n";
    let more =
        "from lm_eval.utils import what_only_the_package_has\n\ndef text(doc):\n    return doc\n";
    let task = |name: &str, module: &str| {
        let text = format!("doc_to_text: !function {module}.text");
        format!("task: {name}\n{}", B.replace("doc_to_text: q", &text))
    };
    let wild = TaskFolder::new(&json!({
        "utils.py": utils, "guarded.py": guarded, "more.py": more,
        "t.yaml": task("t", "utils"), "u.yaml": task("u", "guarded"), "v.yaml": task("v", "more"),
        "w.yaml": format!("task: w\n{B}"),
    }));
    let report = validate(&wild.resolver, &["*"], Some(&wild.pool));
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let missing: Vec<(&str, &str)> = report
        .missing_packages
        .iter()
        .map(|(package, tasks)| (package.as_str(), tasks[0].as_str()))
        .collect();
    assert_eq!(
        missing,
        [
            ("a_package_of_nobody", "t"),
            ("another_of_nobody", "u"),
            ("lm-eval", "v")
        ]
    );
    let (tree, _) = select(&wild.resolver, &["t"]).unwrap();
    let error = context_bench_tasks::check_functions(tree.leaves(), &wild.pool).unwrap_err();
    assert_eq!(error.package(), Some("a_package_of_nobody"));
    assert!(
        error
            .hint()
            .unwrap()
            .contains("install the package `a_package_of_nobody`")
    );
}
