//! `Spec`: what a dataset is, as its YAML file says it.
//!
//! Plain data. Reading it from YAML is in `read`, using it in `engine`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use context_bench_error::suggest;
use context_bench_records::Syntax;
use indexmap::IndexMap;

use super::error::DatasetCatalogError;
use super::fields::Layout;
use super::prepare::Prepare;
use super::prompt::{PromptTemplates, Shots};
use super::rule::Rule;
use super::summary::Figure;
use super::template::Template;

/// The kinds of datasets.
pub const CATEGORIES: [&str; 10] = [
    "agent",
    "code",
    "instruction",
    "knowledge",
    "long_context",
    "memory",
    "nli",
    "qa",
    "reasoning",
    "summarization",
];

/// A dataset of the catalog.
#[derive(Debug, Clone)]
pub struct Spec {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) category: String,
    pub(super) licence: String,
    pub(super) gated: bool,
    pub(super) source: Source,
    pub(super) prepare: Option<Prepare>,
    pub(super) default_configs: Vec<String>,
    pub(super) configs: IndexMap<String, Variant>,
    /// What holds for all configs.
    pub(super) base: Variant,
    /// The YAML text, for people.
    pub(super) text: Arc<str>,
    /// The file it was read from; `None` for what comes with the program.
    pub(super) file: Option<PathBuf>,
}

/// What a config may say differently.
#[derive(Debug, Clone, Default)]
pub(super) struct Variant {
    pub(super) examples: Option<u64>,
    pub(super) split: Option<String>,
    /// Whether it holds the records of other configs, so that `*` leaves it out.
    pub(super) joined: bool,
    pub(super) for_each: Option<ForEach>,
    /// Whether a record is of this config; others do not count at all.
    pub(super) belongs_when: Option<Template>,
    pub(super) skip_when: Option<Template>,
    pub(super) choices: Option<Choices>,
    pub(super) fields: IndexMap<String, Template>,
    pub(super) evaluators: Option<Vec<String>>,
    pub(super) score_field: Option<String>,
    /// How the authors ask a model.
    pub(super) prompt: Option<PromptTemplates>,
    pub(super) shots: Option<Shots>,
    /// What is reported beside the mean of each score, by name.
    pub(super) summary: IndexMap<String, Figure>,
    /// The figure that the authors quote; the mean of `score_field` unless said.
    pub(super) headline: Option<String>,
    pub(super) rule: Option<Rule>,
}

/// Where the records come from.
#[derive(Debug, Clone, Default)]
pub(super) struct Source {
    /// The repository on the hub.
    pub(super) hub: Option<String>,
    /// Repositories with the same files, tried when the first is not there.
    pub(super) mirrors: Vec<String>,
    pub(super) revision: Option<String>,
    pub(super) records: Table,
    /// Side tables by name, which `prepare` joins.
    pub(super) tables: BTreeMap<String, Table>,
}

/// One table of a source.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    /// The hub's config, when it is not ours.
    pub(super) config: Option<String>,
    pub(super) split: Option<String>,
    /// Patterns of files, best first; `{config}` and `{split}` are filled in.
    pub(super) files: Vec<String>,
    /// The member of an archive.
    pub(super) member: Option<String>,
    /// How files are written whose names do not decide it.
    pub(super) format: Option<Syntax>,
    /// Whether the files are texts, each of which is one record.
    pub(super) is_text: bool,
    /// Only the first file counts.
    pub(super) first_only: bool,
    pub(super) optional: bool,
}

/// `NAME in EXPRESSION`: one record becomes one example per item.
#[derive(Debug, Clone)]
pub(super) struct ForEach {
    pub(super) name: String,
    pub(super) items: Template,
}

/// Options to choose from.
#[derive(Debug, Clone)]
pub(super) struct Choices {
    pub(super) options: Template,
    /// The place of the right one, from 0; `null` when it is not published.
    pub(super) correct: Template,
    pub(super) shuffle: bool,
}

/// One config of a dataset, with everything decided.
#[derive(Debug, Clone)]
pub struct Config {
    pub(super) spec: Arc<Spec>,
    pub(super) name: Option<String>,
    pub(super) split: Option<String>,
    pub(super) variant: Variant,
}

impl Spec {
    /// The name that users type.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One line about it.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// One of [`CATEGORIES`].
    pub fn category(&self) -> &str {
        &self.category
    }

    /// The licence it is published under.
    pub fn licence(&self) -> &str {
        &self.licence
    }

    /// Whether one must agree to terms to get it.
    pub fn is_gated(&self) -> bool {
        self.gated
    }

    /// The repository on the hub, if it comes from there.
    pub fn hub_repo(&self) -> Option<&str> {
        self.source.hub.as_deref()
    }

    /// Its YAML text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names of its configs; none when there is only one layout.
    pub fn config_names(&self) -> impl Iterator<Item = &str> {
        self.configs.keys().map(String::as_str)
    }

    /// Whether a config holds the records of others, so that `*` leaves it out.
    pub fn is_joined(&self, config: &str) -> bool {
        self.configs
            .get(config)
            .is_some_and(|variant| variant.joined)
    }

    /// The configs that are used when none is named.
    pub fn default_configs(&self) -> &[String] {
        &self.default_configs
    }

