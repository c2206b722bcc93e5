//! Escape sequences and marks that turn text around, in everything that comes from
//! outside: none of them may reach the terminal as it is.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use context_bench_testkit::{ChatServer, Reply};
use serde_json::json;

use crate::program::{arg, command, write_questions};
use crate::secrets::{self, gather};
use crate::siege::Siege;

/// A title for the window, a colour, a cleared screen in one byte, an override, an isolate,
/// a mark, a backspace, a delete and a byte order mark.
const STEERS: &str =
    "a\u{1b}]0;PWNED\u{7}\u{1b}[31;5mb\u{9b}2J\u{202e}c\u{2066}d\u{200f}e\u{8}\u{7f}\u{feff}f";

pub(crate) fn attack(siege: &mut Siege) {
    let place = Place::new();
    data(siege, &place);
    tasks(siege, &place);
    answers(siege, &place);
    words(siege, &place);
    every_flag(siege);
    terminal(siege, &place);
}

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_questions(&folder.path().join("data.jsonl"), 3);
        Self { folder }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        arg(&path).to_owned()
    }

    /// Runs the program, plain or with colours forced (both in the whole of it), and looks
    /// at what it says.
    fn tries(&self, siege: &mut Siege, what: &str, words: &[&str]) {
        let both: &[bool] = match (siege.whole(), siege.below(2)) {
            (true, _) => &[false, true],
            (false, 0) => &[false],
            (false, _) => &[true],
        };
        for &colours in both {
            let mut command = command();
            command.args(words).current_dir(self.folder.path());
            command.env("HF_HUB_OFFLINE", "1");
            if colours {
                command.env("CLICOLOR_FORCE", "1");
            }
            let output = command.output().unwrap();
            let held = [output.stdout, output.stderr]
                .iter()
                .try_for_each(|said| harmless(said, colours));
            siege.tried(
                format!("{what}{}", if colours { ", in colour" } else { "" }),
                held,
            );
        }
    }
}

/// Whether there is nothing in it that steers a terminal; our own colours may.
fn harmless(said: &[u8], colours: bool) -> Result<(), String> {
    let text = std::str::from_utf8(said).map_err(|error| error.to_string())?;
    let plain = match colours {
        true => without_own_colours(text),
        false => text.to_owned(),
    };
    // JSON is data, and as Python writes it: only a delete is not escaped there.
    let is_json = plain.starts_with('{');
    let steers = |c: char| {
        c.is_control() && c != '\n' && c != '\t' && !(is_json && c == '\u{7f}')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(
                c,
                '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{feff}' | '\u{200b}'
            )
    };
    match plain.find(steers) {
        None => Ok(()),
        Some(at) => {
            let from = plain[..at]
                .char_indices()
                .rev()
                .nth(80)
                .map_or(0, |(at, _)| at);
            let rest: String = plain[at..].chars().take(40).collect();
            Err(format!("{:?}", format!("{}{rest}", &plain[from..at])))
        }
    }
}

/// The colours that we and clap write: no more than one attribute or colour at a time.
fn without_own_colours(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        out.push_str(&rest[..at]);
        let inner = &rest[at + 2..];
        let end = inner.find(|c: char| !c.is_ascii_digit());
        match end.filter(|end| inner[*end..].starts_with('m')) {
            Some(end) => rest = &inner[end + 1..],
            None => {
                out.push_str("\u{1b}[");
                rest = inner;
            }
        }
    }
    out + rest
}

/// Ids, headers, keys, members of archives, names of files.
fn data(siege: &mut Siege, place: &Place) {
    let line = |value: serde_json::Value| format!("{value}\n");
    let question =
        |id: &str| line(json!({"id": id, "question": "q?", "answer": "a", "context": STEERS}));
    let twice = place.file("twice.jsonl", &(question(STEERS) + &question(STEERS)));
    let header = place.file("header.csv", &format!("{STEERS},{STEERS}\n1,2\n"));
    let unknown = place.file("unknown.csv", &format!("{STEERS},x\n1,2\n"));
    let keys = place.file("keys.jsonl", &line(json!({STEERS: 1, "y": STEERS})));
    let broken = place.file("broken.jsonl", &format!("{{\"id\": {STEERS}\n"));
    let named = place.file(&format!("n{STEERS}.jsonl"), &question("1"));
    let odd = place.file(&format!("n{STEERS}.odd"), "nothing");
    let zip = arg(&place.folder.path().join("members.zip")).to_owned();
    let script = "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1], 'w')\n\
                  z.writestr(sys.argv[2] + '.jsonl', 'no json')\nz.writestr(sys.argv[2] + '.odd', 'x')\n";
    let made = Command::new("python3")
        .args(["-c", script, &zip, STEERS])
        .status();
    if !made.is_ok_and(|status| status.success()) {
        siege.not_tried("members of archives: python3 cannot write one");
    }
    for file in [
        &twice, &header, &unknown, &keys, &broken, &named, &odd, &zip,
    ] {
        let name = Path::new(file)
            .extension()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let name = format!("{name} ({})", Path::new(file).file_stem().unwrap().len());
        for output in ["table", "markdown"] {
            let words = [
                "--system",
                "passthrough",
                "--dataset",
                file,
                "--output",
                output,
            ];
            place.tries(siege, &format!("data in {name}, as {output}"), &words);
        }
        let words = [
            "--system",
            "passthrough",
            "--dataset",
            file,
            "--map",
            "question=zz",
        ];
        place.tries(siege, &format!("keys of {name}"), &words);
        place.tries(siege, &format!("show {name}"), &["show", file]);
        place.tries(
            siege,
            &format!("show {name} as json"),
            &["show", file, "--output", "json"],
        );
        let words = ["render", "--proxy", "http://127.0.0.1:9", "--dataset", file];
        place.tries(siege, &format!("render {name}"), &words);
        let words = ["--system", "passthrough", "--dataset", file, "--dry-run"];
        place.tries(siege, &format!("dry run of {name}"), &words);
    }
}

