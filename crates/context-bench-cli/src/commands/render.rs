//! `render`: prints the requests that a run would post, byte for byte. For tasks without a
//! system, it prints the prompts that any system would get.

use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use context_bench::plan::{RequestSpec, RunSpec};
use context_bench::planner::{
    self, ClassObject, ExampleRequests, PlanError, Requests, Surroundings, check_copies,
    dataset_settings, fields_of_run,
};
use context_bench::registry::Registry;
use context_bench::system::{self, Layout};
use context_bench::task::tasks::python::value::plain;
use context_bench::task::tasks::{Error, Host, Leaf, Options, Task};
use context_bench::task::{TaskData, TaskIndex};
use context_bench_scoring::text::visible::visible;
use serde_json::{Map, Value, json};

use super::run;
use crate::args::RenderArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, spec_args, surroundings, tasks, words};

/// The output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Text for reading.
    Text,
    /// One JSON object per request.
    Jsonl,
}

pub(crate) fn main(args: &RenderArgs, registry: &Registry) -> Result<Exit, Failure> {
    let spec = spec_args::spec(&args.run, args.file.as_deref())?;
    // The output settings of a run file are about results, not requests.
    let format = match args.run.output.first().map(String::as_str) {
        None | Some("text") => Format::Text,
        Some("jsonl") => Format::Jsonl,
        Some(other) => {
            return Err(
                Failure::bad_input(format!("`render` has no output format `{other}`"))
                    .hint("use `--output text` or `--output jsonl`"),
            );
        }
    };
    // When nothing says how tasks would be sent, only their prompts are printed.
    let is_sent = !spec.systems.is_empty()
        || spec.relay.is_some()
        || spec.requests != RequestSpec::default()
        || spec.benchmarks.iter().any(|one| one.dataset.is_some())
        || args.id.is_some();
    match is_sent {
        true => requests(&spec, args, format, registry),
        false => prompts(spec, args, format, registry),
    }
}

/// Prints the requests that would be posted.
fn requests(
    spec: &RunSpec,
    args: &RenderArgs,
    format: Format,
    registry: &Registry,
) -> Result<Exit, Failure> {
    let runtime = run::runtime()?;
    let _inside = runtime.enter();
    let around = surroundings::of(registry, args.run.quiet);
    let requests = planner::requests(spec, args.id.as_deref(), &around);
    let requests = requests.inspect_err(|error| tasks::notice(error.notices()))?;
    tasks::notice(&requests.notices);
    let sink = output::Sink::open(args.run.output_file.first().map(PathBuf::as_path))?;
    let written = match &sink {
        // Printed one by one: there may be many, and the first should appear soon.
        output::Sink::Stdout => {
            let requests = RefCell::new(requests);
            let broken = RefCell::new(None);
            let written = sink.write(|out| {
                write_all(
                    &mut requests.borrow_mut(),
                    format,
                    out,
                    &mut broken.borrow_mut(),
                )
            });
            (written, broken.into_inner())
        }
        _ => {
            let (mut text, mut broken) = (Vec::new(), None);
            let mut requests = requests;
            let made = write_all(&mut requests, format, &mut text, &mut broken);
            if let Some(error) = broken {
                sink.discard();
                return Err(error.into());
            }
            (
                made.and_then(|()| sink.write(|out| out.write_all(&text))),
                None,
            )
        }
    };
    match written {
        (_, Some(error)) => Err(error.into()),
        (Err(error), None) => Err(Failure::bad_input(format!("cannot write: {error}"))),
        (Ok(()), None) => Ok(Exit::Done),
    }
}

fn write_all(
    requests: &mut Requests,
    format: Format,
    out: &mut dyn Write,
    broken: &mut Option<PlanError>,
) -> std::io::Result<()> {
    for example in requests {
        match example {
            Ok(example) => out.write_all(example_text(&example, format).as_bytes())?,
            Err(error) => {
                *broken = Some(error);
                return Ok(());
            }
        }
    }
    Ok(())
}

