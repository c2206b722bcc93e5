//! Run files with mistakes, each with its place.

use super::session::Session;

/// What goes before the part with the mistake.
const GOOD: &str = "systems:\n  - system: passthrough\nbenchmarks:\n  - dataset: demo\n";

#[test]
fn run_files_with_mistakes() {
    let mut session = Session::new();
    let good = |rest: &str| format!("{GOOD}{rest}");
    for (name, text) in [
        ("empty.yaml", String::new()),
        ("list.yaml", "- systems\n".into()),
        ("tab.yaml", "systems:\n\t- system: passthrough\n".into()),
        ("unclosed.yaml", "systems: [{system: passthrough\nbenchmarks: []\n".into()),
        ("cut.json", "{\"systems\": [".into()),
        ("twice.yaml", good("systems: []\n")),
        ("version.yaml", good("version: 7\n")),
        ("key.yaml", "systems:\n  - proxi: http://localhost:8000\nbenchmarks:\n  - dataset: demo\n".into()),
        ("top_key.yaml", good("limit: 20\n")),
        ("kind.yaml", good("limits:\n  max_workers: many\n")),
        ("negative.yaml", good("data:\n  limit: -3\n")),
        ("rate.yaml", good("limits:\n  max_error_rate: 2\n")),
        ("no_systems.yaml", "benchmarks:\n  - dataset: demo\n".into()),
        ("no_benchmarks.yaml", "systems:\n  - system: passthrough\n".into()),
        ("two_kinds.yaml", "systems:\n  - system: passthrough\n    proxy: http://localhost:8000\nbenchmarks:\n  - dataset: demo\n".into()),
        ("nameless.yaml", "systems:\n  - name: a\nbenchmarks:\n  - dataset: demo\n".into()),
        ("system.yaml", "systems:\n  - system: trunctate:ratio=0.5\nbenchmarks:\n  - dataset: demo\n".into()),
        ("dataset.yaml", "systems:\n  - system: passthrough\nbenchmarks:\n  - dataset: dmeo\n".into()),
        ("evaluator.yaml", good("scoring:\n  evaluators: [anwser_quality]\n")),
        ("layout.yaml", good("requests: {layout: sideways}\n")),
        ("key_in_file.yaml", good("requests: {api_key: sk-very-secret-4711}\n")),
        ("tokenizer.yaml", good("scoring: {tokenizer: gpt}\n")),
        ("include.yaml", good("data: {include_path: [nowhere]}\n")),
        ("alias.yaml", good("data: *nobody\n")),
        ("tag.yaml", good("data: !function utils.f\n")),
    ] {
        session.write(name, text);
        session.run(&format!("run {name}"));
    }
    session.run("run nowhere.yaml");
    session.run("run .");
    session.approve("errors_run_files");
}
