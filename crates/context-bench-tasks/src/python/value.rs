//! Python values that JSON cannot say, as objects with the key `$python`.
//!
//! The table is in `docs/reference/tasks-python.md`; `child/values.py` is the other
//! side. A value keeps its tag as long as it may go back to Python; [`plain`] is for
//! those who only want to look at it.

use serde_json::{Map, Value};

/// The key that marks a tagged value.
pub const TAG: &str = "$python";

/// Kind and content of a tagged value, such as `("tuple", [1, 2])`.
pub fn tagged(value: &Value) -> Option<(&str, &Value)> {
    let map = value.as_object()?;
    Some((map.get(TAG)?.as_str()?, map.get("value")?))
}

pub(super) fn tuple(items: Vec<Value>) -> Value {
    let entries = [(TAG, Value::from("tuple")), ("value", Value::Array(items))];
    let entries = entries.map(|(key, value)| (key.to_owned(), value));
    Value::Object(Map::from_iter(entries))
}

/// A number of Python: a JSON number, a boolean, an infinity, NaN, a large integer (to
/// the nearest float). Nothing else is one.
pub fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        _ => match tagged(value)? {
            ("float" | "int", Value::String(text)) => match text.strip_prefix("0x") {
                // Only numbers far beyond the largest float are written like this.
                Some(_) => Some(f64::INFINITY),
                None if text.starts_with("-0x") => Some(f64::NEG_INFINITY),
                None => text.parse().ok(),
            },
            _ => None,
        },
    }
}

/// The items of a list, a tuple or a set.
pub fn items(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(items) => Some(items),
        _ => match tagged(value)? {
            ("tuple" | "set" | "frozenset", Value::Array(items)) => Some(items),
            _ => None,
        },
    }
}

/// The value without tags where JSON has a near form: tuples and sets are lists, dict
/// keys are text as Python's `str` writes them, dates are ISO text, decimals text. NaN,
/// infinities, large integers and bytes stay as they are, for nothing in JSON is near.
pub fn plain(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(mut map) => match (map.get(TAG).and_then(Value::as_str), map.get("value")) {
            (Some("tuple" | "set" | "frozenset"), Some(Value::Array(_))) => {
                map.remove("value").map_or(Value::Null, plain)
            }
            (Some("datetime" | "date" | "time" | "decimal"), Some(Value::String(_))) => {
                map.remove("value").unwrap_or_default()
            }
            (Some("dict"), Some(Value::Array(pairs))) => Value::Object(
                pairs
                    .iter()
                    .filter_map(|pair| match items(pair)? {
                        [key, value] => Some((key_text(key), plain(value.clone()))),
                        _ => None,
                    })
                    .collect(),
            ),
            (Some(_), _) => Value::Object(map),
            (None, _) => {
                let entries = map.into_iter().map(|(key, value)| (key, plain(value)));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        },
        other => other,
    }
}

fn key_text(key: &Value) -> String {
    match (key, tagged(key)) {
        (Value::String(text), _) | (_, Some((_, Value::String(text)))) => text.clone(),
        _ => context_bench_template::python::str(&plain(key.clone())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_values_keep_what_json_can_say() {
        let tuple = |items: Value| json!({ TAG: "tuple", "value": items });
        let cases = [
            (json!([1, "a", null]), json!([1, "a", null])),
            (tuple(json!([1, tuple(json!([]))])), json!([1, []])),
            (json!({ "a": tuple(json!([2])) }), json!({ "a": [2] })),
            (
                json!({ TAG: "dict", "value": [[1, "x"], [true, 2], [tuple(json!([3])), 4], ["k", 5]] }),
                json!({ "1": "x", "True": 2, "[3]": 4, "k": 5 }),
            ),
            (
                json!({ TAG: "date", "value": "2024-02-29" }),
                json!("2024-02-29"),
            ),
            (
                json!({ TAG: "float", "value": "nan" }),
                json!({ TAG: "float", "value": "nan" }),
            ),
        ];
        for (given, expected) in cases {
            assert_eq!(plain(given.clone()), expected, "{given}");
        }
    }

    #[test]
    fn numbers_of_all_kinds() {
        assert_eq!(float(&json!(3)), Some(3.0));
        assert_eq!(float(&json!(true)), Some(1.0));
        assert_eq!(float(&json!("3")), None);
        assert_eq!(
            float(&json!({ TAG: "float", "value": "-inf" })),
            Some(f64::NEG_INFINITY)
        );
        let large = json!({ TAG: "int", "value": "100000000000000000000" });
        assert_eq!(float(&large), Some(1e20));
        assert!(float(&json!({ TAG: "float", "value": "nan" })).is_some_and(f64::is_nan));
    }
}