fn example_text(example: &ExampleRequests, format: Format) -> String {
    let mut text = String::new();
    for (system, postings) in &example.systems {
        let postings = postings.as_deref();
        for posting in postings.unwrap_or_default() {
            match format {
                // The body exactly as it is sent, not parsed and serialized again.
                Format::Jsonl => {
                    text += &format!(
                        "{},\"body\":{}}}\n",
                        open_object(example, system, Some(&posting.url)),
                        posting.body
                    );
                }
                Format::Text => {
                    text += &heading(example, system);
                    text += &format!("POST {}\n", posting.url);
                    let body: Value = serde_json::from_str(&posting.body).unwrap_or_default();
                    text += &format!("{body:#}\n");
                    if example.turns_to_follow > 0 {
                        text += &format!(
                            "(followed by {} more, one for each further turn)\n",
                            example.turns_to_follow
                        );
                    }
                    text += "\n";
                }
            }
        }
        if postings.is_none() {
            match format {
                Format::Jsonl => {
                    text += &format!("{},\"body\":null}}\n", open_object(example, system, None));
                }
                Format::Text => {
                    text += &heading(example, system);
                    text += "(posts nothing, or its requests are known only during the run)\n\n";
                }
            }
        }
    }
    match format {
        Format::Jsonl => text,
        Format::Text => visible(&text).into_owned(),
    }
}

/// A JSON object without its closing brace, so that the body can be added unchanged.
fn open_object(example: &ExampleRequests, system: &str, url: Option<&str>) -> String {
    let id = words::id_json(&example.id);
    let mut members = json!({"dataset": example.dataset, "id": id, "system": system, "url": url});
    if example.repeat > 0 {
        members["repeat"] = json!(example.repeat);
    }
    let mut text = members.to_string();
    text.pop();
    text
}

fn heading(example: &ExampleRequests, system: &str) -> String {
    let repeat = match example.repeat {
        0 => String::new(),
        n => format!(", repeat {n}"),
    };
    format!(
        "=== {} example {}{repeat}, {system}\n",
        example.dataset, example.id
    )
}

/// Prints the prompts that any system would get for the documents of tasks.
fn prompts(
    spec: RunSpec,
    args: &RenderArgs,
    format: Format,
    registry: &Registry,
) -> Result<Exit, Failure> {
    let task_index = tasks::task_index(registry, &spec.data.include_path)?;
    let named = spec.benchmarks.iter().filter_map(|one| one.task.clone());
    let (tree, warnings) = task_index.select(&named.collect::<Vec<_>>())?;
    tasks::warn(&warnings);
    check_copies(&tree, &task_index, &spec.data)?;
    let around = surroundings::of(registry, true);
    let renderer = Renderer {
        options: planner::prompt_options(&spec)?,
        data: planner::task_data(&spec, &around, task_index.datasets.clone())?,
        task_index,
        host: surroundings::host(&spec.python),
        spec,
        around,
    };
    // Every task is checked before the first line is written.
    let leaves = tree.leaves();
    let mut built = Vec::with_capacity(leaves.len());
    for leaf in &leaves {
        built.push(match leaf.is_dataset_task() || leaf.python {
            true => None,
            false => {
                let task = Task::build(leaf)?;
                tasks::check_python(&task, &args.run.task.select.prompt.python)?;
                Some(task)
            }
        });
    }
    let remarks = built
        .iter()
        .flatten()
        .flat_map(|task| task.warnings.clone());
    tasks::warn(&remarks.collect::<Vec<_>>());
    let sink = output::Sink::open(args.run.output_file.first().map(PathBuf::as_path))?;
    let mut documents = Vec::new();
    for ((leaf, task), key) in leaves.iter().zip(&built).zip(tree.keys()) {
        let rendered = match task {
            Some(task) => renderer.task(task)?,
            None if leaf.python => renderer.class(leaf)?,
            None => renderer.dataset(leaf)?,
        };
        for mut document in rendered {
            document.shift_insert(0, "task".into(), key.as_str().into());
            documents.push(document);
        }
    }
    let written = sink.write(|out| {
        for document in &documents {
            match format {
                Format::Jsonl => serde_json::to_writer(&mut *out, document)?,
                Format::Text => out.write_all(visible(&readable(document)).as_bytes())?,
            }
            out.write_all(b"\n")?;
        }
        Ok(())
    });
    written.map_err(|error| Failure::bad_input(format!("cannot write: {error}")))?;
    Ok(Exit::Done)
}

struct Renderer {
    spec: RunSpec,
    around: Surroundings,
    options: Options,
    task_index: TaskIndex,
    data: TaskData,
    host: Arc<dyn Host>,
}

