//! Keys in every setting there is, and a search of every byte that leaves.
//!
//! Flags come from clap's own list and keys of run files from their schema, so that a new
//! one is tried as soon as it is there.

use std::path::Path;
use std::process::Command;

use context_bench_testkit::{ChatServer, Reply};
use serde_json::{Map, Value, json};

use crate::program::{self, arg, command};
use crate::siege::Siege;

/// What must not leave, in whatever form it was given; long enough to be no chance hit.
const NEEDLE: &str = "Zq7Kp93mW5tBx1";

/// Settings that become part of what is asked, which is data and kept as it was asked; a
/// notice says so (`docs/reference/secrets.md`).
const PROMPTS: [&str; 1] = ["system_instruction"];

pub(crate) fn attack(siege: &mut Siege) {
    let place = Place::new();
    whole_runs(siege, &place);
    every_flag(siege, &place);
    every_key(siege, &place);
}

/// Where a command works: nothing of it is anybody else's.
struct Place {
    folder: tempfile::TempDir,
    server: ChatServer,
}

/// What left: stdout, stderr and every file, each with its name.
type Left = Vec<(String, Vec<u8>)>;

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        program::write_questions(&folder.path().join("data.jsonl"), 3);
        let tasks = folder.path().join("tasks");
        std::fs::create_dir(&tasks).unwrap();
        std::fs::write(
            tasks.join("sums.yaml"),
            "task: sums\ndataset_path: json\ndataset_kwargs: {data_files: sums.jsonl}\n\
             test_split: train\ndoc_to_text: \"{{q}}\"\ndoc_to_target: \"{{a}}\"\n\
             output_type: generate_until\ngeneration_kwargs: {until: [\"\\n\"]}\n\
             metric_list: [{metric: exact_match}]\n",
        )
        .unwrap();
        std::fs::write(
            tasks.join("sums.jsonl"),
            "{\"q\": \"1+1?\", \"a\": \"2\"}\n{\"q\": \"2+2?\", \"a\": \"4\"}\n",
        )
        .unwrap();
        let server = ChatServer::start(|_| Reply::text("4"));
        Self { folder, server }
    }

    fn path(&self, name: &str) -> String {
        arg(&self.folder.path().join(name)).to_owned()
    }

    /// Where the endpoint is, with `user:password@` and a query.
    fn url(&self, user: &str, query: &str) -> String {
        format!("http://{user}{}/v1{query}", self.server.addr())
    }

    /// Runs a command in a folder of its own and takes all that it left.
    fn left_by(&self, command: &mut Command, work: &Path) -> Left {
        command.env("HF_HUB_OFFLINE", "1");
        let output = command.current_dir(work).output().unwrap();
        let mut left = vec![
            ("stdout".to_owned(), output.stdout),
            ("stderr".to_owned(), output.stderr),
        ];
        files(work, &mut left);
        left
    }
}

fn files(folder: &Path, left: &mut Left) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, left),
            false => {
                let bytes = std::fs::read(&path).unwrap_or_default();
                left.push((path.display().to_string(), bytes));
            }
        }
    }
}

/// Whether the needle is nowhere.
fn held(left: &Left) -> Result<(), String> {
    for (name, bytes) in left {
        let at = bytes
            .windows(NEEDLE.len())
            .position(|window| window == NEEDLE.as_bytes());
        if let Some(at) = at {
            let around = &bytes[at.saturating_sub(80)..(at + 60).min(bytes.len())];
            return Err(format!("in {name}: …{}…", String::from_utf8_lossy(around)));
        }
    }
    Ok(())
}

