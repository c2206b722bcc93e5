//! The modules that stand in for `lm_eval` and `datasets`, and the choice between them and
//! packages that are installed.

use std::path::{Path, PathBuf};

use context_bench_tasks::python::{PythonPool, PythonSettings};
use context_bench_tasks::{Host, Object};
use serde_json::{Map, Value, json};

use super::{Fixture, function};

/// Every name that files of real trees import, by module, with how it is used.
const IMPORTS: &str = r#"
import importlib

NAMES = {
    "lm_eval.utils": ["weighted_f1_score", "general_detokenize", "make_table",
                      "handle_non_serializable", "eval_logger"],
    "lm_eval.filters.extraction": ["RegexFilter", "Filter"],
    "lm_eval.filters.selection": ["TakeFirstFilter"],
    "lm_eval.filters.transformation": ["LowercaseFilter"],
    "lm_eval.api.task": ["ConfigurableTask", "Task"],
    "lm_eval.api.instance": ["Instance"],
    "lm_eval.api.registry": ["register_filter", "register_metric", "register_aggregation",
                             "register_model", "register_task", "get_metric", "get_aggregation"],
    "lm_eval.api.filter": ["Filter"],
    "lm_eval.api.metrics": ["mean", "metric_max_over_ground_truths", "median", "perplexity",
                            "weighted_perplexity", "bits_per_byte", "nanmean"],
    "lm_eval.api.group": ["Group", "ConfigurableGroup"],
    "lm_eval.config.group": ["GroupConfig"],
    "datasets": ["Dataset", "DatasetDict", "load_dataset", "load_metric", "__version__",
                 "concatenate_datasets", "Features", "Value", "Sequence", "ClassLabel"],
}
METHODS = ["filter", "map", "shuffle", "select", "from_list", "from_dict", "from_pandas",
           "features", "add_column", "remove_columns", "flatten_indices", "sort", "unique",
           "to_dict", "train_test_split", "column_names", "num_rows", "rename_column", "to_list"]

def missing():
    import datasets
    found = [module + "." + name for module, names in NAMES.items() for name in names
             if not hasattr(importlib.import_module(module), name)]
    return found + [name for name in METHODS if not hasattr(datasets.Dataset, name)]

def group_table():
    from lm_eval.api.group import ConfigurableGroup
    group = ConfigurableGroup(config={"group": "g"})
    assert group.config.group == "g"
    class Frame:
        columns = ["a"]
        def to_dict(self, how):
            return [{"a": 1}, {"a": 2}]
    from datasets import Dataset
    return Dataset.from_pandas(Frame())["a"]
"#;

#[test]
fn all_that_real_files_import_is_there() {
    let fixture = Fixture::new(&[("names.py", IMPORTS)]);
    let call = |name: &str| fixture.pool.call(&fixture.function(name), &[]).unwrap();
    assert_eq!(call("names.missing"), json!([]));
    assert_eq!(call("names.group_table"), json!([1, 2]));
}

const CLASSES: &str = r#"
import datasets
from lm_eval.api.task import ConfigurableTask
from lm_eval.api.instance import Instance

ROWS = [{"q": "a", "a": "b"}, {"q": "c", "a": "d"}]

class One(ConfigurableTask):
    VERSION = 3

    def __init__(self, config=None):
        super().__init__(config={"metadata": {"version": self.VERSION}})

    def download(self, dataset_kwargs=None):
        self.dataset = {"test": datasets.Dataset.from_list(ROWS)}

    def has_training_docs(self): return False
    def has_validation_docs(self): return False
    def has_test_docs(self): return True
    def test_docs(self): return self.dataset["test"]
    def doc_to_text(self, doc): return doc["q"]
    def doc_to_target(self, doc): return " " + doc["a"]

    def construct_requests(self, doc, ctx, chat_template=None, apply_chat_template=False, **kwargs):
        return Instance("generate_until", doc=doc, arguments=(ctx, {}), idx=0, **kwargs)

class Keywords(One):
    def __init__(self, **kwargs):
        super().__init__()

    def download(self, **kwargs):
        self.dataset = {"test": ROWS[1:]}

