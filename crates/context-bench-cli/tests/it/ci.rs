//! The recipes of `docs/guide/ci.md`: their shell parts are run as they stand there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use context_bench_testkit::{ChatServer, Reply, Request};

use crate::program::{command, write_questions};

/// A part of a page in the language that its fence names.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let parts = page.split(fence.as_str()).skip(1);
    parts
        .map(|part| part.split("```").next().unwrap())
        .collect()
}

/// The scripts of a recipe: the indented lines below `run: |` and `- |`.
fn scripts(recipe: &str) -> Vec<String> {
    let mut scripts = Vec::new();
    let mut lines = recipe.lines().peekable();
    while let Some(line) = lines.next() {
        let start = line.trim_start();
        if start != "run: |" && start != "- |" {
            continue;
        }
        let indent = line.len() - start.len();
        let mut script = String::new();
        while let Some(next) = lines.peek() {
            let deeper = next.len() - next.trim_start().len() > indent;
            if !deeper && !next.is_empty() {
                break;
            }
            script += &format!("{}\n", lines.next().unwrap());
        }
        scripts.push(script);
    }
    scripts
}

/// Two stored runs, of which `$baseline` is the first.
const STORED: &str = r#"
context-bench --proxy "app=$UPSTREAM" --dataset questions.jsonl --quiet
context-bench runs --output json > runs.json
baseline=$(python3 -c 'import json; print(json.load(open("runs.json"))[-1]["id"])')
context-bench --proxy "app=$LAYER" --dataset questions.jsonl --quiet
"#;

struct Job {
    folder: PathBuf,
    upstream: String,
    layer: String,
}

impl Job {
    /// Runs a script as runners do, and gives its exit code.
    fn run(&self, script: &str) -> i32 {
        let program = command();
        let program = Path::new(program.get_program())
            .parent()
            .unwrap()
            .to_owned();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut bash = Command::new("bash");
        // The environment of tests of the program.
        for (name, value) in command().get_envs() {
            match value {
                Some(value) => bash.env(name, value),
                None => bash.env_remove(name),
            };
        }
        let done = bash
            .args(["-e", "-c", script])
            .current_dir(&self.folder)
            .env("PATH", format!("{}:{path}", program.display()))
            .env("CONTEXT_BENCH_CACHE_DIR", ".context-bench")
            .env("UPSTREAM", &self.upstream)
            .env("LAYER", &self.layer)
            .env("GITHUB_STEP_SUMMARY", self.folder.join("summary.md"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let code = done.status.code().unwrap();
        let (out, err) = (&done.stdout, &done.stderr);
        let (out, err) = (String::from_utf8_lossy(out), String::from_utf8_lossy(err));
        assert!(
            [0, 4].contains(&code),
            "exit {code} of {script}\n{out}\n{err}"
        );
        code
    }
}

#[test]
fn recipes_run_as_they_stand_in_the_guide() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/ci.md");
    let page = std::fs::read_to_string(page).unwrap();
    let policy = page.split("    # policy.txt\n").nth(1).unwrap();
    let policy: Vec<&str> = policy
        .lines()
        .take_while(|line| line.starts_with("    "))
        .collect();
    let policy = policy.join("\n");
    let answers = |wrong: &'static str| {
        ChatServer::start(move |request: &Request| {
            let is_wrong = request.last_user_content().contains(wrong);
            Reply::text(if is_wrong { "Rome" } else { "Paris" })
        })
    };
    let upstream = answers("Number 99:");
    // A good layer, and one that loses every question with a 1 in its number.
    for (wrong, code) in [("Number 99:", 0), ("Number 1", 4)] {
        let layer = answers(wrong);
        for language in ["yaml", "sh"] {
            let recipes = blocks(&page, language);
            assert_eq!(recipes.len(), if language == "yaml" { 2 } else { 3 });
            for recipe in recipes {
                let scripts = match language {
                    "yaml" => scripts(recipe),
                    _ => vec![recipe.to_owned()],
                };
                let folder = tempfile::tempdir().unwrap();
                let job = Job {
                    folder: folder.path().to_owned(),
                    upstream: upstream.url(),
                    layer: layer.url(),
                };
                write_questions(&folder.path().join("questions.jsonl"), 24);
                std::fs::write(folder.path().join("policy.txt"), &policy).unwrap();
                if language == "sh" && recipe.starts_with("context-bench export") {
                    job.run("context-bench --proxy $LAYER --dataset questions.jsonl -q");
                    assert_eq!(job.run(recipe), 0);
                    continue;
                }
                if recipe.starts_with("context-bench compare") {
                    let script = format!("{STORED}{recipe}");
                    assert_eq!(job.run(&script), code, "{script}");
                    continue;
                }
                // The second time every answer comes from the cache of the job.
                for _ in 0..2 {
                    assert_eq!(job.run(&scripts[0]), code, "{recipe}");
                }
                for report in &scripts[1..] {
                    assert_eq!(job.run(report), 0, "{report}");
                }
                if recipe.contains("junit.xml") {
                    assert!(folder.path().join("junit.xml").exists());
                }
                if recipe.contains("actions/") {
                    assert!(folder.path().join("quality.html").exists());
                    let summary = std::fs::read_to_string(folder.path().join("summary.md"));
                    let summary = summary.unwrap();
                    let expected = match code {
                        0 => "**All 3 passed.**",
                        _ => "did not pass.**",
                    };
                    assert!(summary.contains(expected), "{summary}");
                }
            }
        }
    }
}
