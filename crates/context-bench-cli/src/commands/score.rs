//! `score`: what a task makes of responses to one document, without a run.
//!
//! For whoever wonders why an answer counted as it did, or writes a task: filters,
//! extraction and metrics of the task, as a run would apply them.

use std::path::Path;

use context_bench::Output;
use context_bench::dataset::catalogue::LoadSettings;
use context_bench::registry::{Registry, SystemRef, needs_more};
use context_bench::task::TaskCatalog;
use context_bench::task::tasks::{Dataset, Leaf, Options, OutputType, Response, Task};
use serde_json::{Map, Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::list_args::ScoreArgs;
use crate::{output, surroundings, tasks};

pub(crate) fn main(args: &ScoreArgs, registry: &Registry) -> Result<Exit, Failure> {
    let catalog = tasks::catalog(registry, &args.include_path)?;
    let (tree, warnings) = catalog.select(&[&args.task])?;
    tasks::warn(&warnings);
    let leaves = tree.leaves();
    let [leaf] = leaves[..] else {
        let names: Vec<&str> = leaves.iter().take(5).map(|leaf| leaf.id.as_str()).collect();
        return Err(Failure::bad_input(format!(
            "`{}` is {} tasks, and a document is of one",
            args.task,
            leaves.len()
        ))
        .hint(format!("name one of them: {} …", names.join(", "))));
    };
    if leaf.python {
        return Err(Failure::bad_input(format!(
            "task `{}` is a Python class, which scores whole runs",
            leaf.name
        ))
        .hint("run it with `--limit 1`"));
    }
    let scored = match leaf.is_native() {
        true => native(leaf, &catalog, args, registry)?,
        false => task(leaf, args)?,
    };
    output::stdout(&format!("{:#}\n", Value::Object(scored)))?;
    Ok(Exit::Done)
}

/// A task in YAML: by filter what came out of it, and the scores.
fn task(leaf: &Leaf, args: &ScoreArgs) -> Result<Map<String, Value>, Failure> {
    let task = Task::build(leaf)?;
    tasks::check_python(&task, &args.python)?;
    let wrong = |what: String| Failure::bad_input(format!("task `{}`: {what}", leaf.name));
    if task.output_type != OutputType::GenerateUntil {
        return Err(wrong(format!(
            "it asks for likelihoods (`{}`), which no text has",
            task.output_type.name()
        ))
        .hint("score generated answers, for example with `NAME@generate`"));
    }
    let record = document(&args.doc)?;
    // Examples change nothing about how an answer is scored.
    let options = Options {
        documents: Some(vec![0]),
        ..Options::default()
    };
    let mut bare = task;
    bare.num_fewshot = Some(0);
    let split = bare.evaluated_split()?.to_owned();
    let data = Dataset::from([(split, vec![record])]);
    let host = surroundings::host(&args.python.spec());
    let requests = bare.requests(&data, &options, &*host)?;
    let said = Response::Texts(args.response.clone());
    let scored = bare.score(&requests, &[Some(said)], &*host)?;
    tasks::warn(&scored.warnings);
    if let Some(error) = scored.failed.into_values().next() {
        return Err(Failure::from(error));
    }
    let target = requests
        .requests
        .first()
        .map(|request| request.target.clone());
    let mut filters = Map::new();
    for (filter, documents) in &scored.filters {
        if let Some(one) = documents.first() {
            let shown = json!({"filtered": one.filtered, "scores": one.scores});
            filters.insert(filter.clone(), shown);
        }
    }
    Ok(Map::from_iter([
        ("task".to_owned(), json!(leaf.id)),
        ("target".to_owned(), target.unwrap_or(Value::Null)),
        ("filters".to_owned(), Value::Object(filters)),
    ]))
}

/// A dataset of the catalogue: the scores of its evaluators.
fn native(
    leaf: &Leaf,
    catalog: &TaskCatalog,
    args: &ScoreArgs,
    registry: &Registry,
) -> Result<Map<String, Value>, Failure> {
    let Some(config) = catalog.dataset(leaf)? else {
        return Err(Failure::bad_input(format!(
            "task `{}` has no dataset",
            leaf.name
        )));
    };
    let [response] = &args.response[..] else {
        return Err(
            Failure::bad_input("a dataset scores one response at a time")
                .hint("give `--response` once"),
        );
    };
    let settings = LoadSettings {
        path: Some(args.doc.clone()),
        max_examples: Some(1),
        ..LoadSettings::default()
    };
    let loaded = config.load(&settings).map_err(|error| {
        let is_json = args.doc.extension().is_some_and(|ending| ending == "json");
        match is_json && document(&args.doc).is_ok() {
            true => Failure::bad_input(error.to_string())
                .hint("put the record on one line of a file that ends in `.jsonl`"),
            false => Failure::from(error),
        }
    })?;
    let example = match loaded.into_iter().next() {
        Some(example) => example?,
        None => {
            let shown = args.doc.display();
            return Err(Failure::bad_input(format!("`{shown}` has no record"))
                .hint("a document is a JSON object, as the dataset's source writes it"));
        }
    };
    let said = Output::reply(&example, response.as_str());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::bug(format!("no runtime: {error}")))?;
    let (mut scores, mut left_out) = (Map::new(), Vec::new());
    for name in config.evaluators() {
        let reference: SystemRef = name.parse()?;
        // What a judge or a harness would say is not known here.
        if needs_more(&reference.name) {
            left_out.push(reference.name);
            continue;
        }
        let evaluator = registry.evaluators.get(&reference.name)?(reference.params)?;
        if !evaluator.applies_to(&example) || evaluator.endpoint().is_some() {
            continue;
        }
        let scored = runtime.block_on(evaluator.score(&example, &said));
        let scored = scored.map_err(|error| Failure::bad_input(format!("`{name}`: {error}")))?;
        for (score, value) in scored.iter() {
            scores.insert(score.to_string(), json!(value.get()));
        }
    }
    Ok(Map::from_iter([
        ("task".to_owned(), json!(leaf.id)),
        (
            "target".to_owned(),
            example.get("answer").cloned().unwrap_or(Value::Null),
        ),
        ("score_field".to_owned(), json!(config.score_field())),
        ("scores".to_owned(), Value::Object(scores)),
        // They need a judge, or the report of a harness.
        ("left_out".to_owned(), json!(left_out)),
    ]))
}

/// The record of a file: a JSON object, or the first line of JSON lines.
fn document(path: &Path) -> Result<Map<String, Value>, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::bad_input(format!("cannot read `{shown}`: {error}")))
        .map_err(|failure| {
            failure.hint("`--doc` is a file with one record of the task's dataset")
        })?;
    let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    match values.next() {
        Some(Ok(Value::Object(record))) => Ok(record),
        Some(Ok(_)) | None => Err(
            Failure::bad_input(format!("`{shown}` holds no JSON object"))
                .hint("a document is one record of the task's dataset"),
        ),
        Some(Err(error)) => Err(Failure::bad_input(format!("`{shown}` is no JSON: {error}"))
            .hint("a document is one record of the task's dataset")),
    }
}
