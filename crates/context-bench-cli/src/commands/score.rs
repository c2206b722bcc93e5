//! `score`: scores responses to one document as a task would, without a run.
//!
//! It shows why an answer got its score, and helps to write a task: filters, extraction and
//! metrics work as in a run.

use std::path::Path;

use context_bench::Output;
use context_bench::dataset::catalog::LoadSettings;
use context_bench::registry::{Registry, SystemRef, needs_more};
use context_bench::task::TaskIndex;
use context_bench::task::tasks::{Dataset, Leaf, Options, OutputType, Response, Task};
use serde_json::{Map, Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::list_args::ScoreArgs;
use crate::{output, surroundings, tasks};

pub(crate) fn main(args: &ScoreArgs, registry: &Registry) -> Result<Exit, Failure> {
    let task_index = tasks::task_index(registry, &args.include_path)?;
    let (tree, warnings) = task_index.select(&[&args.task])?;
    tasks::warn(&warnings);
    let leaves = tree.leaves();
    let [leaf] = leaves[..] else {
        let names: Vec<&str> = leaves.iter().take(5).map(|leaf| leaf.id.as_str()).collect();
        return Err(Failure::bad_input(format!(
            "`{}` means {} tasks, but a document belongs to one",
            args.task,
            leaves.len()
        ))
        .hint(format!("name one of them: {} …", names.join(", "))));
    };
    if leaf.python {
        return Err(Failure::bad_input(format!(
            "task `{}` is a Python class, which can only score whole runs",
            leaf.name
        ))
        .hint("run it with `--limit 1`"));
    }
    let scored = match leaf.is_dataset_task() {
        true => dataset_task(leaf, &task_index, args, registry)?,
        false => yaml_task(leaf, args)?,
    };
    output::stdout(&format!("{:#}\n", Value::Object(scored)))?;
    Ok(Exit::Done)
}

/// A task in YAML: for each filter, the filtered response and its scores.
fn yaml_task(leaf: &Leaf, args: &ScoreArgs) -> Result<Map<String, Value>, Failure> {
    let task = Task::build(leaf)?;
    tasks::check_python(&task, &args.python)?;
    let wrong = |what: String| Failure::bad_input(format!("task `{}`: {what}", leaf.name));
    if task.output_type != OutputType::GenerateUntil {
        return Err(wrong(format!(
            "it scores likelihoods (`{}`), not generated text",
            task.output_type.name()
        ))
        .hint("choose a format that generates text, for example `NAME@generate`"));
    }
    let record = document(&args.doc)?;
    // Worked examples do not change how an answer is scored.
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
    let response = Response::Texts(args.response.clone());
    let scored = bare.score(&requests, &[Some(response)], &*host)?;
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

/// A dataset of the catalog: the scores of its evaluators.
fn dataset_task(
    leaf: &Leaf,
    task_index: &TaskIndex,
    args: &ScoreArgs,
    registry: &Registry,
) -> Result<Map<String, Value>, Failure> {
    let Some(config) = task_index.dataset(leaf)? else {
        return Err(Failure::bad_input(format!(
            "task `{}` has no dataset",
            leaf.name
        )));
    };
    let [response] = &args.response[..] else {
        return Err(
            Failure::bad_input("a dataset scores one response at a time")
                .hint("pass `--response` only once"),
        );
    };
    let mut settings = LoadSettings::default();
    settings.path = Some(args.doc.clone());
    settings.max_examples = Some(1);
    let loaded = config.load(&settings).map_err(|error| {
        let is_json = args.doc.extension().is_some_and(|it| it == "json");
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
                .hint("a document is one record of the dataset, as a JSON object"));
        }
    };
    let output = Output::reply(&example, response.as_str());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::bug(format!("cannot start a runtime: {error}")))?;
    let (mut scores, mut left_out) = (Map::new(), Vec::new());
    for name in config.evaluators() {
        let reference: SystemRef = name.parse()?;
        // Evaluators that need a judge or a harness cannot run here.
        if needs_more(&reference.name) {
            left_out.push(reference.name);
            continue;
        }
        let evaluator = registry.evaluators.get(&reference.name)?(reference.params)?;
        let applies = evaluator.applies_to(&example) && evaluator.applies_to_output(&output);
        if !applies || evaluator.endpoint().is_some() {
            continue;
        }
        let scored = runtime.block_on(evaluator.score(&example, &output));
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
        // Evaluators that need a judge, or the report of a harness.
        ("left_out".to_owned(), json!(left_out)),
    ]))
}

/// The record in a file: a JSON object, or the first of several.
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
        Some(Ok(_)) | None => Err(Failure::bad_input(format!(
            "`{shown}` does not contain a JSON object"
        ))
        .hint("a document is one record of the task's dataset")),
        Some(Err(error)) => Err(Failure::bad_input(format!(
            "`{shown}` is not valid JSON: {error}"
        ))
        .hint("a document is one record of the task's dataset")),
    }
}
