//! The built-in comparison shows that squeezing costs quality.

use crate::program::run;

#[test]
fn stronger_compression_costs_quality() {
    let done = run(&["demo", "--output", "json"]);
    assert_eq!(done.code, 0, "{done}");
    let result = done.json();
    let value = |system: &str, key: &str| result["summary"][system][key].as_f64().unwrap();
    let score = |system: &str| value(system, "mean_score");
    assert!(score("passthrough") > score("extractive 2%") + 0.03);
    assert!(score("passthrough") > score("truncate 50%") + 0.2);
    assert!(score("truncate 50%") > score("truncate 25%") + 0.1);
    assert!(score("truncate 25%") > score("truncate 10%") + 0.03);
    assert_eq!(value("passthrough", "compression_ratio"), 0.0);
    assert!(value("dedup", "compression_ratio") > 0.01);
    assert!((value("truncate 10%", "compression_ratio") - 0.9).abs() < 0.01);
    for (system, counts) in result["counts"].as_object().unwrap() {
        assert_eq!(counts["planned"], 110, "{system}");
        assert_eq!(counts["scored"], 110, "{system}");
    }
    assert_eq!(result["summary"].as_object().unwrap().len(), 7);
    let comparison = &result["comparison"];
    assert_eq!(comparison["baseline"], "passthrough");
    let verdict = |system: &str| {
        let systems = comparison["systems"].as_array().unwrap();
        let found = systems.iter().find(|one| one["system"] == system).unwrap();
        found["verdict"].as_str().unwrap().to_owned()
    };
    for system in [
        "extractive 2%",
        "truncate 50%",
        "truncate 25%",
        "truncate 10%",
    ] {
        assert_eq!(verdict(system), "worse", "{system}");
    }
    // It gives the very same answers: nothing is shown, in either direction.
    assert_eq!(verdict("dedup"), "inconclusive");
}

#[test]
fn the_table_fits_80_columns_and_the_next_step_is_named() {
    let done = run(&["demo", "-n", "12", "--quiet"]);
    assert_eq!(done.code, 0, "{done}");
    for line in done.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for text in [
        "passthrough",
        "truncate 10%",
        "mean ±se",
        "scored/",
        "12/0",
        "12 examples",
    ] {
        assert!(done.stdout.contains(text), "no `{text}` in: {done}");
    }
    assert!(done.stderr.contains("context-bench demo --relay"), "{done}");
}

#[test]
fn help_and_lists_answer_without_anything_else() {
    let help = run(&["--help"]);
    assert_eq!(help.code, 0, "{help}");
    for flag in [
        "--proxy",
        "--name",
        "--dataset",
        "--model",
        "--max-examples",
        "--output",
        "--score-field",
        "--threshold",
        "--judge-url",
        "--judge-model",
        "--max-workers",
        "--system",
        "--command",
        "--relay",
        "--system-prompt",
        "--extra-body",
        "--timeout",
        "--max-retries",
        "--stream",
        "--skip-bad-lines",
        "--max-error-rate",
        "--output-file",
        "--quiet",
    ] {
        assert!(help.stdout.contains(flag), "{flag}");
    }
    assert!(run(&["--version"]).stdout.starts_with("context-bench "));
    let ls = run(&["ls"]);
    assert_eq!(ls.code, 0, "{ls}");
    assert!(
        ls.stdout.contains("answer_quality") && ls.stdout.contains("extractive"),
        "{ls}"
    );
    let json = run(&["ls", "systems", "--output", "json"]).json();
    assert_eq!(json["systems"][0]["name"], "passthrough");
    let completions = run(&["completions", "bash"]);
    assert!(completions.stdout.contains("complete -F"), "{completions}");
}
