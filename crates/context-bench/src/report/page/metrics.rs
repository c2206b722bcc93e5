//! What the numbers of a summary are called and which way they are better.

use context_bench_page::{Better, Figure, Metric};
use indexmap::IndexMap;

use crate::model::{Measurement, Unit};
use crate::report::memory::MemoryReport;
use crate::report::wire;
use crate::result::EvalResult;

/// Tables beside the first one.
const ON_THE_WIRE: &str = "On the wire";
const MEMORY: &str = "Memory";

struct Known {
    key: &'static str,
    label: &'static str,
    better: Better,
    is_main: bool,
    definition: &'static str,
}

const fn known(
    key: &'static str,
    label: &'static str,
    better: Better,
    is_main: bool,
    definition: &'static str,
) -> Known {
    Known {
        key,
        label,
        better,
        is_main,
        definition,
    }
}

use Better::{Higher, Lower, Neither};

/// In the order of the table. Others follow under their own key.
const KNOWN: [Known; 24] = [
    known(
        "mean_score",
        "Quality",
        Higher,
        true,
        "mean score of the rows that have one",
    ),
    known(
        "pass_rate",
        "Passed",
        Higher,
        true,
        "share of scored rows that reach the threshold",
    ),
    known(
        "mean_prompt_tokens",
        "Prompt tokens",
        Lower,
        true,
        "tokens sent per question, mean",
    ),
    known(
        "mean_cost",
        "Cost per row",
        Lower,
        true,
        "money per row by the price book, mean of the rows whose price is known",
    ),
    known(
        "cost",
        "Cost",
        Lower,
        true,
        "money of all rows by the price book; only where all of it is known",
    ),
    known(
        "cost_at_least",
        "Cost at least",
        Lower,
        true,
        "money that is known to have been spent, where some rows have no price",
    ),
    known(
        "unpriced_rows",
        "Rows without price",
        Lower,
        true,
        "rows whose model has no price, or that do not say all their tokens",
    ),
    known(
        "cost_per_pass",
        "Cost per pass",
        Lower,
        false,
        "money of all rows for each row that passed",
    ),
    known(
        "compression_ratio",
        "Context removed",
        Higher,
        true,
        "share of the tokens of the context that the layer removed",
    ),
    known(
        "wire_saved",
        "Saved on the wire",
        Higher,
        true,
        "share of the tokens of requests that did not reach the provider, counted on both sides",
    ),
    known(
        "latency_median",
        "Latency p50",
        Lower,
        true,
        "half of the calls took at most so long; time inside the system",
    ),
    known(
        "latency_p95",
        "Latency p95",
        Lower,
        true,
        "95 % of the calls took at most so long",
    ),
    known(
        "latency_p99",
        "Latency p99",
        Lower,
        false,
        "99 % of the calls took at most so long",
    ),
    known(
        "latency_mean",
        "Latency mean",
        Lower,
        false,
        "mean time inside the system",
    ),
    known(
        "tokens_per_pass",
        "Tokens per pass",
        Lower,
        false,
        "all tokens, of prompts and answers, for each row that passed",
    ),
    known(
        "cost_of_pass",
        "Context tokens per pass",
        Lower,
        false,
        "tokens after the layer for each row that passed",
    ),
    known(
        "mean_completion_tokens",
        "Answer tokens",
        Neither,
        false,
        "tokens of an answer, mean",
    ),
    known(
        "mean_input_tokens",
        "Context before",
        Neither,
        false,
        "tokens of the counted fields before the layer, mean",
    ),
    known(
        "mean_output_tokens",
        "Context after",
        Lower,
        false,
        "tokens of the counted fields after the layer, mean",
    ),
    known(
        "tokens_saved",
        "Tokens saved",
        Higher,
        false,
        "share of the baseline's tokens that were not sent",
    ),
    known(
        "num_passing",
        "Rows passed",
        Higher,
        false,
        "rows that reach the threshold",
    ),
    known(
        "pareto_rank",
        "Pareto rank",
        Lower,
        false,
        "1: no other system is better and cheaper",
    ),
    known(
        "ttft_median",
        "First token p50",
        Lower,
        false,
        "half of the answers began within this time",
    ),
    known(
        "ttft_p95",
        "First token p95",
        Lower,
        false,
        "95 % of the answers began within this time",
    ),
];

/// What a number of a summary is called and means on pages, by its key; `cost` is the one that says what
/// answers cost in tokens, which stay beside money.
pub fn page_metric(key: &str, unit: Unit, cost: Option<&str>) -> Option<Metric> {
    let known = KNOWN.iter().find(|known| known.key == key)?;
    Some(Metric {
        key: known.key.to_owned(),
        label: known.label.to_owned(),
        unit: unit_name(unit),
        better: known.better,
        definition: known.definition.to_owned(),
        is_main: match TOKENS.contains(&key) {
            true => cost == Some(key),
            false => known.is_main,
        },
        part: "",
    })
}

