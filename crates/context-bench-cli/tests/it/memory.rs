//! `memory`: runs of built-in memories and of programs that are one, in every format, from a run
//! file, killed and resumed; checks; errors.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use context_bench_testkit::{needs_shared, shared};
use serde_json::{Value, json};

use crate::program::{Done, answers_in, arg, command, run, run_with};

/// So long that no machine needs it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A conversation in the form of LoCoMo: what is said in each session, by two people in turn.
fn conversation(id: &str, sessions: &[&[&str]], qa: &Value) -> Value {
    let mut said = json!({"speaker_a": "Ann", "speaker_b": "Bob"});
    for (s, turns) in (1..).zip(sessions) {
        let turns: Vec<Value> = (0..)
            .zip(*turns)
            .map(|(t, text)| {
                let speaker = ["Ann", "Bob"][t % 2];
                json!({"speaker": speaker, "dia_id": format!("D{s}:{}", t + 1), "text": text})
            })
            .collect();
        said[format!("session_{s}")] = json!(turns);
        said[format!("session_{s}_date_time")] = json!(format!("1:56 pm on {s} May, 2023"));
    }
    json!({"sample_id": id, "conversation": said, "qa": qa})
}

/// A folder with two conversations and seven questions.
pub(crate) fn locomo() -> (tempfile::TempDir, PathBuf) {
    let first = conversation(
        "conv-1",
        &[
            &[
                "I adopted a grey cat called Pixel in March.",
                "How lovely!",
                "Thanks, it was about time.",
                "My sister lives in Lisbon and paints boats.",
            ],
            &[
                "I started a job as a carpenter in Ghent.",
                "Good luck with it!",
            ],
        ],
        &json!([
            {"question": "What is the name of Ann's cat?", "answer": "Pixel",
             "evidence": ["D1:1"], "category": 4},
            {"question": "Where does Bob's sister live?", "answer": "Lisbon",
             "evidence": ["D1:4"], "category": 1},
            {"question": "What job did Ann start?", "answer": "carpenter",
             "evidence": ["D2:1"], "category": 4},
            {"question": "What is the name of Bob's dog?", "adversarial_answer": "Rex",
             "evidence": ["D1:1"], "category": 5},
        ]),
    );
    let second = conversation(
        "conv-2",
        &[&[
            "I planted forty tulips in the garden.",
            "We moved to Oslo in June.",
            "The bakery on the corner burned down.",
        ]],
        &json!([
            {"question": "What did Ann plant in the garden?", "answer": "forty tulips",
             "evidence": ["D1:1"], "category": 4},
            {"question": "When did Bob move to Oslo?", "answer": "June",
             "evidence": ["D1:2"], "category": 2},
            {"question": "What burned down on the corner?", "answer": "bakery",
             "evidence": ["D1:3"], "category": 1},
        ]),
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("locomo é.json");
    std::fs::write(&path, json!([first, second]).to_string()).unwrap();
    (folder, path)
}

fn dataset(path: &Path) -> String {
    format!("locomo={}", path.display())
}

pub(crate) fn memory(path: &Path, args: &[&str]) -> Done {
    let dataset = dataset(path);
    run(&[&["memory", "--dataset", &dataset], args].concat())
}

const SYSTEMS: [&str; 8] = [
    "--system", "none", "--system", "bm25", "--system", "hybrid", "--system", "oracle",
];

pub(crate) fn value(result: &Value, system: &str, key: &str) -> f64 {
    let value = &result["summary"][system][key];
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{system} {key}: {value}"))
}

#[test]
fn several_memories_offline_in_every_format() {
    let (_folder, path) = locomo();
    let shown = |format: &str| {
        let done = memory(&path, &[&SYSTEMS[..], &["--output", format]].concat());
        assert_eq!(done.code, 0, "{done}");
        // Whoever reads the scores is told that no model gave the answers.
        assert!(done.stderr.contains("is not a language model"), "{done}");
        done
    };
    let result = shown("json").json();
    assert_eq!(result["rows"].as_array().unwrap().len(), 4 * 7);
    assert_eq!(value(&result, "oracle", "recall_at_10_mean"), 1.0);
    assert_eq!(value(&result, "none", "recall_at_10_mean"), 0.0);
    assert!(value(&result, "oracle", "mean_score") > value(&result, "none", "mean_score"));
    assert!(value(&result, "bm25", "recall_at_10_single_hop") > 0.0);
    // What scores rest on.
    assert_eq!(result["provenance"]["memory"]["top_k"], 10);
    assert_eq!(
        result["provenance"]["answered_by"]["bm25"],
        "baseline-reader"
    );
    assert_eq!(result["datasets"][0]["sha256"].as_str().unwrap().len(), 64);
    for (format, tables) in [
        ("table", "Per-QA-Type Breakdown\n"),
        ("markdown", "## Per-QA-Type Breakdown\n"),
    ] {
        let text = shown(format).stdout;
        assert!(text.contains(tables), "{text}");
        for part in [
            "Recall of Marked Evidence",
            "Stages",
            "adversarial",
            "multi_hop",
            "hybrid",
            "7 questions about 2 conversations",
            "no judge",
        ] {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
    }
    let rows: Vec<Value> = shown("jsonl")
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ids: Vec<&str> = rows[..7]
        .iter()
        .map(|row| row["example_id"].as_str().unwrap())
        .collect();
    let expected = [
        "conv-1_0", "conv-1_1", "conv-1_2", "conv-1_3", "conv-2_0", "conv-2_1", "conv-2_2",
    ];
    assert_eq!(ids, expected);
    assert_eq!(rows.len(), 28);
    for row in &rows {
        let metadata = &row["metadata"];
        assert!(metadata["qa_type"].is_string(), "{row}");
        assert!(metadata["ingest_latency"].is_number(), "{row}");
        assert_eq!(metadata["context_tokens"], row["input_tokens"], "{row}");
    }
    let csv = shown("csv").stdout;
    assert_eq!(csv.lines().count(), 29);
    let header = csv.lines().next().unwrap();
    for column in [
        "qa_type",
        "conversation_id",
        "recall_at_10",
        "ingest_latency",
    ] {
        assert!(header.split(',').any(|one| one == column), "{header}");
    }
}

#[test]
fn kinds_limits_and_budgets_are_kept_to() {
    let (_folder, path) = locomo();
    let args = ["--system", "bm25", "--output", "json", "-q"];
    let asked = |more: &[&str]| memory(&path, &[&args[..], more].concat()).json();
    let kinds = asked(&["--qa-types", "multi_hop,temporal"]);
    let kinds: Vec<&Value> = kinds["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["metadata"]["qa_type"])
        .collect();
    assert_eq!(kinds, ["multi_hop", "temporal", "multi_hop"]);
    // A limit is one of conversations.
    assert_eq!(asked(&["-n", "1"])["rows"].as_array().unwrap().len(), 4);
    let budget = asked(&["--budget-tokens", "30"]);
    for row in budget["rows"].as_array().unwrap() {
        assert!(row["input_tokens"].as_u64().unwrap() <= 30, "{row}");
    }
    let one = asked(&["--top-k", "1"]);
    assert!(one["summary"]["bm25"]["recall_at_1_mean"].is_number());
    assert!(one["summary"]["bm25"].get("recall_at_10_mean").is_none());
    // Evaluators that measure no recall are evaluators like any other.
    let other = asked(&["--evaluator", "answer_quality"]);
    assert!(other["summary"]["bm25"]["f1_multi_hop"].is_number());
    assert!(other["summary"]["bm25"].get("recall_at_10_mean").is_none());
}

#[test]
fn a_printed_config_is_the_same_run() {
    let (folder, path) = locomo();
    let args = [
        "--system",
        "bm25:top_k=3",
        "--system",
        "last=window",
        "--top-k",
        "5",
        "--qa-types",
        "single_hop,temporal",
        "--seed",
        "7",
        "-n",
        "1",
    ];
    let printed = memory(&path, &[&args[..], &["--print-config"]].concat());
    assert_eq!(printed.code, 0, "{printed}");
    for text in ["memory:\n", "top_k: 5", "seed: 7", "- single_hop"] {
        assert!(printed.stdout.contains(text), "{printed}");
    }
    let file = folder.path().join("run.yaml");
    std::fs::write(&file, &printed.stdout).unwrap();
    let again = run(&["memory", arg(&file), "--print-config"]);
    assert_eq!(again.stdout, printed.stdout);
    // A run file with memories is a run file.
    let output = ["--output", "json", "-q"];
    let flags = memory(&path, &[&args[..], &output].concat()).json();
    for command in ["memory", "run"] {
        let filed = run(&[&[command, arg(&file)], &output[..]].concat()).json();
        assert_eq!(without_times(filed), without_times(flags.clone()));
    }
}

/// Rows without what differs from run to run.
fn without_times(mut result: Value) -> Value {
    let mut rows = result["rows"].take();
    for row in rows.as_array_mut().unwrap() {
        row.as_object_mut().unwrap().remove("latency");
        let metadata = row["metadata"].as_object_mut().unwrap();
        metadata.retain(|key, _| !key.ends_with("latency"));
    }
    rows
}

#[test]
fn a_run_file_says_what_the_flags_do() {
    let (folder, path) = locomo();
    let file = folder.path().join("run.yaml");
    let text = format!(
        "systems:\n  - system: bm25\n  - name: all\n    system: naive\nmemory:\n  top_k: 2\n  \
         kinds: [single_hop]\nbenchmarks:\n  - dataset: {}\n",
        json!(dataset(&path))
    );
    std::fs::write(&file, text).unwrap();
    let done = run(&["memory", arg(&file), "--output", "json", "-q"]);
    assert_eq!(done.code, 0, "{done}");
    let result = done.json();
    assert_eq!(result["provenance"]["memory"]["top_k"], 2);
    assert_eq!(result["rows"].as_array().unwrap().len(), 2 * 3);
    assert_eq!(value(&result, "all", "retrieval_recall_mean"), 1.0);
    // Flags come on top.
    let more = ["--qa-types", "temporal", "--output", "json", "-q"];
    let result = run(&[&["memory", arg(&file)], &more[..]].concat()).json();
    assert_eq!(result["rows"].as_array().unwrap().len(), 2);
}

#[test]
fn a_dry_run_takes_nothing_in() {
    let (folder, path) = locomo();
    let cache = folder.path().join("cache");
    let args = [&SYSTEMS[..], &["--cache-dir", arg(&cache), "--dry-run"]].concat();
    let done = memory(&path, &args);
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stdout.contains("would ask about 7 examples"), "{done}");
    assert!(done.stdout.contains("nothing was sent"), "{done}");
    assert!(!cache.exists());
}

#[test]
fn a_check_says_by_its_exit_code_whether_a_memory_can_be_trusted() {
    let done = run(&["memory", "--check", "--system", "bm25", "-q"]);
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stdout.contains("no leak"), "{done}");
    let both = [
        "--system", "bm25", "--system", "none", "--output", "json", "-q",
    ];
    let done = run(&[&["memory", "--check"], &both[..]].concat());
    assert_eq!(done.code, 4, "{done}");
    let result = done.json();
    assert_eq!(result["passed"], false);
    let passed: Vec<&Value> = result["memories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["passed"])
        .collect();
    assert_eq!(passed, [true, false]);
    run(&["memory", "--check", "--system", "bm25", "--output", "csv"]).is_error(&["csv"]);
}

#[test]
fn what_is_wrong_is_said_with_a_way_out() {
    let (folder, path) = locomo();
    let plain = folder.path().join("plain.jsonl");
    std::fs::write(&plain, "{\"question\": \"q\", \"answer\": \"a\"}\n").unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["--system", "bm26"],
            &["Unknown memory system 'bm26'", "did you mean `bm25`"],
        ),
        (&["--system", "bm25:k=1"], &["`k`"]),
        (&["--system", "bm25:top_k=0"], &["`top_k` cannot be `0`"]),
        (&["--system", "bm25", "--top-k", "0"], &["`memory.top_k`"]),
        (
            &["--system", "bm25", "--budget-tokens", "0"],
            &["`memory.budget_tokens`"],
        ),
        (
            &["--system", "bm25", "--qa-types", "hard"],
            &["no questions to ask", "`multi_hop`"],
        ),
        (
            &["--system", "bm25", "--tasks", "x"],
            &["tasks have no conversations"],
        ),
        (
            &["--proxy", "http://127.0.0.1:9"],
            &["remembers nothing", "--relay URL"],
        ),
        (
            &["--system", "summary"],
            &["`summary` needs a model", "--relay URL"],
        ),
        (&["--system", "mem0"], &["`mem0` needs a model"]),
        (
            &["--system", "bm25", "--system", "bm25"],
            &["two systems are called `bm25`"],
        ),
        (
            &["--system", "bm25", "--dataset", "hotpotqa"],
            &["no conversations", "`locomo`"],
        ),
        (
            &["--system", "bm25", "--dataset", arg(&plain)],
            &["no `turns`", "`qa_pairs`"],
        ),
        (&[], &["no memory given", "ls memories"]),
    ];
    for (args, texts) in cases {
        memory(&path, args).is_error(texts);
    }
    // Without `memory`, nobody is asked about whole conversations.
    let dataset = dataset(&path);
    run(&["--system", "passthrough", "--dataset", &dataset]).is_error(&["memory"]);
}

