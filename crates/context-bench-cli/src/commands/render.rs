//! `render`: exactly what a system would get for each document of some tasks.

use std::sync::Arc;

use context_bench::dataset::catalogue::LoadSettings;
use context_bench::plan::RunSpec;
use context_bench::planner::{
    self, ClassObject, Surroundings, check_copies, dataset_settings, fields_of_run,
};
use context_bench::registry::Registry;
use context_bench::system;
use context_bench::task::tasks::python::value::plain;
use context_bench::task::tasks::{Error, Host, Leaf, Options, Task};
use context_bench::task::{TaskCatalog, TaskData};
use serde_json::{Map, Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::list_args::{RenderArgs, RenderFormat};
use crate::{output, surroundings, tasks};

pub(crate) fn main(args: &RenderArgs, registry: &Registry) -> Result<Exit, Failure> {
    let catalog = tasks::catalog(registry, &args.include_path)?;
    let (tree, warnings) = catalog.select(&args.task.tasks)?;
    tasks::warn(&warnings);
    let spec = args.task.prompt.spec(args.seed, args.task.limit)?;
    check_copies(&tree, &catalog, &spec.data)?;
    let around = surroundings::of(registry, true);
    let renderer = Renderer {
        options: planner::prompt_options(&spec)?,
        data: planner::task_data(&spec, &around, catalog.datasets.clone())?,
        catalog,
        host: surroundings::host(&spec.python),
        spec,
        around,
    };
    // Everything is checked before the first line is written.
    let leaves = tree.leaves();
    let mut built = Vec::with_capacity(leaves.len());
    for leaf in &leaves {
        built.push(match leaf.is_native() || leaf.python {
            true => None,
            false => {
                let task = Task::build(leaf)?;
                tasks::check_python(&task, &args.task.prompt.python)?;
                Some(task)
            }
        });
    }
    let remarks = built
        .iter()
        .flatten()
        .flat_map(|task| task.warnings.clone());
    tasks::warn(&remarks.collect::<Vec<_>>());
    let sink = output::Sink::open(args.output_file.as_deref())?;
    let mut documents = Vec::new();
    for ((leaf, task), key) in leaves.iter().zip(&built).zip(tree.keys()) {
        let rendered = match task {
            Some(task) => renderer.task(task)?,
            None if leaf.python => renderer.class(leaf)?,
            None => renderer.native(leaf)?,
        };
        for mut document in rendered {
            document.shift_insert(0, "task".into(), key.as_str().into());
            documents.push(document);
        }
    }
    let written = sink.write(|out| {
        for document in &documents {
            match args.output {
                RenderFormat::Jsonl => serde_json::to_writer(&mut *out, document)?,
                RenderFormat::Text => out.write_all(readable(document).as_bytes())?,
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
    catalog: TaskCatalog,
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

    /// A Python object builds its own requests, which are shown as they are.
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

    /// A dataset of the catalogue is asked in its own way.
    fn native(&self, leaf: &Leaf) -> Result<Vec<Map<String, Value>>, Failure> {
        let Some(config) = self.catalog.dataset(leaf)? else {
            return Ok(Vec::new());
        };
        let seed = self.spec.seeds.options.unwrap_or(planner::OPTION_SEED);
        let settings = LoadSettings {
            seed: seed.cast_unsigned(),
            hub: Some((self.around.hub)()?),
            ..dataset_settings(&config, &self.spec.data, self.options.limit)?
        };
        let fields = fields_of_run(&self.options);
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
            document.insert("messages".into(), system::messages(&example, None).into());
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

/// A request with its messages beside the other fields.
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

/// A document for people: the texts as they are, then the rest.
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