/// All numbers of the summary: known ones first, then the rest as they come.
pub(super) fn of(result: &EvalResult, score: Option<&str>) -> Vec<Metric> {
    let mut units: IndexMap<&str, Unit> = IndexMap::new();
    for summary in result.summary.values() {
        for (key, measurement) in summary.iter() {
            units.entry(key).or_insert(measurement.unit);
        }
    }
    let prices = result.provenance.get("prices");
    let currency = prices.and_then(|prices| prices["currency"].as_str());
    let (cost, compression) = (cost_in_tokens(result), compression(result));
    let mut metrics = Vec::new();
    for known in &KNOWN {
        let Some(unit) = units.shift_remove(known.key) else {
            continue;
        };
        let definition = match (known.key, score) {
            ("mean_score", Some(score)) => format!("{}: {score}", known.definition),
            _ => known.definition.to_owned(),
        };
        let Some(metric) = page_metric(known.key, unit, cost) else {
            continue;
        };
        metrics.push(Metric {
            label: match (unit, currency) {
                (Unit::Money, Some(currency)) => format!("{} ({currency})", known.label),
                _ => metric.label,
            },
            definition,
            is_main: match COMPRESSIONS.contains(&known.key) {
                true => compression == Some(known.key),
                false => metric.is_main,
            },
            ..metric
        });
    }
    let has_main = metrics.iter().any(|metric| metric.is_main);
    let memory = MemoryReport::of(result);
    metrics.extend(units.into_iter().map(|(key, unit)| {
        let of_wire = wire::heading(key);
        let spelled = || key.replace('_', " ");
        Metric {
            key: key.to_owned(),
            label: capitalised(&of_wire.map_or_else(spelled, str::to_owned)),
            unit: unit_name(unit),
            better: Neither,
            definition: wire_definition(key).to_owned(),
            is_main: !has_main,
            part: match () {
                () if of_wire.is_some() || wire::shows(key) => ON_THE_WIRE,
                () if memory.as_ref().is_some_and(|memory| memory.shows(key)) => MEMORY,
                () => "",
            },
        }
    }));
    metrics
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// What a number of the wire is (`docs/reference/tap.md`).
fn wire_definition(key: &str) -> &'static str {
    match key {
        "wire_saved_usage" => "the same by the tokens that the provider counted",
        "wire_saved_bytes" => "the same in bytes of bodies",
        "wire_saved_median" => "the median of it over rows",
        "claimed_saved" => "what the proxy itself says it saved",
        "engagement" => "share of requests that went out changed",
        "extra_calls" => "calls to the provider that nobody asked for, per row",
        "local_answers" => "share of calls that the proxy answered without the provider",
        "added_before_p50" => "time between request in and request out, median",
        "added_after_p50" => "time between answer in and answer out, median",
        "added_p50" => "before and after together, median",
        "added_p99" => "before and after together, 99th percentile",
        "added_first_p50" => "the same for the first piece of an answer, median",
        "stream_in_time" => "share of pieces of answers that were passed on when they came",
        "streams_buffered" => "share of streams that were held back until their end",
        "unattributed_calls" => "calls to the provider that belong to no row",
        _ => "",
    }
}

/// The metric that says how much a layer removed: what a tap saw, else what was sent less than the
/// baseline did, where systems do not change the context here. Without a layer the difference between
/// what goes in and out is the answer, and says nothing.
pub(super) fn compression(result: &EvalResult) -> Option<&'static str> {
    let removes = |key: &&str| {
        let mut summaries = result.summary.values();
        summaries.any(|summary| summary.get(key).and_then(|one| one.value) > Some(0.0))
    };
    let measured = |key: &&str| is_measured(result, key);
    let wire = COMPRESSIONS[..1].iter().find(|key| measured(key));
    wire.or_else(|| COMPRESSIONS[1..].iter().find(|key| removes(key)))
        .copied()
}

const COMPRESSIONS: [&str; 3] = ["wire_saved", "compression_ratio", "tokens_saved"];

/// Whether some system has that metric, with or without a value.
pub(super) fn is_there(result: &EvalResult, key: &str) -> bool {
    let mut summaries = result.summary.values();
    summaries.any(|summary| summary.get(key).is_some())
}

/// Whether some system has a value of that metric.
pub(super) fn is_measured(result: &EvalResult, key: &str) -> bool {
    let mut summaries = result.summary.values();
    summaries.any(|summary| summary.get(key).is_some_and(|one| one.value.is_some()))
}

/// The metric that says what answers cost: money where it is known of every system, else tokens.
pub(super) fn cost(result: &EvalResult) -> Option<&'static str> {
    let money = result.summary.values().map(|one| {
        // What is known of some rows only is no mean of all of them.
        one.value("cost").and(one.value("mean_cost"))
    });
    let money: Option<Vec<f64>> = money.collect();
    match money.is_some_and(|money| money.iter().any(|value| *value > 0.0)) {
        true => Some("mean_cost"),
        false => cost_in_tokens(result),
    }
}

fn cost_in_tokens(result: &EvalResult) -> Option<&'static str> {
    page_cost(|key| {
        let summaries = result.summary.values();
        summaries.filter_map(|one| one.get(key)?.value).collect()
    })
}

/// The metric that says what answers cost in tokens, by the values that systems have of one: prompts that were
/// sent, else what a layer left. Where somebody sent no prompt (a program that answers by itself) the
/// first is 0 and says nothing.
pub fn page_cost(values: impl Fn(&str) -> Vec<f64>) -> Option<&'static str> {
    TOKENS.into_iter().find(|key| {
        let values = values(key);
        !values.is_empty() && values.iter().all(|value| *value > 0.0)
    })
}

const TOKENS: [&str; 2] = ["mean_prompt_tokens", "mean_output_tokens"];

/// The numbers of one system.
pub(super) fn figures(result: &EvalResult, system: &str) -> Vec<(String, Figure)> {
    let summary = result.summary.get(system).into_iter();
    let all = summary.flat_map(|summary| summary.iter());
    all.map(|(key, measurement)| (key.to_owned(), figure(measurement)))
        .collect()
}

pub(super) fn figure(measurement: &Measurement) -> Figure {
    Figure {
        value: measurement.value,
        stderr: measurement.stderr,
        interval: measurement.interval.map(|found| [found.low, found.high]),
        n: measurement.n,
    }
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Number => "number",
        Unit::Share => "share",
        Unit::Tokens => "tokens",
        Unit::Seconds => "seconds",
        Unit::Count => "count",
        Unit::Rank => "rank",
        Unit::Money => "money",
    }
}