/// The forms that a secret has in a setting.
fn forms(place: &Place) -> Vec<String> {
    let n = NEEDLE;
    vec![
        format!("sk-proj-{n}"),
        place.url(&format!("me:{n}@"), ""),
        place.url("", &format!("?api_key={n}&model=m")),
        format!(r#"{{"api_key": "{n}", "deep": [{{"password": "{n}"}}]}}"#),
        format!("export SERVICE_KEY={n}; run"),
        format!("model=m,password={n},x=1"),
        format!("X-Api-Key: {n}"),
        format!("prog --token {n} -u me:{n} 'http://me:{n}@h/x'"),
    ]
}

/// The commands with the arguments that get them far, by the path of their names.
pub(crate) fn base(data: &Path, names: &[&str]) -> Vec<(&'static str, String)> {
    let data = arg(data).to_owned();
    let run = || {
        vec![
            ("system", "passthrough".to_owned()),
            ("dataset", data.clone()),
            ("cache-dir", "store".to_owned()),
            ("output-path", "out".to_owned()),
            ("output", "json".to_owned()),
        ]
    };
    match names {
        [] | ["run"] => run(),
        ["render"] => run().into_iter().take(2).collect(),
        ["rescore"] => vec![("cache-dir", "store".to_owned())],
        // It must not begin to listen: it would never end.
        ["tap"] => vec![
            ("upstream", "http://127.0.0.1:9".to_owned()),
            ("log", "no folder/run.jsonl".to_owned()),
            ("api-key-env", "NOT_SET".to_owned()),
        ],
        ["runs", ..] | ["export"] => vec![("cache-dir", "store".to_owned())],
        _ => Vec::new(),
    }
}

/// Every value that an argument of any command takes.
fn every_flag(siege: &mut Siege, place: &Place) {
    let mut all: Vec<(Vec<String>, clap::Arg)> = Vec::new();
    gather(&context_bench_cli::arguments(), &[], &mut all);
    all.retain(|(_, argument)| !PROMPTS.contains(&argument.get_id().as_str()));
    let forms = forms(place);
    let n = all.len() * forms.len();
    for at in siege.some_of(n, 90) {
        let ((names, argument), form) = (&all[at / forms.len()], &forms[at % forms.len()]);
        let work = tempfile::tempdir().unwrap();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut command = command();
        command.args(&names);
        for (flag, value) in base(&place.folder.path().join("data.jsonl"), &names) {
            if argument.get_long() != Some(flag) {
                command.args([format!("--{flag}"), value]);
            }
        }
        let shown = match argument.get_long() {
            Some(long) => {
                command.arg(format!("--{long}={form}"));
                format!("--{long}")
            }
            None => {
                command.arg(form);
                format!("<{}>", argument.get_id())
            }
        };
        let left = place.left_by(&mut command, work.path());
        siege.tried(
            format!("{} {shown} as `{form}`", names.join(" ")),
            held(&left),
        );
    }
}

pub(crate) fn gather(
    command: &clap::Command,
    names: &[String],
    all: &mut Vec<(Vec<String>, clap::Arg)>,
) {
    for argument in command.get_arguments() {
        if argument.get_action().takes_values() {
            all.push((names.to_vec(), argument.clone()));
        }
    }
    for inner in command.get_subcommands() {
        let mut names = names.to_vec();
        names.push(inner.get_name().to_owned());
        gather(inner, &names, all);
    }
}

/// Every key of run files.
fn every_key(siege: &mut Siege, place: &Place) {
    let schema = context_bench::plan::schema();
    let mut keys: Vec<Vec<String>> = Vec::new();
    walk(&schema, &schema, &mut Vec::new(), &mut keys);
    keys.retain(|key| !PROMPTS.contains(&key[key.len() - 1].as_str()));
    siege.tried(
        "keys of run files from their schema",
        match keys.len() > 60 {
            true => Ok(()),
            false => Err(format!("only {} keys: {keys:?}", keys.len())),
        },
    );
    let mut values: Vec<Value> = forms(place).into_iter().map(Value::from).collect();
    values.push(json!({"api_key": NEEDLE, "deep": {"note": format!("sk-proj-{NEEDLE}")}}));
    values.push(json!([format!("sk-proj-{NEEDLE}")]));
    let n = keys.len() * values.len();
    for at in siege.some_of(n, 40) {
        let (key, value) = (&keys[at / values.len()], &values[at % values.len()]);
        let mut file = json!({
            "systems": [{"system": "passthrough"}],
            "benchmarks": [{"dataset": place.path("data.jsonl")}],
            "cache_dir": "store",
            "output": {"harness_path": "out", "format": "json"},
        });
        put(&mut file, key, value);
        let work = tempfile::tempdir().unwrap();
        // What was given is no leak.
        let given = tempfile::tempdir().unwrap();
        let path = given.path().join("run.json");
        std::fs::write(&path, file.to_string()).unwrap();
        for more in [&[][..], &["--print-config"], &["--dry-run"]] {
            let mut command = command();
            command.arg("run").arg(&path).args(more);
            let left = place.left_by(&mut command, work.path());
            siege.tried(
                format!("run file, `{}` as `{value}` {more:?}", key.join(".")),
                held(&left),
            );
        }
    }
}

/// The paths of all keys that a schema describes; lists count as their first entry.
fn walk(root: &Value, schema: &Value, path: &mut Vec<String>, keys: &mut Vec<Vec<String>>) {
    if path.len() > 6 {
        return;
    }
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return walk(root, &root["$defs"][name], path, keys);
    }
    for either in ["anyOf", "oneOf", "allOf"] {
        for one in schema[either].as_array().into_iter().flatten() {
            walk(root, one, path, keys);
        }
    }
    if schema["items"].is_object() {
        path.push("0".into());
        walk(root, &schema["items"], path, keys);
        path.pop();
    }
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        path.push(key.clone());
        if !keys.contains(path) {
            keys.push(path.clone());
        }
        walk(root, inner, path, keys);
        path.pop();
    }
}

