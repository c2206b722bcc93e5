//! What generation settings say: stops, most tokens, temperature; where a generated answer ends.

use context_bench_template::python::strip_start;
use serde_json::{Map, Value};

/// The stops to send: those of the task, then the end-of-text mark if it is known.
pub fn stops(until: &[String], end: Option<&str>) -> Vec<String> {
    let mut stops: Vec<String> = until
        .iter()
        .filter(|stop| !stop.is_empty())
        .cloned()
        .collect();
    if let Some(end) = end.filter(|end| !end.is_empty() && !stops.iter().any(|stop| stop == end)) {
        stops.push(end.to_owned());
    }
    stops
}

/// The answer without what was thought before it, cut at the first stop.
pub fn trimmed(answer: &str, stops: &[String], think_end: Option<&str>) -> String {
    let mut text = answer;
    let mark = think_end.filter(|mark| !mark.is_empty());
    if let Some((_, after)) = mark.and_then(|mark| text.rsplit_once(mark)) {
        text = strip_start(after);
    }
    let cuts = stops
        .iter()
        .filter(|stop| !stop.is_empty())
        .filter_map(|stop| text.find(stop.as_str()));
    text[..cuts.min().unwrap_or(text.len())].to_owned()
}

/// The most tokens an answer may have, by whichever name it is given.
pub fn max_tokens(settings: &Map<String, Value>) -> Option<u64> {
    [
        "max_gen_toks",
        "max_new_tokens",
        "max_tokens",
        "max_completion_tokens",
    ]
    .iter()
    .find_map(|key| settings.get(*key)?.as_u64())
}

/// The temperature; without sampling it is 0.
pub fn temperature(settings: &Map<String, Value>) -> f64 {
    match settings.get("do_sample").and_then(Value::as_bool) {
        Some(false) => 0.0,
        _ => settings
            .get("temperature")
            .and_then(Value::as_f64)
            .unwrap_or(0.0),
    }
}
