//! Rows as CSV.

use std::io::{self, Write};

use serde_json::Value;

use super::EvalResult;
use crate::model::{EvalRow, WireFacts};
use crate::text::spreadsheet::text_cell;

impl EvalResult {
    /// Writes the rows as CSV: fixed columns, then every score, then every
    /// metadata entry, then what went wrong.
    pub fn write_csv(&self, out: impl Write) -> io::Result<()> {
        let shape = self.shape();
        let (scores, metadata, has_text) = (&shape.scores, &shape.metadata, shape.has_text);
        let texts: &[&str] = if has_text { &TEXTS } else { &[] };
        let part_of = self.part_of();
        let wire: Vec<&str> = match shape.has_wire {
            true => WireFacts::default()
                .columns()
                .map(|(name, _)| name)
                .to_vec(),
            false => Vec::new(),
        };
        let prices = self.measures.prices.as_ref();
        let models = shape.models.iter().flat_map(|(system, models)| {
            let models = models.iter();
            models.map(|model| (&**system, &**model))
        });
        let money = prices.filter(|prices| !prices.used(models).is_empty());
        let money: &[&str] = if money.is_some() { &MONEY } else { &[] };
        let mut csv = csv::Writer::from_writer(out);
        let fixed = [
            "system",
            "example_id",
            "dataset",
            "input_tokens",
            "output_tokens",
            "latency",
        ];
        let last = ["cached", "error_kind", "error", "unscored", "answered_by"];
        let header = fixed
            .into_iter()
            .chain(scores.iter().map(|name| &**name))
            .chain(metadata.iter().map(|key| key.as_str()))
            .chain(last)
            .chain(wire.iter().copied())
            .chain(money.iter().copied())
            .chain(texts.iter().copied())
            .chain(part_of.as_ref().map(|_| "part_of"));
        csv.write_record(header.map(|name| text_cell(name).into_owned()))?;
        self.each_row(|row| {
            let mut record = vec![
                row.system.to_string(),
                row.example_id.to_string(),
                row.dataset.to_string(),
                row.input_tokens.to_string(),
                row.output_tokens.to_string(),
                row.latency.to_string(),
            ];
            record.extend(scores.iter().map(|name| {
                let value = row.score(name).filter(|value| value.is_finite());
                value.map(|value| value.to_string()).unwrap_or_default()
            }));
            let own = row.metadata();
            record.extend(metadata.iter().map(|key| {
                let value = own.get(key);
                value
                    .map(crate::text::stringify::python_str)
                    .unwrap_or_default()
                    .into_owned()
            }));
            let failure = row.failure.as_deref();
            let unscored: Vec<String> = row
                .scores
                .unscored()
                .map(|(name, reason)| format!("{name}: {reason}"))
                .collect();
            record.push(row.cached.to_string());
            record.push(
                failure
                    .map(|failure| failure.kind.to_string())
                    .unwrap_or_default(),
            );
            record.push(
                failure
                    .map(|failure| failure.message.clone())
                    .unwrap_or_default(),
            );
            record.push(unscored.join("; "));
            let who = self.answered_by(&row.system).unwrap_or_default();
            record.push(who.to_owned());
            if !wire.is_empty() {
                record.extend(wire_cells(row));
            }
            if !money.is_empty() {
                let cost = self.cost(row);
                let exact = cost.and_then(|cost| cost.exact());
                let least = cost.filter(|_| exact.is_none()).map(|cost| cost.least);
                record.extend(
                    [exact, least]
                        .map(|amount| amount.map(|money| money.to_string()).unwrap_or_default()),
                );
            }
            if has_text {
                record.extend(texts_of(row));
            }
            record.extend(part_of.clone());
            csv.write_record(record.iter().map(|cell| text_cell(cell).into_owned()))?;
            Ok(())
        })?;
        csv.flush()
    }
}

/// The cells of what a tap saw; empty where it saw nothing.
fn wire_cells(row: &EvalRow) -> Vec<String> {
    let facts = row.wire.as_deref();
    let columns = facts.map_or_else(Default::default, WireFacts::columns);
    let cell = |value: Option<Value>| match value {
        None => String::new(),
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
    };
    columns.into_iter().map(|(_, value)| cell(value)).collect()
}

/// The columns of CSV where prices are known: what a row cost, or what is known of it.
const MONEY: [&str; 2] = ["cost", "cost_at_least"];

/// The last columns of CSV, where rows keep text.
const TEXTS: [&str; 4] = ["question", "answer", "response", "finish_reason"];

/// The cells of those columns.
fn texts_of(row: &EvalRow) -> [String; 4] {
    let cell = |value: Option<&Value>| match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let text = row.text.as_deref();
    let reply = row.reply.as_deref();
    let ended = reply.and_then(|reply| reply.finish_reason.as_deref());
    [
        cell(text.and_then(|text| text.question.as_ref())),
        cell(text.and_then(|text| text.answer.as_ref())),
        cell(text.and_then(|text| text.response.as_ref())),
        ended.unwrap_or_default().to_owned(),
    ]
}
