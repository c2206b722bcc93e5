//! One call against one expected call, as BFCL's `ast_checker` compares them.
//!
//! [`possible`] is the rule of BFCL's `ast_checker` for Python: each parameter
//! has a list of accepted values, an empty text among them marks it as
//! optional, and the types of the function's description count. [`exact`] is
//! for records that give one value per argument.

use super::CallFormat;
use super::foreign::Language;
use super::parse::is_same_name;
use super::schema::Function;
use super::value::{Call, Type, Value};
use super::value_check::check_value;

/// Why a call is wrong: BFCL's error type and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) kind: &'static str,
    pub(super) about: String,
}

impl Mismatch {
    pub(super) fn new(kind: &'static str, about: impl Into<String>) -> Self {
        let about = about.into();
        Self { kind, about }
    }
}

/// The accepted values per parameter.
pub(super) type Accepted = Vec<(String, Vec<Value>)>;

/// Gives names to arguments without one, in the order of the description.
pub(super) fn with_names(call: &Call, function: Option<&Function<'_>>) -> Call {
    let mut call = call.clone();
    let names: Vec<&str> = function
        .map(|function| function.names().collect())
        .unwrap_or_default();
    let positional = std::mem::take(&mut call.positional);
    let mut free = names.into_iter();
    for (index, value) in positional.into_iter().enumerate() {
        // One without a parameter gets a name that no parameter has.
        let name = free
            .next()
            .map_or_else(|| format!("#{}", index + 1), str::to_owned);
        call.named.insert(index, (name, value));
    }
    call
}

/// How values are written: in Python, or as source of another language.
pub(super) type Source = Option<(Language, CallFormat)>;

/// Checks a call by BFCL's rule.
pub(super) fn possible(
    call: &Call,
    function: &Function<'_>,
    accepted: &Accepted,
    source: Source,
) -> Result<(), Mismatch> {
    if !is_same_name(function.name, &call.name) {
        let about = format!("`{}` instead of `{}`", call.name, function.name);
        return Err(Mismatch::new(
            "simple_function_checker:wrong_func_name",
            about,
        ));
    }
    for &name in function.required() {
        if call.get(name).is_none() {
            let kind = "simple_function_checker:missing_required";
            return Err(Mismatch::new(kind, format!("`{name}`")));
        }
    }
    for (name, value) in &call.named {
        let values = accepted.iter().find(|(known, _)| known == name);
        let (Some(parameter), Some((_, values))) = (function.parameter(name), values) else {
            let kind = "simple_function_checker:unexpected_param";
            return Err(Mismatch::new(kind, format!("`{name}`")));
        };
        let mut value = match source {
            Some((language, format)) => language
                .read(value, &parameter, format)
                .map_err(|kind| Mismatch::new(kind, format!("`{name}`")))?,
            None => value.clone(),
        };
        if let Value::Tuple(items) = value {
            value = if parameter.is_tuple {
                Value::List(items)
            } else {
                Value::Tuple(items)
            };
        }
        if let (Some(Type::Float), Value::Int(int)) = (parameter.kind, &value) {
            value = Value::Float(*int as f64);
        }
        check_value(&value, values, parameter.kind, parameter.items)
            .map_err(|kind| Mismatch::new(kind, format!("`{name}`")))?;
    }
    for (name, values) in accepted {
        if call.get(name).is_none() && !values.iter().any(Value::is_empty_text) {
            let kind = "simple_function_checker:missing_optional";
            return Err(Mismatch::new(kind, format!("`{name}`")));
        }
    }
    Ok(())
}

/// Checks a call against exact arguments, whatever their order.
pub(super) fn exact(call: &Call, expected: &Call) -> Result<(), Mismatch> {
    if !is_same_name(&expected.name, &call.name) {
        let about = format!("`{}` instead of `{}`", call.name, expected.name);
        return Err(Mismatch::new(
            "simple_function_checker:wrong_func_name",
            about,
        ));
    }
    for (name, value) in &expected.named {
        let kind = match call.get(name) {
            None => "simple_function_checker:missing_required",
            Some(found) if is_exactly(found, value) => continue,
            Some(_) => "value_error:others",
        };
        return Err(Mismatch::new(kind, format!("`{name}`")));
    }
    match call
        .named
        .iter()
        .find(|(name, _)| expected.get(name).is_none())
    {
        Some((name, _)) => {
            let kind = "simple_function_checker:unexpected_param";
            Err(Mismatch::new(kind, format!("`{name}`")))
        }
        None => Ok(()),
    }
}

