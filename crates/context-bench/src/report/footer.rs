//! What stands below the tables: on how much the numbers rest, who answered, whose tokens
//! they are, and what is not in the latency.

use indexmap::{IndexMap, IndexSet};
use serde_json::Value;

use super::{cell, cost, wire};
use crate::model::{Counts, JudgeUsage};
use crate::result::EvalResult;

/// The lines below the tables, none wider than that.
pub(super) fn lines(result: &EvalResult, width: usize) -> String {
    joined(parts(result), width)
}

fn parts(result: &EvalResult) -> Vec<String> {
    // First of all what this is, if it is not the whole.
    let mut parts: Vec<String> = result.part_of().into_iter().collect();
    if let Some(n) = result.config.get("num_examples").and_then(Value::as_i64) {
        let repeats = result.provenance.get("repeats").and_then(Value::as_i64);
        parts.push(match repeats.filter(|repeats| *repeats > 1) {
            Some(repeats) if n % repeats == 0 => {
                format!("{repeats} × {}", cell::counted(n / repeats, "example"))
            }
            _ => cell::counted(n, "example"),
        });
    }
    parts.extend(answered_by(result));
    parts.extend(asked_with(result));
    parts.extend(token_source(result));
    parts.extend(cost::basis(result));
    parts.extend(latency_notes(result));
    let total = |count: fn(&Counts) -> u64| result.counts.values().map(count).sum::<u64>();
    let requests = total(|counts| counts.requests);
    if requests > 0 {
        let mut part = cell::counted(requests as i64, "request");
        let again = [
            (total(|counts| counts.retries), "retry", "retries"),
            (total(|counts| counts.timeouts), "time-out", "time-outs"),
        ];
        let again: Vec<String> = again
            .iter()
            .filter(|(n, _, _)| *n > 0)
            .map(|(n, one, many)| format!("{n} {}", if *n == 1 { one } else { many }))
            .collect();
        if !again.is_empty() {
            part += &format!(" ({})", again.join(", "));
        }
        parts.push(part);
    }
    let mut judged = JudgeUsage::default();
    for counts in result.counts.values() {
        judged += counts.judged();
    }
    if judged.requests > 0 {
        let requests = i64::try_from(judged.requests).unwrap_or(i64::MAX);
        let mut part = cell::counted(requests, "judge request");
        if judged.tokens() > 0 {
            let tokens = i64::try_from(judged.tokens()).unwrap_or(i64::MAX);
            part.push_str(&format!(" ({})", cell::counted(tokens, "token")));
        }
        parts.push(part);
    }
    let cached: usize = result.counts.values().map(|counts| counts.cached).sum();
    if cached > 0 {
        parts.push(format!("{cached} rows reused"));
    }
    if result
        .summary
        .values()
        .any(|s| s.iter().any(|(_, m)| m.stderr.is_some()))
    {
        parts.push("± is one standard error".to_owned());
    }
    parts
}

/// Who answered, once where it is the same for all.
fn answered_by(result: &EvalResult) -> Option<String> {
    let models = result.provenance.get("answered_by")?.as_object()?;
    let who = |name: &str| match name {
        "baseline-reader" => "baseline-reader (no language model)".to_owned(),
        _ => cell::shorten(name, 40),
    };
    let named: IndexSet<&str> = models.values().filter_map(Value::as_str).collect();
    let alone = |model: &str| models.iter().all(|(system, _)| system == model);
    match named.len() {
        0 => None,
        // A system that is its own answerer says no more than its name.
        1 if alone(named[0]) => None,
        1 => Some(format!("answered by {}", who(named[0]))),
        _ => {
            let each = models.iter().filter_map(|(system, model)| {
                let model = model.as_str().filter(|model| model != system)?;
                Some(format!("{} by {}", cell::shorten(system, 20), who(model)))
            });
            let each: Vec<String> = each.collect();
            (!each.is_empty()).then(|| format!("answered: {}", each.join(", ")))
        }
    }
}

