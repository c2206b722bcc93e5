//! The shape of a run file: mappings, lists, and entries that name one thing.
//!
//! Serde alone would take `limits: [4]` for the first key of `limits`, and would not
//! take a section of which everything is commented out.

use serde_json::{Map, Value};

use super::spec::RunSpec;
use super::spec_error::{Places, SpecError, Step};

/// Checks a value against the schema where it has mappings and lists; those that are
/// left empty become empty ones.
pub(super) fn fit(value: &mut Value, schema: &Value, places: &Places<'_>) -> Result<(), SpecError> {
    walk(value, schema, schema, &mut Vec::new(), places)
}

fn walk(
    value: &mut Value,
    kind: &Value,
    schema: &Value,
    path: &mut Vec<Step>,
    places: &Places<'_>,
) -> Result<(), SpecError> {
    let name = kind.get("$ref").and_then(Value::as_str);
    let name = name.and_then(|path| path.strip_prefix("#/$defs/"));
    let kind = match name.and_then(|name| schema.get("$defs")?.get(name)) {
        Some(named) => named,
        None => kind,
    };
    let wrong = |found: &Value, expected: &str, path: &[Step]| {
        let found = match found {
            Value::Array(_) => "a list",
            Value::Object(_) => "a mapping",
            _ => "one value",
        };
        let whole = match path.is_empty() {
            true => format!("a {} is a mapping of keys: ", places.kind.name),
            false => String::new(),
        };
        let what = format!("{whole}expected {expected}, found {found}");
        Err(SpecError::at(path, &what, places))
    };
    match kind.get("type").and_then(Value::as_str) {
        Some("object") => {
            if value.is_null() {
                *value = Value::Object(Map::new());
            }
            let Value::Object(map) = value else {
                return wrong(value, "a mapping", path);
            };
            let properties = kind.get("properties").and_then(Value::as_object);
            for (key, kind) in properties.into_iter().flatten() {
                if let Some(value) = map.get_mut(key) {
                    path.push(Step::Key(key.clone()));
                    walk(value, kind, schema, path, places)?;
                    path.pop();
                }
            }
        }
        Some("array") => {
            if value.is_null() {
                *value = Value::Array(Vec::new());
            }
            let Value::Array(list) = value else {
                return wrong(value, "a list", path);
            };
            for (at, value) in list.iter_mut().enumerate() {
                path.push(Step::Entry(at));
                walk(value, &kind["items"], schema, path, places)?;
                path.pop();
            }
        }
        _ => {}
    }
    Ok(())
}

/// Systems and benchmarks each are one thing.
pub(super) fn name_one_thing(spec: &RunSpec, places: &Places<'_>) -> Result<(), SpecError> {
    for (at, system) in spec.systems.iter().enumerate() {
        let kinds = [
            ("proxy", system.proxy.is_some()),
            ("system", system.system.is_some()),
            ("command", system.command.is_some()),
            ("given", system.given.is_some()),
        ];
        one_of("systems", at, &kinds, places)?;
    }
    for (at, benchmark) in spec.benchmarks.iter().enumerate() {
        let kinds = [
            ("dataset", benchmark.dataset.is_some()),
            ("task", benchmark.task.is_some()),
            ("given", benchmark.given.is_some()),
        ];
        one_of("benchmarks", at, &kinds, places)?;
    }
    Ok(())
}

fn one_of(
    list: &str,
    at: usize,
    kinds: &[(&str, bool)],
    places: &Places<'_>,
) -> Result<(), SpecError> {
    let path = [Step::Key(list.to_owned()), Step::Entry(at)];
    let mut named = kinds.iter().filter(|(_, is_there)| *is_there);
    match (named.next(), named.next()) {
        (Some(_), None) => Ok(()),
        (Some((one, _)), Some((other, _))) => Err(SpecError {
            what: format!("`{list}[{at}]` has both `{one}` and `{other}`"),
            place: places.of_key(&path, other),
            hint: Some("write an entry for each".into()),
        }),
        (None, _) => {
            // What programs bring along cannot be named in a file.
            let names = kinds.iter().map(|(name, _)| *name);
            let names: Vec<&str> = names.filter(|name| *name != "given").collect();
            let names = context_bench_error::suggest::quoted_list(&names, "or");
            let mut error = SpecError::at(&path, &format!("there is no {names}"), places);
            error.hint = Some(format!("each entry has one of {names}"));
            Err(error)
        }
    }
}