    /// The configs that `selection` names: one, a comma list, `*` for all of
    /// them, nothing for the default. `split` replaces the usual one.
    ///
    /// # Errors
    ///
    /// When a config does not exist.
    pub fn select(
        self: &Arc<Self>,
        selection: Option<&str>,
        split: Option<&str>,
    ) -> Result<Vec<Config>, DatasetCatalogError> {
        let mut names: Vec<&str> = Vec::new();
        match selection {
            None => names.extend(self.default_configs.iter().map(String::as_str)),
            Some(selection) => {
                for part in selection.split(',').map(str::trim) {
                    self.add_selected(part, &mut names)?;
                }
            }
        }
        if names.is_empty() {
            return Ok(vec![self.config(None, split)]);
        }
        Ok(names
            .into_iter()
            .map(|name| self.config(Some(name), split))
            .collect())
    }

    fn add_selected<'a>(
        &'a self,
        part: &'a str,
        names: &mut Vec<&'a str>,
    ) -> Result<(), DatasetCatalogError> {
        if part == "*" && !self.configs.is_empty() {
            let own = self.configs.iter().filter(|(_, variant)| !variant.joined);
            names.extend(own.map(|(name, _)| name.as_str()));
            return Ok(());
        }
        if !self.configs.contains_key(part) {
            return Err(DatasetCatalogError::UnknownConfig {
                dataset: self.name.clone(),
                config: part.to_owned(),
                known: self.config_names().map(str::to_owned).collect(),
            });
        }
        if !names.contains(&part) {
            names.push(part);
        }
        Ok(())
    }

    /// One config, with what it says laid over what holds for all.
    fn config(self: &Arc<Self>, name: Option<&str>, split: Option<&str>) -> Config {
        let mut variant = self.base.clone();
        if let Some(own) = name.and_then(|name| self.configs.get(name)) {
            variant.lay(own);
        }
        let usual = variant.split.clone().or(self.source.records.split.clone());
        Config {
            spec: Arc::clone(self),
            name: name.map(str::to_owned),
            split: split.map(str::to_owned).or(usual),
            variant,
        }
    }
}

impl Variant {
    pub(super) fn lay(&mut self, own: &Self) {
        fn replace<T: Clone>(base: &mut Option<T>, own: &Option<T>) {
            if own.is_some() {
                base.clone_from(own);
            }
        }
        // A number of examples is never that of another config.
        self.examples = own.examples;
        replace(&mut self.split, &own.split);
        replace(&mut self.belongs_when, &own.belongs_when);
        replace(&mut self.skip_when, &own.skip_when);
        replace(&mut self.choices, &own.choices);
        replace(&mut self.evaluators, &own.evaluators);
        replace(&mut self.score_field, &own.score_field);
        replace(&mut self.shots, &own.shots);
        replace(&mut self.headline, &own.headline);
        replace(&mut self.rule, &own.rule);
        match (&mut self.prompt, &own.prompt) {
            (Some(base), Some(own)) => base.lay(own),
            (base, own) => replace(base, own),
        }
        for (name, figure) in &own.summary {
            self.summary.insert(name.clone(), figure.clone());
        }
        // Other examples have other fields, not more of them.
        if own.for_each.is_some() {
            self.for_each.clone_from(&own.for_each);
            self.fields.clear();
        }
        for (name, template) in &own.fields {
            self.fields.insert(name.clone(), template.clone());
        }
    }
}

impl Config {
    /// The dataset that it is a config of.
    pub fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    /// Its name, when the dataset has several.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The split that is read.
    pub fn split(&self) -> Option<&str> {
        self.split.as_deref()
    }

    /// `name` or `name:config`.
    pub fn full_name(&self) -> String {
        match &self.name {
            Some(config) => format!("{}:{config}", self.spec.name),
            None => self.spec.name.clone(),
        }
    }

    /// How many examples the usual split has, when the spec says so.
    pub fn examples(&self) -> Option<u64> {
        self.variant.examples
    }

    /// The evaluators that its examples are scored by, as
    /// `name[:key=value,...]`.
    pub fn evaluators(&self) -> &[String] {
        self.variant.evaluators.as_deref().unwrap_or_default()
    }

    /// The score that stands for its quality.
    pub fn score_field(&self) -> Option<&str> {
        self.variant.score_field.as_deref()
    }

    /// What is reported beside the mean of each score, by name.
    pub fn summary(&self) -> impl Iterator<Item = (&str, &Figure)> {
        let summary = self.variant.summary.iter();
        summary.map(|(name, figure)| (name.as_str(), figure))
    }

    /// The figure that the authors quote: a name of [`summary`](Self::summary) or a score.
    pub fn headline(&self) -> Option<&str> {
        self.variant.headline.as_deref().or(self.score_field())
    }

    /// Whether its authors ask models in a way of their own.
    pub fn has_prompt(&self) -> bool {
        self.variant.prompt.is_some()
    }

    /// Whether that shows worked examples of the source.
    pub fn has_shots(&self) -> bool {
        self.variant.shots.is_some()
    }

    /// By which rule it is scored, and where that is from.
    pub fn rule(&self) -> Option<&Rule> {
        self.variant.rule.as_ref()
    }

    /// The fields of its examples, in order.
    pub fn fields(&self) -> Vec<String> {
        Layout::of(&self.variant).names().map(Into::into).collect()
    }
}

/// What to say about a config that does not exist.
pub(super) fn config_hint(dataset: &str, config: &str, known: &[String]) -> String {
    if known.is_empty() {
        return format!("`{dataset}` has no configs; write `{dataset}`");
    }
    let near = suggest::did_you_mean(config, known.iter().map(String::as_str));
    let all = format!("configs: {}", known.join(", "));
    match near {
        Some(near) => format!("{near} {all}"),
        None => all,
    }
}