/// Names and aliases of tasks, settings, exceptions of their functions.
fn tasks(siege: &mut Siege, place: &Place) {
    place.file(
        "tasks/docs.jsonl",
        &format!("{}\n", json!({"q": STEERS, "a": "2", STEERS: 1})),
    );
    place.file(
        "tasks/fails.py",
        &format!("def text(doc):\n    raise ValueError({STEERS:?}.replace('u{{', 'u'))\n\ndef score(doc, results):\n    raise KeyError(''.join(map(chr, {:?})))\n",
            STEERS.chars().map(u32::from).collect::<Vec<_>>()),
    );
    let quoted = json!(STEERS).to_string();
    let common = "dataset_path: json\ndataset_kwargs: {data_files: docs.jsonl}\ntest_split: train\n\
                  doc_to_target: \"{{a}}\"\noutput_type: generate_until\nmetric_list: [{metric: exact_match}]\n";
    for (file, text) in [
        (
            "named.yaml",
            format!("task: {quoted}\ntask_alias: {quoted}\ndoc_to_text: \"{{{{q}}}}\"\n{common}"),
        ),
        (
            "alias.yaml",
            format!("task: alias\ntask_alias: {quoted}\ndoc_to_text: \"{{{{q}}}}\"\n{common}"),
        ),
        (
            "fails.yaml",
            format!("task: fails\ndoc_to_text: !function fails.text\n{common}"),
        ),
        (
            "scores.yaml",
            format!(
                "task: scores\ndoc_to_text: \"{{{{q}}}}\"\nprocess_results: !function fails.score\n{common}"
            ),
        ),
        (
            "group.yaml",
            format!("group: group\ngroup_alias: {quoted}\ntask: [alias, scores]\n"),
        ),
        (
            "wrong.yaml",
            format!("task: wrong\n{quoted}: 1\ndoc_to_text: {quoted}\n{common}"),
        ),
    ] {
        place.file(&format!("tasks/{file}"), &text);
    }
    let server = ChatServer::start(|_| Reply::text(STEERS));
    let url = server.url();
    let folder = arg(&place.folder.path().join("tasks")).to_owned();
    for name in [STEERS, "alias", "fails", "scores", "group", "wrong"] {
        let what = if name == STEERS { "steering" } else { name };
        let task = ["--tasks", name, "--include-path", &folder];
        for before in [
            &["run", "--proxy", &url][..],
            &["render"],
            &["render", "--proxy", &url],
        ] {
            let words = [before, &task[..]].concat();
            place.tries(
                siege,
                &format!("{} of task {what}", before.join(" ")),
                &words,
            );
        }
        let words = ["show", name, "--include-path", &folder];
        place.tries(siege, &format!("show task {what}"), &words);
        place.tries(
            siege,
            &format!("validate task {what}"),
            &["validate", name, "--include-path", &folder],
        );
    }
    place.tries(
        siege,
        "ls tasks",
        &["ls", "tasks", "--include-path", &folder],
    );
    let words = ["ls", "tasks", "--include-path", &folder, "--output", "json"];
    place.tries(siege, "ls tasks as json", &words);
}

