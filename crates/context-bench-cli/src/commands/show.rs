//! `show NAME`: the description of a dataset, one of its examples, and the messages that a system
//! would get for it.

use std::path::Path;
use std::sync::Arc;

use context_bench::Example;
use context_bench::dataset::catalog::{Config, LoadSettings};
use context_bench::dataset::{DatasetRef, DatasetTarget};
use context_bench::planner;
use context_bench::proxy::{ProxyCatalog, ProxyProfile};
use context_bench::registry::{DatasetRequest, Registry};
use context_bench::system::{self, Layout};
use context_bench::task::TaskIndex;
use context_bench::task::tasks::file::Kind;
use context_bench::task::tasks::index::IndexEntry;
use context_bench::task::tasks::{Node, format};
use serde_json::{Value, json};

use super::{show_run, show_task};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::list_args::{ListFormat, ShowArgs};
use crate::words::{plain, shortened};
use crate::{hub, output, tasks};

/// How many records are read to find one that makes an example.
const MAX_RECORDS: usize = 20;
/// How much of a text is shown, in characters.
const MAX_CHARS: usize = 600;

pub(crate) fn main(args: &ShowArgs, registry: &Registry) -> Result<Exit, Failure> {
    if let Some(id) = &args.id {
        return show_run::main(args, id, registry);
    }
    if show_run::is_run(&args.name) {
        return Err(Failure::bad_input(format!(
            "`{}` is a stored run, and the id of an example is missing",
            args.name
        ))
        .hint("`show RUN ID` shows one example of a run, `runs show RUN` shows the run"));
    }
    if let Some(profile) = proxy(args)? {
        match args.output {
            ListFormat::Table => output::data(&profile.to_yaml())?,
            ListFormat::Json => output::json(&json!(profile))?,
        }
        return Ok(Exit::Done);
    }
    let task_index = tasks::task_index(registry, &args.include_path)?;
    let mut registry = registry.clone();
    registry.catalog = task_index.datasets.clone();
    if is_task(&args.name, &registry) {
        return show_task::main(args, &task_index, &registry);
    }
    let reference = DatasetRef::parse(&args.name)?;
    let configs = match reference.target() {
        DatasetTarget::Named(named) if registry.datasets.get(&named.name).is_err() => {
            registry.configs(named)?
        }
        _ => Vec::new(),
    };
    let config = configs.first();
    let name = config.map_or(args.name.as_str(), |config| config.spec().name());
    let view = DatasetView {
        name: &args.name,
        config,
        members: members(name, &task_index),
    };
    // Loading an example may take a while or fail; the description is available now.
    if args.output == ListFormat::Table {
        output::stdout(&view.description())?;
    }
    let example = first_example(&registry, args, &reference, config);
    match args.output {
        ListFormat::Table => output::data(&example_text(&example))?,
        ListFormat::Json => output::json(&view.json(&example))?,
    }
    Ok(Exit::Done)
}

/// The proxy that a name means, or the path of a profile.
fn proxy(args: &ShowArgs) -> Result<Option<Arc<ProxyProfile>>, Failure> {
    if ProxyProfile::is_file(Path::new(&args.name)) {
        return Ok(Some(Arc::new(ProxyProfile::read(Path::new(&args.name))?)));
    }
    let name = args.name.as_str();
    // Files of the user may be thousands: they are looked through only for a name like one.
    match DatasetRef::parse(name).is_ok() && name.contains(['/', ':', '@', '=']) {
        true => Ok(None),
        false => {
            let catalog = ProxyCatalog::new(&args.include_path)?;
            Ok(catalog.iter().find(|one| one.proxy == name).cloned())
        }
    }
}

/// Whether a name means a task: it is not a dataset, or is spelled as only tasks are.
fn is_task(name: &str, registry: &Registry) -> bool {
    let Ok(reference) = DatasetRef::parse(name) else {
        return false;
    };
    match reference.target() {
        DatasetTarget::Local(_) => name.ends_with(".yaml") || name.ends_with(".yml"),
        DatasetTarget::Named(named) => {
            let split = named.split.as_deref();
            let by_format = split.is_some_and(format::is_known);
            let known = registry.datasets.get(&named.name).is_ok()
                || registry.catalog.get(&named.name).is_ok();
            name.contains("::") || by_format || !known
        }
    }
}

