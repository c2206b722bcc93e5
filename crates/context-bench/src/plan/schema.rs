//! The JSON Schema of run files and their reference page, both from the types.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::spec::RunSpec;
use crate::chat::Api;
use crate::system::Layout;
use crate::tap::{CredentialScope, UpstreamEncoding};

/// The JSON Schema of run files, for editors.
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<RunSpec>().to_value();
    if let Value::Object(map) = &mut schema {
        let title = Value::from("Run file of context-bench");
        map.insert("title".into(), title);
    }
    schema
}

// Here and not beside the type: systems know nothing of run files.
impl JsonSchema for Layout {
    fn schema_name() -> Cow<'static, str> {
        "Layout".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = Self::ALL.map(|one| json!({"const": one.as_str()}));
        json_schema!({"anyOf": names})
    }
}

impl JsonSchema for CredentialScope {
    fn schema_name() -> Cow<'static, str> {
        "CredentialScope".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = [Self::Example, Self::Arm].map(|one| json!({"const": one}));
        json_schema!({"anyOf": names})
    }
}

impl JsonSchema for UpstreamEncoding {
    fn schema_name() -> Cow<'static, str> {
        "UpstreamEncoding".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let all = [Self::Identity, Self::Passthrough, Self::Gzip];
        let names = all.map(|one| json!({"const": one}));
        json_schema!({"anyOf": names})
    }
}

impl JsonSchema for Api {
    fn schema_name() -> Cow<'static, str> {
        "Api".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = Self::ALL.map(|one| json!({"const": one.as_str()}));
        json_schema!({"anyOf": names})
    }
}

/// The reference page of run files, in Markdown.
pub fn reference() -> String {
    reference_page(HEAD, &schema())
}

/// The reference page of a file of keys: what stands first, then the keys of its schema and
/// of the sections in it.
pub(crate) fn reference_page(head: &str, schema: &Value) -> String {
    let none = Map::new();
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let definitions = definitions.unwrap_or(&none);
    let mut page = String::from(head);
    page += &format!("{}\n\n", text(schema));
    page += &keys(schema);
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, property) in properties.unwrap_or(&none) {
        let Some((name, many)) = refers_to(property) else {
            continue;
        };
        let Some(definition) = definitions.get(name) else {
            continue;
        };
        let (title, each) = match many {
            true => (format!("{key}[]"), "Each entry: "),
            false => (key.clone(), ""),
        };
        page += &format!("\n## `{title}`\n\n{each}{}\n\n", text(definition));
        page += &keys(definition);
    }
    page
}

const HEAD: &str = "# The run file

<!-- Written by the tests from the types in `crates/context-bench/src/plan/spec.rs`. -->

`context-bench run bench.yaml` runs what a file describes; flags override it.
`context-bench run … --print-config` writes the file of a command line, `--dry-run` shows
what would be done, and `context-bench schema` prints the JSON Schema for editors. The
file is YAML 1.1, as everywhere here, or JSON if its name ends in `.json`. Paths of
datasets, tasks and Python are looked up from the current folder and, if nothing is there,
beside the file. [The guide](../guide/run-files.md) explains run files.

```yaml
version: 1
systems:
  - proxy: http://localhost:8000/v1
    name: direct
  - proxy: http://localhost:7878/v1
    name: compressed
benchmarks:
  - dataset: demo
  - task: mmlu_stem
data: {limit: 50}
limits: {max_workers: 16}
cache_dir: .cache
```

";

/// The description of a type or key, on one line.
fn text(schema: &Value) -> String {
    let description = schema.get("description").and_then(Value::as_str);
    let description = description.unwrap_or_default();
    let paragraphs = description.split("\n\n");
    let joined = paragraphs.map(|part| part.replace('\n', " "));
    joined.collect::<Vec<_>>().join("\n\n")
}

/// A table of the keys of a type.
fn keys(schema: &Value) -> String {
    let mut table = String::from("| key | type | meaning |\n|---|---|---|\n");
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, property) in properties.into_iter().flatten() {
        let meaning = text(property).replace("\n\n", " ").replace('|', "\\|");
        table += &format!("| `{key}` | {} | {meaning} |\n", kind(property));
    }
    table
}

/// What kind of value a key takes.
fn kind(property: &Value) -> String {
    if let Some((_, many)) = refers_to(property) {
        return if many { "list" } else { "mapping" }.into();
    }
    if let Some(options) = property.get("anyOf").and_then(Value::as_array) {
        let kinds = options.iter().map(|option| match option.get("const") {
            Some(constant) => format!("`{}`", constant.as_str().unwrap_or_default()),
            None => kind(option),
        });
        let kinds: Vec<String> = kinds.filter(|kind| kind != "null").collect();
        return kinds.join(" or ");
    }
    let named = |name: &str| {
        match name {
            "array" => "list",
            "object" => "mapping",
            "string" => "text",
            "integer" => "whole number",
            "boolean" => "true or false",
            other => other,
        }
        .to_owned()
    };
    match property.get("type") {
        Some(Value::String(name)) => named(name),
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str);
            let names: Vec<String> = names.filter(|name| *name != "null").map(named).collect();
            names.join(" or ")
        }
        _ => "anything".into(),
    }
}

/// The type that a key refers to, and whether it is a list of them.
fn refers_to(property: &Value) -> Option<(&str, bool)> {
    // A section that may be left out is one of two: its type, or nothing.
    let options = property.get("anyOf").and_then(Value::as_array);
    let section = options.and_then(|all| all.iter().find(|one| one.get("$ref").is_some()));
    let property = section.unwrap_or(property);
    let (schema, many) = match property.get("$ref") {
        Some(_) => (property, false),
        None => (property.get("items")?, true),
    };
    let path = schema.get("$ref")?.as_str()?;
    Some((path.rsplit('/').next()?, many))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_reference_page_is_up_to_date() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/run-file.md");
        if std::env::var_os("CONTEXT_BENCH_UPDATE").is_some() {
            fs::write(&file, reference()).expect("written");
        }
        let written = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            written == reference(),
            "docs/reference/run-file.md is stale: run this test with CONTEXT_BENCH_UPDATE=1"
        );
    }

    #[test]
    fn every_key_is_described_and_none_is_free() {
        let schema = schema();
        let definitions = schema["$defs"].as_object().expect("definitions");
        let types = definitions.iter().map(|(name, one)| (name.as_str(), one));
        for (name, one) in types.chain([("RunSpec", &schema)]) {
            assert_eq!(one["additionalProperties"], Value::Bool(false), "{name}");
            for (key, property) in one["properties"].as_object().expect("keys") {
                assert!(
                    !text(property).is_empty(),
                    "`{name}.{key}` has no description"
                );
                assert_ne!(kind(property), "anything", "`{name}.{key}` takes anything");
            }
        }
    }

    #[test]
    fn the_example_of_the_page_is_a_run_file() {
        let example = HEAD.split("```yaml\n").nth(1).expect("an example");
        let example = example.split("```").next().expect("its end");
        let spec = RunSpec::parse(example.as_bytes(), "page").expect("valid");
        assert_eq!(spec.systems.len(), 2);
    }
}