class Parents(One):
    DATASET_PATH, DATASET_NAME = "nobody/nothing", "part"

    def download(self, dataset_kwargs=None):
        super().download(dataset_kwargs)

class Named(ConfigurableTask):
    DATASET_PATH, DATASET_NAME = "nobody/nothing", "part"

    def has_test_docs(self): return True
    def test_docs(self): return self.dataset["test"]
    def doc_to_text(self, doc): return doc["q"]

class Empty(ConfigurableTask):
    def __init__(self):
        super().__init__(config={
            "custom_dataset": lambda **_: {"test": ROWS, "train": ROWS}, "test_split": "test",
            "fewshot_split": "train", "fewshot_config": {"sampler": "first_n"}, "num_fewshot": 1,
            "doc_to_text": lambda doc: doc["q"] + " => " + doc["a"] + "; ",
            "doc_to_target": lambda doc: "", "output_type": "generate_until"})
"#;

#[test]
fn classes_get_their_records_as_they_define_it() {
    let fixture = Fixture::new(&[("k.py", CLASSES)]);
    let asked = |class: &str, rows: &[(String, Vec<Value>)]| {
        let object = fixture
            .pool
            .object(&fixture.function(class), &Map::new(), rows)
            .unwrap();
        object.requests(&Map::new())
    };
    let contexts = |class: &str, rows: &[(String, Vec<Value>)]| {
        let asked = asked(class, rows).unwrap();
        let context = |request: &Value| request["arguments"][0].as_str().unwrap().to_owned();
        asked.iter().map(context).collect::<Vec<_>>()
    };
    assert_eq!(contexts("k.One", &[]), ["a", "c"]);
    assert_eq!(contexts("k.Keywords", &[]), ["c"]);
    assert_eq!(contexts("k.Parents", &[]), ["a", "c"]);
    // An example whose answer is empty adds no delimiter.
    assert_eq!(
        contexts("k.Empty", &[]),
        ["c => d; a => b; ", "a => b; c => d; "]
    );
    // What the class names itself is looked for when nothing is given.
    let given = [("test".to_owned(), vec![json!({"q": "given"})])];
    assert_eq!(contexts("k.Named", &given), ["given"]);
    let error = asked("k.Named", &[]).unwrap_err();
    assert_eq!(error.package(), Some("datasets"), "{error}");
}

#[test]
fn a_tree_may_have_any_name() {
    let fixture = Fixture::new(&[
        (
            "mine/area/family/utils.py",
            "from lm_eval.tasks.area.other import helpers\nfrom lm_eval.tasks.with_file import VALUE\ndef two():\n    return [helpers.ONE, VALUE]\n",
        ),
        ("mine/area/other/helpers.py", "ONE = 1\n"),
        ("mine/with_file.py", "VALUE = 2\n"),
        ("mine/hy-phen/utils.py", "def three():\n    return 3\n"),
        (
            "mine/area/family/lost.py",
            "from lm_eval.tasks.nowhere_at_all import x\n",
        ),
    ]);
    let family = fixture.folder.path().join("mine/area/family");
    let call = |name: &str| fixture.pool.call(&function(&family, name), &[]);
    assert_eq!(call("utils.two").unwrap(), json!([1, 2]));
    assert_eq!(call("lm_eval.tasks.hy-phen.utils.three").unwrap(), json!(3));
    let error = call("lost.x").unwrap_err();
    assert_eq!(error.package(), Some("lm-eval"), "{error}");
}

#[test]
fn functions_by_whole_paths() {
    let fixture = Fixture::new(&[
        (
            "py3.11/site.packages/task.py",
            "import beside\ndef one():\n    return beside.ONE\n",
        ),
        ("py3.11/site.packages/beside.py", "ONE = 1\n"),
    ]);
    let path = fixture.folder.path().join("py3.11/site.packages/task");
    let one = fixture.function(&format!("{}.one", path.display()));
    assert_eq!(fixture.pool.call(&one, &[]).unwrap(), json!(1));
    assert_eq!(one.module_path(), Some(path.with_file_name("task.py")));
}

