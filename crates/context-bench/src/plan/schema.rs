//! The JSON Schema of run files and their reference page, both from the types.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::spec::RunSpec;

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

/// The reference page of run files, in Markdown.
pub fn reference() -> String {
    let schema = schema();
    let none = Map::new();
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let definitions = definitions.unwrap_or(&none);
    let mut page = String::from(HEAD);
    page += &format!("{}\n\n", text(&schema));
    page += &keys("", &schema);
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
        page += &keys(key, definition);
    }
    page
}

const HEAD: &str = "# The run file

<!-- Written by the tests from the types in `crates/context-bench/src/plan/spec.rs`. -->

`context-bench run bench.yaml` runs what a file describes; flags are put on top of it.
`context-bench run … --print-config` writes the file of a command line, `--dry-run` shows
what would be done, and `context-bench schema` prints the JSON Schema for editors. The
file is YAML 1.1 as everywhere here, or JSON.

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
fn keys(_of: &str, schema: &Value) -> String {
    let mut table = String::from("| key | type | meaning |\n|---|---|---|\n");
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, property) in properties.into_iter().flatten() {
        let meaning = text(property).replace("\n\n", " ").replace('|', "\\|");
        table += &format!("| `{key}` | {} | {meaning} |\n", kind(property));
    }
    table
}

/// What sort of value a key takes.
fn kind(property: &Value) -> String {
    if let Some((name, many)) = refers_to(property) {
        let _ = name;
        return match many {
            true => "list".into(),
            false => "mapping".into(),
        };
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
    let reference =
        |schema: &Value| -> Option<String> { Some(schema.get("$ref")?.as_str()?.to_owned()) };
    let found = reference(property).is_some();
    let (schema, many) = match found {
        true => (property, false),
        false => (property.get("items")?, true),
    };
    let path = schema.get("$ref")?.as_str()?;
    Some((path.rsplit('/').next()?, many))
}
