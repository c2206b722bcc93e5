//! Specs from YAML: every key checked, every error with its place.

use std::path::Path;
use std::sync::Arc;

use context_bench_error::suggest;
use context_bench_error::{Hint as _, Place};
use context_bench_records::Syntax;
use context_bench_template::yaml::{self, Node, Yaml};
use indexmap::IndexMap;

use super::error::DatasetCatalogError;
use super::prepare::Prepare;
use super::reader::{Read, Reader};
use super::spec::{CATEGORIES, Choices, ForEach, Source, Spec, Table, Variant};
use super::template::Template;

const OF_SPEC: &[&str] = &[
    "name",
    "about",
    "category",
    "licence",
    "gated",
    "source",
    "prepare",
    "default_config",
    "configs",
    "examples",
    "for",
    "belongs_when",
    "skip_when",
    "choices",
    "fields",
    "evaluators",
    "score_field",
    "prompt",
    "shots",
    "summary",
    "headline",
    "rule",
];
const OF_CONFIG: &[&str] = &[
    "examples",
    "split",
    "joined",
    "for",
    "belongs_when",
    "skip_when",
    "choices",
    "fields",
    "evaluators",
    "score_field",
    "prompt",
    "shots",
    "summary",
    "headline",
    "rule",
];
const OF_TABLE: &[&str] = &[
    "config", "split", "files", "member", "format", "text", "first", "optional",
];
const OF_SOURCE: &[&str] = &[
    "hub", "mirrors", "revision", "tables", "config", "split", "files", "member", "format",
];
const OF_CHOICES: &[&str] = &["options", "correct", "shuffle"];

/// Reads one description; `file` is its name in messages.
pub(super) fn spec(text: &str, file: &Path, is_builtin: bool) -> Read<Spec> {
    let name = file.display().to_string();
    let document =
        yaml::parse(text.as_bytes(), &name).map_err(|error| DatasetCatalogError::BadSpec {
            problem: error.message().to_owned(),
            at: error.place().clone(),
            hint: error.hint(),
        })?;
    let reader = Reader { file };
    if let Some(twice) = document.duplicates.first() {
        return Err(DatasetCatalogError::BadSpec {
            problem: format!("key `{}` is given twice", twice.key),
            at: Place::new(&*name, twice.again),
            hint: Some(format!("it was already given at line {}", twice.first.line)),
        });
    }
    let mut spec = reader.spec(&document.root)?;
    spec.text = text.into();
    spec.file = (!is_builtin).then(|| file.to_owned());
    Ok(spec)
}

