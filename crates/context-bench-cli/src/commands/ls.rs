//! `ls`: what can be chosen by name.

use context_bench::registry::Registry;
use serde_json::{Value, json};

use crate::args::{Kind, ListFormat, LsArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

pub(crate) fn main(args: &LsArgs, registry: &Registry) -> Result<Exit, Failure> {
    let kinds = match args.kind {
        Some(kind) => vec![kind],
        None => Kind::ALL.to_vec(),
    };
    let listing: Vec<(Kind, Vec<(&str, &str)>)> = kinds
        .into_iter()
        .map(|kind| (kind, names(kind, registry)))
        .collect();
    match args.output {
        ListFormat::Table => output::stdout(&table(&listing))?,
        ListFormat::Json => output::stdout(&json_text(&listing))?,
    }
    Ok(Exit::Done)
}

fn names(kind: Kind, registry: &Registry) -> Vec<(&str, &str)> {
    match kind {
        Kind::Datasets => registry.datasets.describe().collect(),
        Kind::Systems => registry.systems.describe().collect(),
        Kind::Evaluators => registry.evaluators.describe().collect(),
        Kind::Metrics => registry.metrics.describe().collect(),
        Kind::Outputs => registry.reporters.describe().collect(),
    }
}

fn table(listing: &[(Kind, Vec<(&str, &str)>)]) -> String {
    let mut text = String::new();
    for (kind, entries) in listing {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &format!("{}:\n", kind.name());
        let width = entries.iter().map(|(name, _)| name.chars().count()).max();
        let width = width.unwrap_or(0);
        for (name, about) in entries {
            text += format!("  {name:width$}  {about}").trim_end();
            text.push('\n');
        }
    }
    text
}

fn json_text(listing: &[(Kind, Vec<(&str, &str)>)]) -> String {
    let kinds = listing.iter().map(|(kind, entries)| {
        let entry = |(name, about): &(&str, &str)| json!({"name": name, "about": about});
        (kind.name().to_owned(), entries.iter().map(entry).collect())
    });
    let kinds: serde_json::Map<String, Value> = kinds.collect();
    format!("{:#}\n", Value::Object(kinds))
}