/// Equal, and a truth value is not a number; tuples are lists, since records are JSON.
fn is_exactly(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::List(a) | Value::Tuple(a), Value::List(b) | Value::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_exactly(a, b))
        }
        (Value::Dict(a), Value::Dict(b)) => {
            let has = |(key, value): &(Value, Value)| {
                let mut entries = b.iter();
                entries.any(|(other, found)| is_exactly(key, other) && is_exactly(value, found))
            };
            a.len() == b.len() && a.iter().all(has)
        }
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Bool(_), _) | (_, Value::Bool(_)) => false,
        (a, b) => a.equals(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    /// BFCL's verdict on one argument `x` of type `kind`.
    fn check(kind: &Json, accepted: &Json, value: &Value) -> Result<(), &'static str> {
        let tools = json!({"name": "f", "parameters": {"properties": {"x": kind}, "required": []}});
        let functions = Function::all(&tools);
        let Json::Array(accepted) = accepted else {
            panic!("a list");
        };
        let accepted = accepted.iter().map(Value::from).collect();
        let call = Call::new("f", vec![("x".into(), value.clone())]);
        possible(&call, &functions[0], &vec![("x".into(), accepted)], None)
            .map_err(|mismatch| mismatch.kind)
    }

    fn check_json(kind: &str, accepted: &str, value: &str) -> Result<(), &'static str> {
        let json = |text| serde_json::from_str::<Json>(text).expect("JSON");
        check(
            &json!({"type": kind}),
            &json(accepted),
            &Value::from(&json(value)),
        )
    }

    #[test]
    fn types_and_values() {
        assert_eq!(check_json("float", "[5.0]", "5"), Ok(()));
        assert_eq!(
            check_json("integer", "[5]", "5.0"),
            Err("type_error:simple")
        );
        assert_eq!(check_json("integer", "[5]", "6"), Err("value_error:others"));
        assert_eq!(
            check_json("boolean", "[true]", "1"),
            Err("type_error:simple")
        );
        assert_eq!(
            check_json("string", r#"["New York, NY"]"#, r#""new york ny""#),
            Ok(())
        );
        assert_eq!(
            check_json("string", r#"["a"]"#, r#""b""#),
            Err("value_error:string")
        );
        // A variable: the accepted answer has the type of a name.
        assert_eq!(
            check_json("integer", r#"["my_var"]"#, r#""my_var""#),
            Ok(())
        );
    }

    #[test]
    fn lists_and_tuples() {
        let floats = json!({"type": "array", "items": {"type": "float"}});
        let ints = Value::from(&json!([1, 2]));
        assert_eq!(
            check(&floats, &json!([[1.0, 2.0]]), &ints),
            Err("type_error:nested")
        );
        let texts = json!({"type": "array", "items": {"type": "string"}});
        let value = Value::from(&json!(["A-b"]));
        assert_eq!(check(&texts, &json!([["ab"], ""]), &value), Ok(()));
        assert_eq!(
            check(&texts, &json!([["b"]]), &value),
            Err("value_error:list/tuple")
        );
        let pair = Value::Tuple(vec![Value::Int(1)]);
        let tuple = json!({"type": "tuple", "items": {"type": "integer"}});
        assert_eq!(check(&tuple, &json!([[1]]), &pair), Ok(()));
        let array = json!({"type": "array", "items": {"type": "integer"}});
        assert_eq!(
            check(&array, &json!([[1]]), &pair),
            Err("type_error:simple")
        );
    }

    #[test]
    fn maps_and_lists_of_maps() {
        let accepted = r#"[{"a": ["X", "y"], "b": ["", 1]}]"#;
        let check_dict = |value| check_json("dict", accepted, value);
        assert_eq!(check_dict(r#"{"a": "x"}"#), Ok(()));
        assert_eq!(check_dict(r#"{"a": "z"}"#), Err("value_error:dict_value"));
        assert_eq!(check_dict(r#"{"b": 1}"#), Err("value_error:dict_key"));
        assert_eq!(
            check_dict(r#"{"a": "x", "c": 1}"#),
            Err("value_error:dict_key")
        );
        let kind = json!({"type": "array", "items": {"type": "dict"}});
        let accepted = json!([[{"a": [1]}, {"a": [2]}]]);
        let check = |value: Json| check(&kind, &accepted, &Value::from(&value));
        assert_eq!(check(json!([{"a": 1}, {"a": 2}])), Ok(()));
        assert_eq!(check(json!([{"a": 1}])), Err("value_error:list_dict_count"));
        assert_eq!(
            check(json!([{"a": 2}, {"a": 1}])),
            Err("value_error:dict_value")
        );
    }

    #[test]
    fn exact_arguments() {
        let call = |json: Json| {
            let Value::Dict(entries) = Value::from(&json) else {
                panic!("a map");
            };
            let name = |value: Value| match value {
                Value::Text(text) => text,
                other => panic!("{other:?}"),
            };
            Call::new(
                "f",
                entries
                    .into_iter()
                    .map(|(key, value)| (name(key), value))
                    .collect(),
            )
        };
        let expected = call(json!({"a": 1, "b": [true]}));
        assert_eq!(
            exact(&call(json!({"b": [true], "a": 1.0})), &expected),
            Ok(())
        );
        for wrong in [
            json!({"a": 1}),
            json!({"a": 1, "b": [1]}),
            json!({"a": 1, "b": [true], "c": 0}),
        ] {
            assert!(exact(&call(wrong), &expected).is_err());
        }
    }
}