#[test]
fn records_that_are_no_conversations_can_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mixed.jsonl");
    let good = json!({
        "id": "c",
        "turns": [{"role": "user", "content": "The cat is called Pixel."}],
        "qa_pairs": [{"question": "What is the cat called?", "answer": "Pixel", "type": "x"}],
    });
    let lines = format!("{{\"question\": \"q\", \"answer\": \"a\"}}\n{good}\n{{\"turns\": []}}\n");
    std::fs::write(&file, lines).unwrap();
    let args = ["memory", "--system", "bm25", "--dataset", arg(&file)];
    run(&args).is_error(&["no `turns`", "--skip-bad-lines"]);
    let args = [&args[..], &["--skip-bad-lines", "--output", "json"]].concat();
    let done = run(&args);
    assert_eq!(done.json()["rows"].as_array().unwrap().len(), 1, "{done}");
    assert!(done.stderr.contains("2 bad"), "{done}");
}

/// A memory that saves itself, writes down what it does, and waits at one question for leave.
const CHILD: &str = r#"
import base64, json, os, sys, time
folder = os.path.dirname(os.path.abspath(__file__))
turns = []
def log(*words):
    with open(os.path.join(folder, "log"), "a") as out:
        out.write(" ".join(words) + "\n")
for line in sys.stdin:
    request = json.loads(line)
    op = request["op"]
    reply = {"ok": True}
    if op == "hello":
        reply.update(name="diary", version="1", saves=True)
    elif op == "reset":
        turns = []
    elif op == "ingest":
        turns = [turn["content"] for turn in request["turns"]]
        log("ingest", turns[0])
    elif op == "save":
        reply["state"] = base64.b64encode(json.dumps(turns).encode()).decode()
    elif op == "load":
        turns = json.loads(base64.b64decode(request["state"]))
        reply["loaded"] = True
        log("load", turns[0])
    elif op == "query":
        log("query", request["question"])
        if request["question"] == "b2?":
            while not os.path.exists(os.path.join(folder, "go")):
                time.sleep(0.005)
        reply.update(answer=turns[-1], recalled=["t2"], context_tokens=3)
    print(json.dumps(reply), flush=True)
