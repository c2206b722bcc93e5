//! `memory --sweep`: one memory with several values of a setting.

use serde_json::{Value, json};

use crate::memory::{locomo, memory, value};
use crate::program::arg;

#[test]
fn a_sweep_of_a_memory_draws_a_curve() {
    let (folder, path) = locomo();
    let cache = folder.path().join("cache");
    let sweep = |text: &str, more: &[&str]| {
        let args = ["--system", "naive", "--sweep", text, "--margin", "0.5"];
        let stored = ["--cache-dir", arg(&cache)];
        memory(&path, &[&args[..], &stored, more].concat())
    };
    let json = ["--output", "json"];
    let done = sweep("bm25:top_k=1..5/3", &json);
    assert_eq!(done.code, 0, "{done}");
    let result = done.json();
    let curve = &result["sweeps"][0];
    assert_eq!(
        (&curve["name"], &curve["setting"], &curve["baseline"]),
        (&json!("bm25:top_k"), &json!("top_k"), &json!("naive")),
    );
    assert_eq!(curve["examples"], 7, "{curve}");
    let points = curve["points"].as_array().unwrap();
    let values: Vec<&Value> = points.iter().map(|point| &point["value"]).collect();
    assert_eq!(values, [1.0, 3.0, 5.0], "{curve}");
    // More turns are more tokens, until no further one fits the question.
    let tokens: Vec<f64> = points
        .iter()
        .map(|point| point["tokens"].as_f64().unwrap())
        .collect();
    assert!(tokens.is_sorted() && tokens[0] < tokens[2], "{curve}");
    for point in points {
        let system = point["system"].as_str().unwrap();
        let quality = point["quality"].as_f64().unwrap();
        let mean = value(&result, system, "mean_score");
        assert!((quality - mean).abs() < 1e-9, "{system}: {curve}");
        assert!(point["verdict"].is_string(), "{curve}");
    }
    // What is stored is found again, and gives the same curve.
    let again = sweep("bm25:top_k=1..5/3", &json);
    assert_eq!(again.code, 0, "{again}");
    assert_eq!(&again.json()["sweeps"][0], curve);
    let table = sweep("bm25:top_k=1..5/3", &[]);
    let shown = table.stdout.contains("Sweep bm25:top_k: ");
    assert!(shown, "{table}");
    let wrong = sweep("bm25:top-k=1..5/3", &json);
    assert_eq!(wrong.code, 2, "{wrong}");
    let hint = "hint: did you mean `top_k`?";
    assert!(wrong.stderr.contains(hint), "{wrong}");
}
