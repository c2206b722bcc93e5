//! Values of arguments, and calls made of them.
//!
//! JSON values are not enough: Python distinguishes tuples from lists, and a name or a
//! call may stand where a value is expected.

use serde_json::Value as Json;

/// A value in a call, as Python sees it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    None,
    Bool(bool),
    /// Larger integers are floats.
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Value>),
    Tuple(Vec<Value>),
    Dict(Vec<(Value, Value)>),
    /// Only while parsing; see [`Value::resolved`].
    Call(Box<Call>),
}

/// The types that BFCL's checker distinguishes; `value_check.rs` has its rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    None,
    Bool,
    Int,
    Float,
    Text,
    List,
    Tuple,
    Dict,
}

/// A function with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    /// Arguments without a name, in order.
    pub(super) positional: Vec<Value>,
    pub(super) named: Vec<(String, Value)>,
    /// The call as written, when it was written as source.
    pub(super) source: String,
}

impl Call {
    pub(super) fn new(name: impl Into<String>, named: Vec<(String, Value)>) -> Self {
        Self {
            name: name.into(),
            positional: Vec::new(),
            named,
            source: String::new(),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let found = self.named.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value)
    }
}

impl Value {
    pub(super) fn kind(&self) -> Type {
        match self {
            Self::None => Type::None,
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Float(_) => Type::Float,
            Self::Text(_) => Type::Text,
            Self::List(_) => Type::List,
            Self::Tuple(_) => Type::Tuple,
            Self::Dict(_) | Self::Call(_) => Type::Dict,
        }
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Calls that stand as arguments: their source when they have no named
    /// arguments, otherwise a map, as BFCL reads them.
    pub(super) fn resolved(self) -> Self {
        match self {
            Self::Call(call) if call.named.is_empty() => Self::Text(call.source),
            Self::Call(call) => {
                let named = call.named.into_iter();
                let arguments = named.map(|(name, value)| (Self::Text(name), value));
                let arguments = Self::Dict(arguments.collect());
                Self::Dict(vec![(Self::Text(call.name), arguments)])
            }
            Self::List(items) => Self::List(items.into_iter().map(Self::resolved).collect()),
            Self::Tuple(items) => Self::Tuple(items.into_iter().map(Self::resolved).collect()),
            other => other,
        }
    }

    /// Python's `==`: numbers by value, `True` is 1, a tuple is not a list.
    pub(super) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::List(a), Self::List(b)) | (Self::Tuple(a), Self::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b))
            }
            (Self::Dict(a), Self::Dict(b)) => {
                let has = |(key, value): &(Self, Self)| {
                    let mut entries = b.iter();
                    entries.any(|(other, found)| key.equals(other) && value.equals(found))
                };
                a.len() == b.len() && a.iter().all(has)
            }
            _ => match (self.integer(), other.integer()) {
                (Some(a), Some(b)) => a == b,
                _ => match (self.number(), other.number()) {
                    (Some(a), Some(b)) => is_same_float(a, b),
                    _ => false,
                },
            },
        }
    }

    fn integer(&self) -> Option<i128> {
        match self {
            Self::Bool(flag) => Some(i128::from(*flag)),
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Float(float) => Some(*float),
            other => other.integer().map(|int| int as f64),
        }
    }

    /// Whether it is the empty text, which marks an optional parameter.
    pub(super) fn is_empty_text(&self) -> bool {
        matches!(self, Self::Text(text) if text.is_empty())
    }
}

/// Equal but for the last digit: the JSON reader rounds some floats by one step,
/// so `6.674e-11` in a record and in Python would differ.
fn is_same_float(a: f64, b: f64) -> bool {
    a == b
        || a.is_finite()
            && b.is_finite()
            && (a - b).abs() <= 2.0 * f64::EPSILON * a.abs().max(b.abs())
}

impl From<&Json> for Value {
    fn from(value: &Json) -> Self {
        match value {
            Json::Null => Self::None,
            Json::Bool(flag) => Self::Bool(*flag),
            Json::Number(number) => {
                let int = number.as_i64().map(i128::from);
                match int.or_else(|| number.as_u64().map(i128::from)) {
                    Some(int) => Self::Int(int),
                    None => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
                }
            }
            Json::String(text) => Self::Text(text.clone()),
            Json::Array(list) => Self::List(list.iter().map(Self::from).collect()),
            Json::Object(map) => {
                let entries = map.iter();
                let entry = |(key, value): (&String, &Json)| (Self::text(key), Self::from(value));
                Self::Dict(entries.map(entry).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equality_is_pythons() {
        let value = |json: Json| Value::from(&json);
        assert!(value(json!(5)).equals(&value(json!(5.0))));
        assert!(value(json!(1)).equals(&value(json!(true))));
        assert!(!value(json!("1")).equals(&value(json!(1))));
        assert!(value(json!({"a": 1, "b": [2]})).equals(&value(json!({"b": [2.0], "a": 1}))));
        assert!(!Value::Tuple(vec![]).equals(&Value::List(vec![])));
        assert!(!Value::Float(f64::NAN).equals(&Value::Float(f64::NAN)));
        let next = f64::from_bits(6.674e-11_f64.to_bits() + 1);
        assert!(Value::Float(next).equals(&Value::Float(6.674e-11)));
        let infinite = Value::Float(f64::INFINITY);
        assert!(!infinite.equals(&Value::Float(f64::MAX)));
        let big = i128::from(i64::MAX);
        assert!(!Value::Int(big).equals(&Value::Int(big - 1)));
    }
}
