//! `ls`: lists everything that can be chosen by name.

use std::collections::BTreeSet;

use context_bench::dataset::catalog::{
    CacheState, Config, DatasetCatalog, HubAccess, Rule, Spec, Standing,
};
use context_bench::planner;
use context_bench::proxy::ProxyCatalog;
use context_bench::registry::Registry;
use serde_json::{Map, Value, json};

use super::ls_tasks;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::list_args::{Kind, ListFormat, LsArgs};
use crate::{env, hub, output, tasks, words};

pub(crate) fn main(args: &LsArgs, registry: &Registry) -> Result<Exit, Failure> {
    if let Some(kind @ (Kind::Tasks | Kind::Groups | Kind::Tags | Kind::Subtasks)) = args.kind {
        return ls_tasks::main(kind, args, registry);
    }
    let proxies = ProxyCatalog::new(&args.include_path)?;
    if args.kind == Some(Kind::Proxies) {
        return show(vec![(Kind::Proxies, proxy_entries(&proxies, true))], args);
    }
    let registry = &tasks::included(registry, &args.include_path)?;
    let kinds = match args.kind {
        Some(kind) => vec![kind],
        None => Kind::ALL.to_vec(),
    };
    let mut listing = Vec::new();
    for kind in kinds {
        let details = args.kind == Some(Kind::Datasets);
        let entries = match kind {
            Kind::Datasets => dataset_entries(registry, details)?,
            Kind::Proxies => proxy_entries(&proxies, false),
            _ => names(kind, registry),
        };
        listing.push((kind, entries));
    }
    show(listing, args)
}

fn show(listing: Vec<(Kind, Vec<Entry>)>, args: &LsArgs) -> Result<Exit, Failure> {
    match args.output {
        ListFormat::Table => {
            let sections: Vec<_> = listing
                .into_iter()
                .map(|(kind, entries)| (kind.name(), entries.into_iter().map(Entry::row).collect()))
                .collect();
            output::stdout(&words::sections(&sections))?;
        }
        ListFormat::Json => output::json(&json_of(listing))?,
    }
    Ok(Exit::Done)
}

/// An entry of a list: its name, the columns of the table, and its details for JSON.
struct Entry {
    name: String,
    columns: Vec<String>,
    details: Map<String, Value>,
}

impl Entry {
    fn new(name: &str, about: &str) -> Self {
        let mut details = Map::new();
        details.insert("name".into(), name.into());
        details.insert("about".into(), about.into());
        Self {
            name: name.to_owned(),
            columns: vec![about.to_owned()],
            details,
        }
    }

    /// The cells of the table.
    fn row(self) -> Vec<String> {
        std::iter::once(self.name).chain(self.columns).collect()
    }
}

fn names(kind: Kind, registry: &Registry) -> Vec<Entry> {
    let entry = |(name, about): (&str, &str)| Entry::new(name, about);
    match kind {
        Kind::Datasets => registry.datasets.describe().map(entry).collect(),
        Kind::Systems => registry.systems.describe().map(entry).collect(),
        Kind::Memories => planner::memory_names().map(entry).collect(),
        Kind::Evaluators => registry.evaluators.describe().map(entry).collect(),
        Kind::Metrics => registry.metrics.describe().map(entry).collect(),
        Kind::Outputs => registry.reporters.describe().map(entry).collect(),
        // `proxy_entries` and `ls_tasks` list these.
        Kind::Proxies | Kind::Tasks | Kind::Groups | Kind::Tags | Kind::Subtasks => Vec::new(),
    }
}

/// Proxies that can be started; with whether they are installed when only they are listed.
fn proxy_entries(proxies: &ProxyCatalog, details: bool) -> Vec<Entry> {
    let entries = proxies.iter().map(|profile| {
        let mut entry = Entry::new(&profile.proxy, &profile.about);
        let installed = profile.installed(&env::get("PATH").unwrap_or_default());
        let state = match &installed {
            Some(Some(version)) => format!("installed, {version}"),
            Some(None) => "installed".to_owned(),
            None => match &profile.install {
                Some(install) => format!("not installed: {install}"),
                None => "not installed".to_owned(),
            },
        };
        if details {
            entry.columns.insert(0, state);
        }
        let told = &mut entry.details;
        told.insert("installed".into(), installed.is_some().into());
        told.insert("version".into(), installed.flatten().into());
        told.insert("install".into(), profile.install.clone().into());
        told.insert("tried".into(), json!(profile.tried));
        entry
    });
    entries.collect()
}