/// The first example, or the reason why there is none.
fn first_example(
    registry: &Registry,
    args: &ShowArgs,
    reference: &DatasetRef,
    config: Option<&Config>,
) -> Result<Example, Failure> {
    let dataset = match (config, reference.target()) {
        (Some(config), DatasetTarget::Named(named)) => {
            let mut settings = LoadSettings::default();
            settings.path = named.path.clone();
            settings.max_examples = Some(MAX_RECORDS);
            settings.seed = args.seed;
            settings.keep_order = args.keep_order;
            settings.hub = Some(hub::access(true)?);
            let dataset = config.load(&settings)?;
            let spec = args.prompt.spec(None, None)?;
            let (prompt, notices) =
                planner::dataset_prompt(&spec, &config.full_name(), config, &settings)?;
            tasks::notice(&notices);
            match prompt {
                Some(prompt) => dataset.with_prompt(&prompt),
                None => dataset,
            }
        }
        _ => {
            let request = DatasetRequest {
                max_examples: Some(MAX_RECORDS),
                ..DatasetRequest::default()
            };
            let opened = registry.open_dataset(&args.name, &request)?;
            match opened.into_iter().next() {
                Some(opened) => opened.dataset,
                None => return Err(Failure::bad_input("the dataset has no examples")),
            }
        }
    };
    match dataset.into_iter().next() {
        Some(example) => Ok(example?),
        None => Err(Failure::bad_input("the dataset has no examples")),
    }
}

/// The members of the task group with the name of a dataset, if there is one.
fn members(name: &str, task_index: &TaskIndex) -> Vec<String> {
    let is_group = |entry: &IndexEntry| entry.kind == Kind::Group;
    if !task_index.tasks.index.entry(name).is_some_and(is_group) {
        return Vec::new();
    }
    let nodes = task_index.tasks.load(name).map(|(nodes, _)| nodes);
    let groups = nodes.unwrap_or_default().into_iter();
    let members = groups.flat_map(|node| match node {
        Node::Group(group) => group.children,
        Node::Task(_) => Vec::new(),
    });
    members.map(|node| node.id().to_owned()).collect()
}

/// What is shown of a dataset, beside an example.
struct DatasetView<'a> {
    name: &'a str,
    config: Option<&'a Config>,
    /// The members of the task group with the same name.
    members: Vec<String>,
}

impl DatasetView<'_> {
    fn description(&self) -> String {
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
            let figures: Vec<&str> = config.summary().map(|(name, _)| name).collect();
            if !figures.is_empty() {
                text += &format!("figures: {}\n", figures.join(", "));
            }
            text += &format!("headline: {}\n", config.headline().unwrap_or("–"));
            if let Some(rule) = config.rule() {
                for (label, what) in rule.entries() {
                    text += &format!("{label}: {what}\n");
                }
            }
        } else {
            text += &format!("{}\n", self.name);
        }
        if !self.members.is_empty() {
            text += &format!("task group: {}\n", self.members.join(", "));
        }
        text
    }

    fn json(&self, example: &Result<Example, Failure>) -> Value {
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
            shown["figures"] = config.summary().map(|(name, _)| name).collect();
            shown["headline"] = config.headline().into();
            shown["rule"] = json!(config.rule());
            shown["spec"] = spec.text().into();
        }
        if !self.members.is_empty() {
            shown["members"] = json!(self.members);
        }
        match example {
            Ok(example) => {
                shown["example"] = Value::Object(example.fields().clone());
                match system::asked(example, None, Layout::default()) {
                    Ok((messages, generation)) => {
                        shown["messages"] = messages.into();
                        if !generation.is_empty() {
                            shown["generation"] = generation.into();
                        }
                    }
                    Err(error) => shown["problem"] = output::printable(&error.to_string()).into(),
                }
            }
            Err(failure) => shown["problem"] = output::printable(&failure.what).into(),
        }
        shown
    }
}

/// An example and its messages, or the reason why there is none.
fn example_text(example: &Result<Example, Failure>) -> String {
    let mut text = String::new();
    match example {
        Ok(example) => {
            text += "\nfirst example:\n";
            for (field, value) in example.fields() {
                text += &format!("  {field}: {}\n", shortened(&plain(value), MAX_CHARS, ""));
            }
            text += "\nmessages to a system:\n";
            match system::asked(example, None, Layout::default()) {
                Ok((messages, generation)) => {
                    for message in messages {
                        let role = message["role"].as_str().unwrap_or("?");
                        text += &format!(
                            "  {role}: {}\n",
                            shortened(&plain(&message["content"]), MAX_CHARS, "")
                        );
                    }
                    for (name, value) in generation {
                        text += &format!("  {name}: {value}\n");
                    }
                }
                Err(error) => text += &format!("  {}\n", output::printable(&error.to_string())),
            }
        }
        Err(failure) => {
            text += &format!(
                "\ncannot show an example: {}\n",
                output::failure_text(failure)
            );
        }
    }
    text
}