impl Renderer {
    fn task(&self, task: &Task) -> Result<Vec<Map<String, Value>>, Failure> {
        let data = self.data.load(task, &self.options, &*self.host)?;
        let requests = task.requests(&data, &self.options, &*self.host)?;
        tasks::warn(&requests.warnings);
        Ok(requests
            .requests
            .iter()
            .map(|request| flat(request.to_json()))
            .collect())
    }

    /// A Python class builds its own requests, which are printed unchanged.
    fn class(&self, leaf: &Leaf) -> Result<Vec<Map<String, Value>>, Failure> {
        let named = |error: Error| Failure::from(error.prefixed(format!("task `{}`", leaf.name)));
        let made = ClassObject::make(leaf, &self.data, None, &*self.host, &self.options)?;
        let requests = made.object.requests(&made.keywords).map_err(named)?;
        let fields = |request: Value| match plain(request) {
            Value::Object(fields) => Some(fields),
            _ => None,
        };
        Ok(requests.into_iter().filter_map(fields).collect())
    }

    /// A dataset of the catalog has its own prompts.
    fn dataset(&self, leaf: &Leaf) -> Result<Vec<Map<String, Value>>, Failure> {
        let Some(config) = self.task_index.dataset(leaf)? else {
            return Ok(Vec::new());
        };
        let seed = self.spec.seeds.options.unwrap_or(planner::OPTION_SEED);
        let mut settings = dataset_settings(&config, &self.spec.data, self.options.limit)?;
        settings.seed = seed.cast_unsigned();
        settings.hub = Some((self.around.hub)()?);
        let fields = fields_of_run(&self.options);
        let (prompt, notices) =
            planner::dataset_prompt(&self.spec, &config.full_name(), &config, &settings)?;
        tasks::notice(&notices);
        let mut documents = Vec::new();
        for (id, example) in config.load(&settings)?.into_iter().enumerate() {
            let mut example = example?;
            for (field, value) in &fields {
                example
                    .fields_mut()
                    .insert((*field).to_owned(), value.clone());
            }
            let mut document = Map::new();
            document.insert("doc_id".into(), json!(id));
            document.insert("request_type".into(), json!("generate_until"));
            let example = example.with_prompt(prompt.clone());
            let asked = system::asked(&example, None, Layout::default());
            let (messages, generation) = asked.map_err(|error| {
                Failure::bad_input(format!("`{}`: {error}", config.full_name()))
            })?;
            document.insert("messages".into(), messages.into());
            if prompt.is_some() && !generation.is_empty() {
                document.insert("generation_kwargs".into(), generation.into());
            }
            for (field, name) in [("answer", "target"), ("choices", "choices")] {
                if let Some(value) = example.fields().get(field) {
                    document.insert(name.into(), value.clone());
                }
            }
            document.insert("evaluators".into(), json!(config.evaluators()));
            documents.push(document);
        }
        if let Some(limit) = self.options.limit {
            documents.truncate(limit.apply(documents.len()));
        }
        Ok(documents)
    }
}

/// A request with its messages on the level of its other fields.
pub(crate) fn flat(request: Value) -> Map<String, Value> {
    let Value::Object(mut fields) = request else {
        return Map::new();
    };
    if let Some(Value::Object(chat)) = fields.get("context").cloned() {
        fields.shift_remove("context");
        fields.extend(chat);
    }
    fields
}

/// A document as text for reading: the prompt unchanged, then the other fields.
pub(crate) fn readable(document: &Map<String, Value>) -> String {
    let mut text = String::new();
    let of = |name: &str| document.get(name).and_then(Value::as_str);
    let id = document.get("doc_id").map(Value::to_string);
    text += &format!(
        "=== {} document {} ({})\n",
        of("task").unwrap_or_default(),
        id.unwrap_or_default(),
        of("request_type").unwrap_or_default()
    );
    for (name, value) in document {
        match (name.as_str(), value) {
            ("task" | "doc_id" | "request_type" | "add_generation_prompt", _) => {}
            ("context" | "text", Value::String(prompt)) => text += &format!("{prompt}\n---\n"),
            ("messages", Value::Array(messages)) => {
                for message in messages {
                    let part = |key: &str| message[key].as_str().unwrap_or_default();
                    text += &format!("[{}] {}\n", part("role"), part("content"));
                }
                text += "---\n";
            }
            (name, value) => text += &format!("{name}: {value}\n"),
        }
    }
    text
}
