//! `show`: a dataset as it is described, one of its examples, and the messages
//! that a system would get for it.

use context_bench::dataset::catalogue::Config;
use context_bench::dataset::{DatasetRef, DatasetTarget};
use context_bench::error::Hint as _;
use context_bench::registry::{DatasetRequest, Registry};
use context_bench::{Example, system};
use serde_json::{Value, json};

use crate::args::{ListFormat, ShowArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{datasets, hub, output};

/// How much of a text is shown.
const SHOWN_CHARS: usize = 600;

pub(crate) fn main(args: &ShowArgs, registry: &Registry) -> Result<Exit, Failure> {
    let registry = datasets::included(registry, &args.include_path)?;
    let reference = DatasetRef::parse(&args.name)?;
    let config = match reference.target() {
        DatasetTarget::Named(named) if registry.datasets.get(&named.name).is_err() => {
            registry.configs(named)?.into_iter().next()
        }
        _ => None,
    };
    let request = DatasetRequest {
        max_examples: Some(1),
        hub: Some(hub::access(true)?),
        seed: args.seed,
        keep_order: args.keep_order,
        ..DatasetRequest::default()
    };
    let example = first_example(&registry, &args.name, &request);
    let shown = Shown {
        name: &args.name,
        config: config.as_ref(),
        example,
    };
    match args.output {
        ListFormat::Table => output::stdout(&shown.text())?,
        ListFormat::Json => output::stdout(&format!("{:#}\n", shown.json()))?,
    }
    Ok(Exit::Done)
}

/// The first example, or why there is none.
fn first_example(
    registry: &Registry,
    typed: &str,
    request: &DatasetRequest,
) -> Result<Example, Failure> {
    let opened = registry
        .open_dataset(typed, request)
        .map_err(|error| Failure {
            what: error.to_string(),
            hint: error.hint(),
            exit: Exit::BadInput,
        })?;
    for part in opened {
        if let Some(example) = part.dataset.into_iter().next() {
            return example.map_err(Failure::from);
        }
    }
    Err(Failure::bad_input("there is no example"))
}

struct Shown<'a> {
    name: &'a str,
    config: Option<&'a Config>,
    example: Result<Example, Failure>,
}

impl Shown<'_> {
    fn text(&self) -> String {
        let mut text = String::new();
        if let Some(config) = self.config {
            text += config.spec().text();
            text += &format!(
                "\nconfig: {}\nsplit: {}\nexamples: {}\nfields: {}\nevaluators: {}\nscore: {}\n",
                config.name().unwrap_or("–"),
                config.split().unwrap_or("–"),
                config
                    .examples()
                    .map_or("unknown".into(), |n| n.to_string()),
                config.fields().join(", "),
                config.evaluators().join(", "),
                config.score_field().unwrap_or("–"),
            );
        } else {
            text += &format!("{}\n", self.name);
        }
        match &self.example {
            Ok(example) => {
                text += "\nfirst example:\n";
                for (field, value) in example.fields() {
                    text += &format!("  {field}: {}\n", shortened(value));
                }
                text += "\nmessages that a system gets:\n";
                for message in system::messages(example, None) {
                    let role = message["role"].as_str().unwrap_or("?");
                    text += &format!("  {role}: {}\n", shortened(&message["content"]));
                }
            }
            Err(failure) => {
                text += &format!("\nno example can be shown: {}\n", failure.what);
                if let Some(hint) = &failure.hint {
                    text += &format!("hint: {hint}\n");
                }
            }
        }
        text
    }

    fn json(&self) -> Value {
        let mut shown = json!({"name": self.name});
        if let Some(config) = self.config {
            let spec = config.spec();
            shown["about"] = spec.about().into();
            shown["category"] = spec.category().into();
            shown["licence"] = spec.licence().into();
            shown["source"] = spec.hub_repo().into();
            shown["config"] = config.name().into();
            shown["configs"] = spec.config_names().collect();
            shown["split"] = config.split().into();
            shown["examples"] = config.examples().into();
            shown["fields"] = json!(config.fields());
            shown["evaluators"] = json!(config.evaluators());
            shown["score_field"] = config.score_field().into();
            shown["spec"] = spec.text().into();
        }
        match &self.example {
            Ok(example) => {
                shown["example"] = Value::Object(example.fields().clone());
                shown["messages"] = system::messages(example, None).into();
            }
            Err(failure) => shown["problem"] = failure.what.as_str().into(),
        }
        shown
    }
}

/// A value on one line, cut where it gets long.
fn shortened(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.replace('\n', "\n    "),
        other => other.to_string(),
    };
    let n_chars = text.chars().count();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!(
            "{}… ({} more characters)",
            &text[..at],
            n_chars - SHOWN_CHARS
        ),
        None => text,
    }
}
