//! BFCL's type rules: one argument against the type and the accepted values of its parameter,
//! as `ast_checker` compares them; errors are its error types.

use super::value::{Type, Value};

/// Checks type and value. Without a known type only the value counts.
pub(super) fn check_value(
    value: &Value,
    accepted: &[Value],
    kind: Option<Type>,
    items: Option<Type>,
) -> Result<(), &'static str> {
    let is_variable = match kind {
        Some(kind) => check_type(value, accepted, kind, items)?,
        None => false,
    };
    if !is_variable {
        match (kind.unwrap_or(value.kind()), items, value) {
            (Type::Dict, _, Value::Dict(entries)) => return check_dict(entries, accepted),
            (Type::List, Some(Type::Dict), Value::List(list)) => {
                return check_dicts(list, accepted);
            }
            (Type::Text, _, Value::Text(text)) => {
                let text = standardized(text);
                let is_same = |value: &Value| matches!(value, Value::Text(other) if standardized(other) == text);
                let found = accepted.iter().any(is_same);
                return found.then_some(()).ok_or("value_error:string");
            }
            (Type::List, _, Value::List(_)) => {
                let value = standardized_items(value);
                let found = accepted
                    .iter()
                    .any(|one| value.equals(&standardized_items(one)));
                return found.then_some(()).ok_or("value_error:list/tuple");
            }
            _ => {}
        }
    }
    let found = accepted.iter().any(|one| value.equals(one));
    found.then_some(()).ok_or("value_error:others")
}

/// Whether the type fits, and whether the value stands for a variable: then the
/// accepted answers have another type than the description.
fn check_type(
    value: &Value,
    accepted: &[Value],
    expected: Type,
    items: Option<Type>,
) -> Result<bool, &'static str> {
    let answer = accepted.iter().find(|answer| !answer.is_empty_text());
    let answer = answer.map(Value::kind);
    let is_variable = answer.is_some_and(|answer| answer != expected);
    let mut is_nested = false;
    if value.kind() == expected {
        let Some(item_type) = items else {
            return Ok(is_variable);
        };
        let Value::List(list) = value else {
            return Ok(is_variable);
        };
        let fits = |answer: &Value| match answer {
            Value::List(answers) => {
                let mut list = list.iter();
                list.all(|item| check_type(item, answers, item_type, None).is_ok())
            }
            _ => true,
        };
        if accepted.iter().any(fits) {
            return Ok(is_variable);
        }
        is_nested = true;
    }
    match answer == Some(value.kind()) {
        true if is_nested => Err("type_error:nested"),
        true => Ok(true),
        false => Err("type_error:simple"),
    }
}

fn check_dict(entries: &[(Value, Value)], accepted: &[Value]) -> Result<(), &'static str> {
    let mut result = Err("dict_checker:unclear");
    for answer in accepted.iter().filter(|answer| !answer.is_empty_text()) {
        result = match answer {
            Value::Dict(answer) => check_entries(entries, answer),
            _ => Err("dict_checker:unclear"),
        };
        if result.is_ok() {
            return Ok(());
        }
    }
    result
}

/// The entries of a map against the accepted values of each key.
fn check_entries(
    entries: &[(Value, Value)],
    answer: &[(Value, Value)],
) -> Result<(), &'static str> {
    for (key, value) in entries {
        let values = answer.iter().find(|(known, _)| known.equals(key));
        let (_, values) = values.ok_or("value_error:dict_key")?;
        let value = standardized_text(value);
        let is_same = |one: &Value| standardized_text(one).equals(&value);
        let found = match values {
            Value::List(values) => values.iter().any(is_same),
            one => is_same(one),
        };
        if !found {
            return Err("value_error:dict_value");
        }
    }
    for (key, values) in answer {
        let is_given = entries.iter().any(|(known, _)| known.equals(key));
        let is_optional = match values {
            Value::List(values) => values.iter().any(Value::is_empty_text),
            one => one.is_empty_text(),
        };
        if !is_given && !is_optional {
            return Err("value_error:dict_key");
        }
    }
    Ok(())
}

fn check_dicts(list: &[Value], accepted: &[Value]) -> Result<(), &'static str> {
    let mut result = Err("list_dict_checker:unclear");
    for answer in accepted {
        let answers: &[Value] = match answer {
            Value::List(answers) => answers,
            _ => &[],
        };
        if list.len() != answers.len() {
            result = Err("value_error:list_dict_count");
            continue;
        }
        result = list
            .iter()
            .zip(answers)
            .try_for_each(|(item, answer)| match item {
                Value::Dict(entries) => check_dict(entries, std::slice::from_ref(answer)),
                _ => Err("list_dict_checker:unclear"),
            });
        if result.is_ok() {
            return Ok(());
        }
    }
    result
}

/// A text as BFCL compares it: lower case, one kind of quote, without spaces
/// and `,./-_*^`.
fn standardized(text: &str) -> String {
    let kept = text.chars().filter(|c| !" ,./-_*^".contains(*c));
    kept.collect::<String>().to_lowercase().replace('\'', "\"")
}

fn standardized_text(value: &Value) -> Value {
    match value {
        Value::Text(text) => Value::Text(standardized(text)),
        other => other.clone(),
    }
}

/// A list with its texts standardised; the empty text is an empty list.
fn standardized_items(value: &Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.iter().map(standardized_text).collect()),
        Value::Text(text) if text.is_empty() => Value::List(Vec::new()),
        other => other.clone(),
    }
}