fn put(value: &mut Value, path: &[String], new: &Value) {
    let Some((key, rest)) = path.split_first() else {
        *value = new.clone();
        return;
    };
    if key == "0" {
        if !value.is_array() {
            *value = json!([{}]);
        }
        return put(&mut value[0], rest, new);
    }
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    // Systems and benchmarks name one thing.
    let one_of = ["proxy", "system", "command", "given", "dataset", "task"];
    if rest.is_empty() && one_of.contains(&key.as_str()) {
        value
            .as_object_mut()
            .unwrap()
            .retain(|key, _| !one_of.contains(&key.as_str()));
    }
    put(&mut value[key], rest, new);
}

/// Runs that succeed, with keys in all that they are given, and everything that can be
/// done with them later.
fn whole_runs(siege: &mut Siege, place: &Place) {
    let n = NEEDLE;
    let user = format!("me:{n}@");
    let query = format!("?api_key={n}");
    let data = place.path("data.jsonl");
    let url = place.url(&user, &query);
    let completions = format!("http://{user}{}/v1/completions{query}", place.server.addr());
    let chat = format!(
        "http://{user}{}/v1/chat/completions{query}",
        place.server.addr()
    );
    let echo = "import sys, json\nfor line in sys.stdin: print(json.dumps({'response': 'Paris'}), flush=True)";
    let script = place.path("echo.py");
    std::fs::write(&script, echo).unwrap();
    let program = format!(
        "python3 {script} --token {n} http://me:{n}@h/?api_key={n} '{{\"api_key\": \"{n}\"}}' \
         'export SERVICE_KEY={n}' PASSWORD={n} -u me:{n} sk-proj-{n}"
    );
    let shell = format!("sh -c \"export SERVICE_KEY={n}; exec python3 {script}\"");
    let secrets = format!(
        r#"{{"api_key": "{n}", "base_url": "http://me:{n}@h", "note": "sk-proj-{n}", "headers": {{"Authorization": "Bearer {n}"}}}}"#
    );
    let body =
        format!(r#"{{"password": "{n}", "metadata": {{"token": "{n}"}}, "user": "sk-proj-{n}"}}"#);
    let tasks = ["--tasks", "sums", "--include-path", &place.path("tasks")].map(str::to_owned);
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let mut runs: Vec<(&str, Vec<String>)> = vec![
        (
            "an endpoint with keys everywhere",
            words(&[
                "--proxy",
                &url,
                "--dataset",
                &data,
                "--name",
                &format!("sk-proj-{n}"),
                "--header",
                &format!("X-Api-Key: {n}"),
                "--extra-body",
                &body,
                "--system-prompt",
                &format!("Use http://me:{n}@h and sk-proj-{n}"),
                "--model",
                &format!("sk-proj-{n}"),
                "--api-key-env",
                "MY_OWN",
                "--judge-url",
                &url,
                "--judge-model",
                &format!("sk-proj-{n}"),
                "--evaluator",
                "answer_quality",
            ]),
        ),
        (
            "a key in the place of a variable",
            words(&[
                "--proxy",
                &url,
                "--dataset",
                &data,
                "--api-key-env",
                &format!("sk-{n}"),
            ]),
        ),
        (
            "a bare key in the place of a variable",
            words(&[
                "--proxy",
                &url,
                "--dataset",
                &data,
                "--api-key-env",
                &format!("{n}{n}"),
            ]),
        ),
        (
            "a program",
            words(&[
                "--command",
                &program,
                "--dataset",
                &data,
                "--system-version",
                &format!("sk-proj-{n}"),
            ]),
        ),
        ("a shell", words(&["--command", &shell, "--dataset", &data])),
        (
            "a relay",
            words(&[
                "--system",
                "passthrough",
                "--relay",
                &url,
                "--dataset",
                &data,
            ]),
        ),
        (
            "an endpoint that is not there",
            words(&[
                "--proxy",
                &format!("http://me:{n}@127.0.0.1:9/{n}?api_key={n}")
                    .replace(&format!("/{n}"), "/v1"),
                "--dataset",
                &data,
                "--max-retries",
                "0",
            ]),
        ),
    ];
    for (what, model, address) in [
        ("a task", "local-completions", &completions),
        ("a chat task", "local-chat-completions", &chat),
    ] {
        let arguments = format!("base_url={address},model=sk-proj-{n}");
        let mut line = tasks.to_vec();
        line.extend(words(&[
            "--model",
            model,
            "--model-args",
            &arguments,
            "--metadata",
            &secrets,
            "--gen-kwargs",
            &format!("token={n},until=x,note=sk-proj-{n}"),
            "--log-samples",
        ]));
        if model.contains("chat") {
            line.push("--apply-chat-template".into());
        }
        runs.push((what, line));
    }
    for (what, line) in runs {
        for output in ["json", "table"] {
            let work = tempfile::tempdir().unwrap();
            let mut run = command();
            run.env("MY_OWN", n).env("OPENAI_API_KEY", n);
            run.arg("run").args(&line);
            run.args([
                "--cache-dir",
                "store",
                "--output-path",
                "out",
                "--output",
                output,
            ]);
            let left = place.left_by(&mut run, work.path());
            siege.tried(format!("{what}, as {output}"), held(&left));
            if output == "json" {
                siege.tried(format!("{what}: a run was kept"), kept(&left, what));
                later(siege, place, what, &line, work.path());
            }
        }
    }
    // The endpoint did get what it needs.
    let sent = place.server.requests();
    let has_key = sent
        .iter()
        .any(|request| format!("{request:?}").contains(n));
    siege.tried(
        "requests carry the keys",
        has_key
            .then_some(())
            .ok_or_else(|| "no request has them".to_owned()),
    );
}

/// Whether there is a store to look at, where the run could begin.
fn kept(left: &Left, what: &str) -> Result<(), String> {
    let has_store = left.iter().any(|(name, _)| name.ends_with("store.sqlite"));
    let ends_before = what.contains("place of a variable") || what.contains("not there");
    match has_store || ends_before {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&left[1].1).into_owned()),
    }
}