/// How models were asked about datasets, once where it is the same for all.
fn asked_with(result: &EvalResult) -> Option<String> {
    let prompts = result.provenance.get("prompts")?.as_object()?;
    let mut by_style: IndexMap<String, Vec<&str>> = IndexMap::new();
    for (dataset, how) in prompts {
        let style = how.get("prompt").and_then(Value::as_str)?;
        let shots = |key: &str| how.get(key).and_then(Value::as_u64);
        let short = match (shots("shots"), shots("shots_wanted")) {
            (Some(n), Some(wanted)) => format!(" with {n} of {wanted} worked examples"),
            _ => String::new(),
        };
        let style = format!("{style} prompt{short}");
        by_style.entry(style).or_default().push(dataset);
    }
    match by_style.len() {
        0 => None,
        1 => by_style.into_keys().next(),
        _ => {
            let each = by_style.iter().map(|(style, datasets)| {
                let names = cell::shorten(&datasets.join(", "), 40);
                format!("{style} for {names}")
            });
            Some(each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Whose tokens the figures are, and what savings are compared with.
fn token_source(result: &EvalResult) -> Option<String> {
    let shape = result.shape();
    let (reported, is_counted) = (shape.has_reported, shape.has_counted);
    let tokenizer = result.provenance.get("tokenizer").and_then(Value::as_str)?;
    let fields = result
        .provenance
        .get("text_fields")
        .and_then(Value::as_array);
    let of = match fields {
        Some(fields) => {
            let names: Vec<&str> = fields.iter().filter_map(Value::as_str).collect();
            format!(" of {}", names.join(" + "))
        }
        None => String::new(),
    };
    let shows_saving = result
        .summary
        .values()
        .any(|s| s.value("tokens_saved").is_some());
    if let Some(saving) = wire::saving(result, tokenizer).filter(|_| shows_saving) {
        let source = if reported { "tokens as reported, " } else { "" };
        return Some(format!("{source}{saving}"));
    }
    let baseline = result.provenance.get("baseline").and_then(Value::as_str);
    let against = || match (baseline, result.summary.keys().next()) {
        (Some(name), _) => format!(", saved against {}", cell::shorten(name, 30)),
        (None, Some(first)) => format!(", saved against {}", cell::shorten(first, 30)),
        (None, None) => String::new(),
    };
    let against_given = match baseline {
        Some(_) => against(),
        None => ", saved against what was given".to_owned(),
    };
    Some(match (reported, is_counted) {
        (true, false) if shows_saving => format!("tokens as reported{}", against()),
        (true, false) => "tokens as reported".to_owned(),
        (false, true) if shows_saving => format!("{tokenizer} tokens{of}{against_given}"),
        (true, true) if shows_saving => format!(
            "tokens as reported{}, or {tokenizer} tokens{of}{against_given}",
            against()
        ),
        (true, true) => format!("tokens as reported, or {tokenizer} tokens{of}"),
        // An endpoint that reports nothing.
        (false, false) if result.counts.values().any(|counts| counts.requests > 0) => {
            "no tokens reported".to_owned()
        }
        (false, _) => format!("{tokenizer} tokens{of}"),
    })
}

/// How many calls were in flight, and what is not in the latency.
fn latency_notes(result: &EvalResult) -> Vec<String> {
    let mut parts = Vec::new();
    let has = |key: &str| result.summary.values().any(|s| s.value(key).is_some());
    let workers = result.provenance.get("max_workers").and_then(Value::as_str);
    if let Some(workers) = workers.filter(|_| has("latency_median")) {
        parts.push(match workers {
            "1" => "latency of one call at a time".to_owned(),
            "auto" => "latency at the workers that `auto` found".to_owned(),
            n => format!("latency with up to {n} calls in flight"),
        });
    }
    let most = |key: &str| {
        let values = result.summary.values().filter_map(|s| s.value(key));
        values.fold(None, |most: Option<f64>, value| {
            Some(most.map_or(value, |most| most.max(value)))
        })
    };
    if let (Some(median), Some(max)) = (most("connect_median"), most("connect_max")) {
        parts.push(format!(
            "connecting took {} (at most {}), not in the latency",
            cell::seconds(Some(median)),
            cell::seconds(Some(max))
        ));
    }
    parts
}

/// The parts with dots between them, on as many lines as the width asks for.
fn joined(parts: Vec<String>, width: usize) -> String {
    let mut text = String::new();
    let mut used = 0;
    for part in parts {
        let n_chars = part.chars().count();
        if text.is_empty() {
            used = n_chars;
        } else if used + 3 + n_chars <= width {
            text.push_str(" · ");
            used += 3 + n_chars;
        } else {
            text.push('\n');
            used = n_chars;
        }
        text.push_str(&part);
    }
    text
}

/// A text on lines that are no wider, cut between words; what goes on is indented.
pub(super) fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let n_chars = word.chars().count();
        if out.is_empty() {
            used = n_chars;
        } else if used + 1 + n_chars <= width {
            out.push(' ');
            used += 1 + n_chars;
        } else {
            out.push_str("\n  ");
            used = 2 + n_chars;
        }
        out.push_str(word);
    }
    out
}