/// Answers and errors of endpoints and programs, and what a store shows of them.
fn answers(siege: &mut Siege, place: &Place) {
    let data = arg(&place.folder.path().join("data.jsonl")).to_owned();
    let server = ChatServer::start(|request| match request.model() {
        "fails" => Reply::status(400).message(STEERS),
        _ => Reply::text(STEERS),
    });
    let url = server.url();
    let script = place.file(
        "broken.py",
        &format!(
            "import sys\nsys.stderr.write(''.join(map(chr, {:?})))\nsys.exit(3)\n",
            STEERS.chars().map(u32::from).collect::<Vec<_>>()
        ),
    );
    let program = format!("python3 {script}");
    for (what, words) in [
        (
            "answers",
            vec!["--proxy", &url, "--model", "m", "--name", STEERS],
        ),
        ("errors", vec!["--proxy", &url, "--model", "fails"]),
        ("a model", vec!["--proxy", &url, "--model", STEERS]),
        ("a program", vec!["--command", &program]),
    ] {
        for output in ["table", "markdown", "json"] {
            let line = [
                &words[..],
                &[
                    "--dataset",
                    &data,
                    "--cache-dir",
                    "store",
                    "--output",
                    output,
                ],
            ];
            place.tries(siege, &format!("{what}, as {output}"), &line.concat());
        }
        for later in [
            &["runs"][..],
            &["runs", "--output", "json"],
            &["runs", "show", "last"],
            &["runs", "show", "last", "--output", "json"],
            &["runs", "sql", "SELECT * FROM answers"],
            &["runs", "sql", "SELECT * FROM answers", "--output", "json"],
            &["show", "last", "--cache-dir", "store"],
            &["export", "last", "--output", "markdown"],
            &["export", "last", "--output", "table"],
            &["rescore", "last"],
        ] {
            let mut words = later.to_vec();
            if later[0] != "show" {
                words.extend(["--cache-dir", "store"]);
            }
            place.tries(
                siege,
                &format!("{what}, then `{}`", later.join(" ")),
                &words,
            );
        }
    }
}

/// Keys and values of run files.
fn words(siege: &mut Siege, place: &Place) {
    let quoted = json!(STEERS).to_string();
    for (i, text) in [
        format!("{quoted}: 1\n"),
        format!("systems: [{{system: {quoted}}}]\n"),
        format!("benchmarks: [{{dataset: {quoted}}}]\nsystems: [{{system: passthrough}}]\n"),
        format!("limits: {{rps: {quoted}}}\n"),
        format!("systems: [{{name: {quoted}, system: passthrough}}]\nbenchmarks: [{{dataset: data.jsonl}}]\n"),
        format!("{STEERS}: [\n"),
    ]
    .iter()
    .enumerate()
    {
        let file = place.file("run.yaml", text);
        for more in [&[][..], &["--print-config"], &["--dry-run"]] {
            let words = [&["run", &file][..], more].concat();
            place.tries(siege, &format!("run file {i} {more:?}"), &words);
        }
    }
}

/// The values of every argument, by clap's list.
fn every_flag(siege: &mut Siege) {
    let mut all = Vec::new();
    gather(&context_bench_cli::arguments(), &[], &mut all);
    let tried = siege.times(60, all.len());
    for i in 0..tried {
        let at = match tried == all.len() {
            true => i,
            false => siege.below(all.len()),
        };
        let (names, argument) = &all[at];
        let work = Place::new();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut words: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        for (flag, value) in secrets::base(&work.folder.path().join("data.jsonl"), &names) {
            if argument.get_long() != Some(flag) && flag != "output" {
                words.extend([format!("--{flag}"), value]);
            }
        }
        words.push(match argument.get_long() {
            Some(long) => format!("--{long}={STEERS}"),
            None => STEERS.to_owned(),
        });
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        work.tries(
            siege,
            &format!("{} {}", names.join(" "), argument.get_id()),
            &words,
        );
    }
    let place = Place::new();
    for words in [
        &[&format!("--{STEERS}")[..]][..],
        &[STEERS],
        &["run", "--nope", STEERS],
    ] {
        place.tries(siege, "arguments that there are not", words);
    }
}

/// On a real terminal, where bars are drawn.
fn terminal(siege: &mut Siege, place: &Place) {
    let has_script = Command::new("script")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !has_script.is_ok_and(|status| status.success()) {
        siege.not_tried("a terminal: there is no `script` to make one");
        return;
    }
    let data = arg(&place.folder.path().join("data.jsonl")).to_owned();
    let program = env!("CARGO_BIN_EXE_context-bench");
    // The words go through a file, so that no shell changes them.
    let words = place.file("words", "");
    let mut file = std::fs::File::create(&words).unwrap();
    for word in [
        "--system",
        "passthrough",
        "--name",
        STEERS,
        "--dataset",
        &data,
        "--repeats",
        "50",
    ] {
        file.write_all(word.as_bytes()).unwrap();
        file.write_all(b"\0").unwrap();
    }
    drop(file);
    let line = format!("xargs -0 -a '{words}' '{program}'");
    let output = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let steering = [
        "\u{1b}]0;",
        "\u{1b}[31;5m",
        "\u{9b}",
        "\u{202e}",
        "\u{2066}",
        "\u{200f}",
        "\u{7f}",
    ];
    let found = steering.iter().find(|one| said.contains(**one));
    siege.tried(
        "a name on a terminal with bars",
        match (found, said.contains("PWNED")) {
            (None, true) => Ok(()),
            (None, false) => Err(format!("the run did not get so far: {said:?}")),
            (Some(found), _) => Err(format!("{found:?} in {said:?}")),
        },
    );
}