/// What can be done with a run that is stored.
fn later(siege: &mut Siege, place: &Place, what: &str, line: &[String], work: &Path) {
    let tables = "SELECT group_concat(sql) FROM sqlite_master";
    let commands: [&[&str]; 17] = [
        &["runs"],
        &["runs", "--output", "json"],
        &["runs", "show", "last"],
        &["runs", "show", "last", "--output", "json"],
        &["runs", "sql", tables],
        &["runs", "sql", "SELECT * FROM answers"],
        &["runs", "sql", "SELECT * FROM run_scores"],
        &["export", "last", "--output", "json"],
        &["export", "last", "--output", "jsonl"],
        &["export", "last", "--output", "csv"],
        &["export", "last", "--output", "markdown"],
        &["export", "last", "--output", "table"],
        &["rescore", "last", "--output", "json"],
        &["rescore", "last", "--threshold", "2"],
        &["show", "last"],
        &["runs", "remove", "last"],
        &["runs"],
    ];
    for words in commands {
        let mut command = command();
        command.args(words).env("CONTEXT_BENCH_CACHE_DIR", "store");
        let left = place.left_by(&mut command, work);
        siege.tried(format!("{what}, then `{}`", words.join(" ")), held(&left));
    }
    for more in ["--print-config", "--dry-run"] {
        let mut command = command();
        command
            .arg("run")
            .args(line)
            .arg(more)
            .env("MY_OWN", NEEDLE);
        let left = place.left_by(&mut command, work);
        siege.tried(format!("{what}, {more}"), held(&left));
    }
    let mut render = command();
    // Prompts are data, and are shown as they are asked.
    let prompt = line.iter().position(|word| word == "--system-prompt");
    let (before, after) = match prompt {
        Some(at) => (&line[..at], &line[at + 2..]),
        None => (line, &[][..]),
    };
    render.arg("render").args(before).args(after);
    render.env("MY_OWN", NEEDLE);
    let left = place.left_by(&mut render, work);
    siege.tried(format!("{what}, rendered"), held(&left));
}