impl Reader<'_> {
    fn spec(&self, root: &Node) -> Read<Spec> {
        self.check_keys(root, "a dataset", OF_SPEC)?;
        let name = self.needed(root, "name")?;
        let category = self.needed(root, "category")?;
        if !CATEGORIES.contains(&category.as_str()) {
            let near = suggest::did_you_mean(&category, CATEGORIES);
            let all = format!("one of {}", suggest::quoted_list(&CATEGORIES, "or"));
            let node = root.get("category").map_or(root, |node| node);
            return Err(self
                .wrong(node, format!("unknown category `{category}`"))
                .hinted(near.unwrap_or(all)));
        }
        let mut configs = IndexMap::new();
        if let Some(node) = root.get("configs") {
            for (name, node) in self.entries(node, "configs")? {
                self.check_keys_or_null(node, "a config", OF_CONFIG)?;
                configs.insert(name, self.variant(node)?);
            }
        }
        let default_configs = self.default_configs(root, &configs)?;
        let base = self.variant(root)?;
        if base.fields.is_empty() {
            return Err(self
                .wrong(root, "a dataset needs `fields`")
                .hinted("write `fields:` with at least `context` or `question`"));
        }
        let prepare = match root.get("prepare") {
            None => None,
            Some(node) => {
                let name = self.text_of(node, "prepare")?;
                Some(Prepare::named(&name).ok_or_else(|| {
                    let names: Vec<&str> = Prepare::names().collect();
                    self.wrong(node, format!("no function `{name}` for `prepare`"))
                        .hinted(format!("known: {}", suggest::quoted_list(&names, "and")))
                })?)
            }
        };
        let spec = Spec {
            name,
            about: self.text(root, "about")?.unwrap_or_default(),
            category,
            licence: self
                .text(root, "licence")?
                .unwrap_or_else(|| "unknown".into()),
            gated: self.flag(root, "gated")?,
            source: match root.get("source") {
                Some(node) => self.source(node)?,
                None => Source::default(),
            },
            prepare,
            default_configs,
            configs,
            base,
            text: "".into(),
            file: None,
        };
        self.check_figures(root, &spec)?;
        Ok(spec)
    }

    fn default_configs(
        &self,
        root: &Node,
        configs: &IndexMap<String, Variant>,
    ) -> Read<Vec<String>> {
        let Some(node) = root.get("default_config") else {
            return Ok(configs.keys().next().cloned().into_iter().collect());
        };
        let text = self.text_of(node, "default_config")?;
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        if let Some(unknown) = names.iter().find(|name| !configs.contains_key(*name)) {
            let near = suggest::did_you_mean(unknown, configs.keys().map(String::as_str));
            let hint = near.unwrap_or_else(|| "name one of `configs`".into());
            return Err(self
                .wrong(node, format!("no config `{unknown}`"))
                .hinted(hint));
        }
        Ok(names)
    }

    fn variant(&self, node: &Node) -> Read<Variant> {
        let mut variant = Variant {
            examples: self.count(node, "examples")?,
            split: self.text(node, "split")?,
            joined: self.flag(node, "joined")?,
            score_field: self.text(node, "score_field")?,
            ..Variant::default()
        };
        if let Some(node) = node.get("for") {
            variant.for_each = Some(self.for_each(node)?);
        }
        if let Some(node) = node.get("belongs_when") {
            variant.belongs_when = Some(self.expression(node, "belongs_when")?);
        }
        if let Some(node) = node.get("skip_when") {
            variant.skip_when = Some(self.expression(node, "skip_when")?);
        }
        if let Some(node) = node.get("choices") {
            self.check_keys(node, "choices", OF_CHOICES)?;
            let part = |key: &str| match node.get(key) {
                Some(node) => self.template(node, key),
                None => Err(self.wrong(node, format!("`choices` needs `{key}`"))),
            };
            variant.choices = Some(Choices {
                options: part("options")?,
                correct: part("correct")?,
                shuffle: self.flag(node, "shuffle")?,
            });
        }
        if let Some(node) = node.get("fields") {
            for (name, node) in self.entries(node, "fields")? {
                let template = self.template(node, &name)?;
                variant.fields.insert(name, template);
            }
        }
        if let Some(node) = node.get("evaluators") {
            variant.evaluators = Some(self.texts(node, "evaluators")?);
        }
        self.official(node, &mut variant)?;
        Ok(variant)
    }

    /// `NAME in EXPRESSION`.
    fn for_each(&self, node: &Node) -> Read<ForEach> {
        let text = self.text_of(node, "for")?;
        let parts = text.split_once(" in ");
        let parts = parts.map(|(name, items)| (name.trim(), items.trim()));
        let Some((name, items)) = parts.filter(|(name, _)| is_name(name)) else {
            return Err(self
                .wrong(node, format!("`for` cannot be `{text}`"))
                .hinted("write `for: item in EXPRESSION`"));
        };
        Ok(ForEach {
            name: name.to_owned(),
            items: self.compiled(Template::expression("for", items), node)?,
        })
    }

    fn source(&self, node: &Node) -> Read<Source> {
        self.check_keys(node, "a source", OF_SOURCE)?;
        let mut source = Source {
            hub: self.text(node, "hub")?,
            revision: self.text(node, "revision")?,
            records: self.table(node)?,
            ..Source::default()
        };
        if let Some(node) = node.get("mirrors") {
            source.mirrors = self.texts(node, "mirrors")?;
        }
        if let Some(node) = node.get("tables") {
            for (name, node) in self.entries(node, "tables")? {
                self.check_keys(node, "a table", OF_TABLE)?;
                source.tables.insert(name, self.table(node)?);
            }
        }
        Ok(source)
    }

    fn table(&self, node: &Node) -> Read<Table> {
        Ok(Table {
            config: self.text(node, "config")?,
            split: self.text(node, "split")?,
            files: match node.get("files") {
                Some(files) => self.texts(files, "files")?,
                None => Vec::new(),
            },
            member: self.text(node, "member")?,
            format: match node.get("format") {
                Some(node) => Some(self.format(node)?),
                None => None,
            },
            is_text: self.flag(node, "text")?,
            first_only: self.flag(node, "first")?,
            optional: self.flag(node, "optional")?,
        })
    }

    fn format(&self, node: &Node) -> Read<Syntax> {
        let name = self.text_of(node, "format")?;
        match name.as_str() {
            "json" => Ok(Syntax::Json),
            "jsonl" => Ok(Syntax::JsonLines),
            "csv" => Ok(Syntax::Table { delimiter: b',' }),
            "tsv" => Ok(Syntax::Table { delimiter: b'\t' }),
            "parquet" => Ok(Syntax::Parquet),
            _ => Err(self
                .wrong(node, format!("unknown format `{name}`"))
                .hinted("use `json`, `jsonl`, `csv`, `tsv` or `parquet`")),
        }
    }

    pub(super) fn template(&self, node: &Node, key: &str) -> Read<Template> {
        let template = match &node.value {
            Yaml::Text(text) if node.tag.is_none() => Template::of(key, text),
            Yaml::Bool(truth) => Ok(Template::constant(key, (*truth).into())),
            Yaml::Int(int) => Ok(Template::constant(key, (*int).into())),
            Yaml::Float(float) => Ok(Template::constant(key, (*float).into())),
            Yaml::Null => Ok(Template::constant(key, serde_json::Value::Null)),
            other => {
                let hint = "write an expression, or text with `{{ }}`; in quotes when it \
                            begins with a bracket";
                return Err(self
                    .wrong(
                        node,
                        format!("`{key}` must be a template, found {}", other.kind()),
                    )
                    .hinted(hint));
            }
        };
        self.compiled(template, node)
    }

    fn expression(&self, node: &Node, key: &str) -> Read<Template> {
        let text = self.text_of(node, key)?;
        self.compiled(Template::expression(key, &text), node)
    }

    fn compiled(&self, template: Result<Template, String>, node: &Node) -> Read<Template> {
        template.map_err(|problem| self.wrong(node, problem))
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Reads a description that is shared from then on.
pub(super) fn shared(text: &str, file: &Path, is_builtin: bool) -> Read<Arc<Spec>> {
    spec(text, file, is_builtin).map(Arc::new)
}