/// An interpreter of its own that has a package called `lm_eval`: not the real one, but
/// what is needed to see who is used.
fn with_package(folder: &Path) -> PathBuf {
    let made = std::process::Command::new("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(folder)
        .status();
    assert!(made.unwrap().success());
    let lib = std::fs::read_dir(folder.join("lib")).unwrap().next();
    let site = lib.unwrap().unwrap().path().join("site-packages");
    let registry = r#"
FILTERS = {}
AGGREGATIONS = {"mean": lambda values: sum(values) / len(values)}

def register_filter(name):
    def decorate(cls):
        if name in FILTERS:
            raise ValueError("taken: " + name)
        FILTERS[name] = cls
        return cls
    return decorate

def register_aggregation(name):
    def decorate(function):
        AGGREGATIONS[name] = function
        return function
    return decorate

def get_filter(name):
    return FILTERS[name]

def get_aggregation(name):
    return AGGREGATIONS.get(name)

@register_filter("of_the_package")
class OfThePackage:
    def apply(self, resps, docs):
        return [["package"] for _ in resps]
"#;
    for (name, text) in [
        ("__init__.py", "__version__ = '9.9'\n"),
        ("api/__init__.py", ""),
        ("api/registry.py", registry),
        (
            "utils.py",
            "def weighted_f1_score(items):\n    return 'the real one'\n",
        ),
        ("tasks/__init__.py", ""),
        ("tasks/theirs/__init__.py", ""),
        ("tasks/theirs/utils.py", "THEIRS = True\n"),
    ] {
        let path = site.join("lm_eval").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let metadata = site.join("lm_eval-9.9.dist-info");
    std::fs::create_dir_all(&metadata).unwrap();
    let about = "Metadata-Version: 2.1\nName: lm_eval\nVersion: 9.9\n";
    std::fs::write(metadata.join("METADATA"), about).unwrap();
    folder.join("bin/python3")
}

const TASK_CODE: &str = r#"
from lm_eval.api.registry import register_filter
from lm_eval.utils import weighted_f1_score
from lm_eval.tasks.theirs.utils import THEIRS

@register_filter("shared")
class Shared:
    def apply(self, resps, docs):
        return [["FOLDER"] for _ in resps]

def who():
    import lm_eval
    return [lm_eval.__version__, weighted_f1_score([]), THEIRS]
"#;

#[test]
fn a_package_that_is_installed_is_used() {
    let first = TASK_CODE.replace("FOLDER", "first");
    let second = TASK_CODE.replace("FOLDER", "second");
    let fixture = Fixture::new(&[("a/code.py", &first), ("b/code.py", &second)]);
    let interpreter = with_package(&fixture.folder.path().join("venv"));
    let pool = PythonPool::new(PythonSettings {
        interpreter,
        processes: std::num::NonZeroUsize::MIN,
        ..PythonSettings::default()
    });
    let at = |place: &str, name: &str| function(&fixture.folder.path().join(place), name);
    assert_eq!(
        pool.call(&at("a", "code.who"), &[]).unwrap(),
        json!(["9.9", "the real one", true])
    );
    let filtered = |place: &str, name: &str| {
        let keywords = json!({"resps": [["x"]], "docs": [{}]});
        let name = format!("code::filter::{name}");
        pool.call_with(&at(place, &name), keywords.as_object().unwrap())
    };
    // The package refuses a second class of that name; each folder has its own here.
    assert_eq!(filtered("a", "shared").unwrap(), json!([["first"]]));
    assert_eq!(filtered("b", "shared").unwrap(), json!([["second"]]));
    assert_eq!(
        filtered("b", "of_the_package").unwrap(),
        json!([["package"]])
    );
    let error = filtered("b", "of_nobody").unwrap_err();
    assert!(error.message().contains("no filter `of_nobody`"), "{error}");
    let unknown = at("a", "code::aggregation::of_nobody");
    assert!(pool.call(&unknown, &[json!([1.0])]).is_err());
}