"#;

/// The child with three conversations of four questions; `None`, with a note, without Python.
fn child() -> Option<(tempfile::TempDir, Vec<String>)> {
    let found = std::process::Command::new("python3")
        .arg("--version")
        .output();
    if found.is_err() {
        eprintln!("skipped: there is no python3");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("diary.py");
    std::fs::write(&script, CHILD).unwrap();
    let talks = ["a", "b", "c"].map(|name| {
        let pair = |n| {
            json!({"question": format!("{name}{n}?"), "answer": format!("end of {name}"),
                   "evidence": ["t2"], "type": "plain"})
        };
        let talk = json!({
            "id": name,
            "turns": [
                {"role": "user", "content": name, "id": "t1"},
                {"role": "assistant", "content": format!("end of {name}"), "id": "t2"},
            ],
            "qa_pairs": (0..4).map(pair).collect::<Vec<_>>(),
        });
        format!("{talk}\n")
    });
    let data = folder.path().join("talks.jsonl");
    std::fs::write(&data, talks.concat()).unwrap();
    let command = format!("python3 '{}'", script.display());
    let args = [
        "memory",
        "--command",
        &command,
        "--name",
        "diary",
        "--dataset",
        arg(&data),
    ];
    let args = args.map(str::to_owned).to_vec();
    Some((folder, args))
}

fn log(folder: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
    log.lines().map(str::to_owned).collect()
}

#[test]
fn a_program_is_a_memory() {
    let Some((folder, args)) = child() else {
        return;
    };
    std::fs::write(folder.path().join("go"), "").unwrap();
    let more = ["--max-workers", "4", "--output", "json", "-q"];
    let done = run_with(command().args(&args).args(more));
    assert_eq!(done.code, 0, "{done}");
    let result = done.json();
    assert_eq!(value(&result, "diary", "mean_score"), 1.0);
    assert_eq!(value(&result, "diary", "recall_at_10_mean"), 1.0);
    let mut log = log(folder.path());
    log.sort();
    assert_eq!(log.len(), 3 + 12, "{log:?}");
    assert_eq!(log[..3], ["ingest a", "ingest b", "ingest c"]);
    let check = [
        "memory",
        "--check",
        "--command",
        &args[2],
        "--name",
        "diary",
        "-q",
    ];
    // It says the last thing that it was told, whatever is asked.
    let done = run(&check);
    assert_eq!(done.code, 4, "{done}");
}

#[test]
fn killed_and_started_again_it_repeats_nothing_that_was_finished() {
    let Some((folder, args)) = child() else {
        return;
    };
    let cache = folder.path().join("cache");
    let start = || {
        let mut command = command();
        command.args(&args);
        command.args(["--cache-dir", arg(&cache), "--output", "json", "-q"]);
        command
    };
    let mut killed = start()
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Four answers about the first conversation and two about the second; at the third the
    // child waits.
    let until = Instant::now() + PATIENCE;
    while answers_in(&cache) < 6
        || log(folder.path())
            .last()
            .is_none_or(|last| last != "query b2?")
    {
        assert!(Instant::now() < until, "{:?}", log(folder.path()));
        assert!(killed.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let before = log(folder.path());
    std::fs::write(folder.path().join("go"), "").unwrap();
    let done = run_with(&mut start());
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(done.json()["counts"]["diary"]["cached"], 6, "{done}");
    assert_eq!(value(&done.json(), "diary", "mean_score"), 1.0);
    let after = log(folder.path());
    assert_eq!(after[..before.len()], before);
    let again = &after[before.len()..];
    // The question that was in flight is asked again, of a memory that is not filled again.
    let expected = [
        "load b",
        "query b2?",
        "query b3?",
        "ingest c",
        "query c0?",
        "query c1?",
        "query c2?",
        "query c3?",
    ];
    assert_eq!(again, expected);
    // A run that is done asks nobody, and its export says what it said.
    let done = run_with(&mut start());
    assert_eq!(done.json()["counts"]["diary"]["cached"], 12, "{done}");
    assert_eq!(log(folder.path()), after);
    let export = [
        "export",
        "last",
        "--cache-dir",
        arg(&cache),
        "--output",
        "json",
    ];
    let exported = run(&export).json();
    assert_eq!(exported["summary"], done.json()["summary"]);
    // Other evaluators score what was answered.
    let rescore = [
        "rescore",
        "last",
        "--cache-dir",
        arg(&cache),
        "--output",
        "json",
    ];
    let other = [
        "--evaluator",
        "summarization_quality",
        "--score-field",
        "rouge_l_f1",
        "-q",
    ];
    let rescored = run(&[&rescore[..], &other].concat());
    assert_eq!(rescored.code, 0, "{rescored}");
    assert_eq!(value(&rescored.json(), "diary", "rouge_l_f1_plain"), 1.0);
    assert_eq!(log(folder.path()), after);
}

#[needs_shared("data/full/locomo10.json")]
#[test]
fn better_memories_recall_more_of_locomo() {
    let path = shared::path("data/full/locomo10.json");
    let systems = [&SYSTEMS[..], &["--system", "window"]].concat();
    let done = memory(
        &path,
        &[&systems[..], &["-n", "2", "--output", "json", "-q"]].concat(),
    );
    assert_eq!(done.code, 0, "{done}");
    let result = done.json();
    let recall = |system| value(&result, system, "recall_at_10_mean");
    assert!(recall("oracle") >= recall("hybrid"));
    assert!(recall("hybrid") >= recall("bm25"));
    assert!(recall("bm25") > recall("none"));
    assert!(recall("bm25") > recall("window"));
    assert_eq!((recall("oracle"), recall("none")), (1.0, 0.0));
    // Of every kind of question as well.
    let summary = result["summary"]["bm25"].as_object().unwrap();
    let kinds: Vec<&str> = summary
        .keys()
        .filter_map(|key| key.strip_prefix("recall_at_10_"))
        .filter(|kind| *kind != "mean")
        .collect();
    assert_eq!(kinds.len(), 5, "{kinds:?}");
    for kind in kinds {
        let recall = |system| value(&result, system, &format!("recall_at_10_{kind}"));
        assert!(recall("oracle") > recall("bm25"), "{kind}");
        assert!(recall("bm25") > recall("none"), "{kind}");
    }
    let score = |system| value(&result, system, "mean_score");
    assert!(score("oracle") > score("none"));
    assert!(score("oracle") > score("bm25"));
}