/// Registered datasets, then the catalog; with details when only datasets are listed.
fn dataset_entries(registry: &Registry, details: bool) -> Result<Vec<Entry>, Failure> {
    let mut entries = names(Kind::Datasets, registry);
    if details {
        for entry in &mut entries {
            let usual = ["", "", "bundled", "", "f1"];
            entry.columns = usual.into_iter().map(str::to_owned).collect();
        }
    }
    let access = match details {
        true => Some(hub::access(true)?),
        false => None,
    };
    let catalog: &DatasetCatalog = &registry.catalog;
    for name in catalog.names() {
        let spec = catalog.get(name)?;
        let mut entry = Entry::new(name, spec.about());
        if let Some(access) = &access {
            describe(&mut entry, &spec, access)?;
        }
        entries.push(entry);
    }
    if details {
        let head = [
            "category", "examples", "cached", "licence", "headline", "ours", "verified", "rule",
        ];
        entries.insert(
            0,
            Entry {
                name: "name".into(),
                columns: head.into_iter().map(str::to_owned).collect(),
                details: Map::new(),
            },
        );
    }
    Ok(entries)
}

fn describe(
    entry: &mut Entry,
    spec: &std::sync::Arc<Spec>,
    access: &HubAccess,
) -> Result<(), Failure> {
    let usual = spec.select(None, None)?;
    let all = match spec.config_names().next() {
        Some(_) => spec.select(Some("*"), None)?,
        None => usual.clone(),
    };
    let mut examples = Some(0_u64);
    for config in &all {
        examples = examples.zip(config.examples()).map(|(a, b)| a + b);
    }
    let mut evaluators: Vec<&String> = Vec::new();
    for name in all.iter().flat_map(|config| config.evaluators()) {
        if !evaluators.contains(&name) {
            evaluators.push(name);
        }
    }
    let states: Vec<CacheState> = usual
        .iter()
        .map(|config| config.cached(access.hub()))
        .collect();
    let cached = if states.iter().all(|state| *state == CacheState::Whole) {
        "yes"
    } else if states.iter().any(|state| *state != CacheState::Nothing) {
        "partly"
    } else if spec.is_gated() {
        "no, gated"
    } else {
        "no"
    };
    let first = usual.first();
    let rule = first.and_then(|one| one.rule());
    let verified = rule.map_or("", |rule| match rule.verified {
        Some(_) => "yes",
        None => "no",
    });
    let headline = first.and_then(|one| one.headline()).unwrap_or_default();
    entry.columns = vec![
        spec.category().to_owned(),
        examples.map_or("?".into(), |n| n.to_string()),
        cached.to_owned(),
        spec.licence().to_owned(),
        headline.to_owned(),
        rule_mark(&usual).to_owned(),
        verified.to_owned(),
        rule_text(&all, rule),
    ];
    let details = &mut entry.details;
    details.insert("category".into(), spec.category().into());
    details.insert("examples".into(), examples.into());
    details.insert("licence".into(), spec.licence().into());
    details.insert("gated".into(), spec.is_gated().into());
    details.insert("source".into(), spec.hub_repo().into());
    details.insert("evaluators".into(), json!(evaluators));
    details.insert("headline".into(), headline.into());
    details.insert("rule".into(), json!(rule));
    details.insert("configs".into(), spec.config_names().collect());
    details.insert("default_configs".into(), json!(spec.default_configs()));
    details.insert("cached".into(), cached.into());
    Ok(())
}

/// The rule of a dataset, and how many rules its configs have if they differ.
fn rule_text(configs: &[Config], usual: Option<&Rule>) -> String {
    let names = configs.iter().filter_map(Config::rule);
    let names: BTreeSet<&str> = names.map(|rule| rule.name.as_str()).collect();
    let Some(rule) = usual else {
        return String::new();
    };
    let mut text = format!("{} ({})", rule.name, rule.source);
    if names.len() > 1 {
        text += &format!("; its configs have {} rules", names.len());
    }
    text
}

/// How our main score of a dataset compares with the official one: the first of its default
/// configs that differs decides.
fn rule_mark(configs: &[Config]) -> &'static str {
    let mut rules = configs.iter().map(Config::rule);
    match rules.find(|rule| rule.is_none_or(|rule| rule.ours != Standing::Same)) {
        None => Standing::Same.mark(),
        Some(Some(rule)) => rule.ours.mark(),
        Some(None) => "?",
    }
}

fn json_of(listing: Vec<(Kind, Vec<Entry>)>) -> Value {
    let kinds = listing.into_iter().map(|(kind, entries)| {
        let entries = entries.into_iter().map(|entry| entry.details);
        let entries = entries.filter(|details| !details.is_empty());
        (kind.name().to_owned(), entries.map(Value::Object).collect())
    });
    let kinds: Map<String, Value> = kinds.collect();
    Value::Object(kinds)
}
