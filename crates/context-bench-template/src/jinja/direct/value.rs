//! Values on the way: most of them are parts of the record itself.

use std::borrow::Cow;

use serde_json::Value as Json;

use crate::python;

/// A value, borrowed wherever possible.
#[derive(Debug, Clone)]
pub(super) enum Value<'r> {
    Undefined,
    Json(&'r Json),
    Text(Cow<'r, str>),
    Bool(bool),
    Int(i64),
    List(Vec<Value<'r>>),
}

impl<'r> Value<'r> {
    /// How many there are of something.
    pub(super) fn count(n: usize) -> Option<Self> {
        i64::try_from(n).ok().map(Self::Int)
    }

    pub(super) fn is_defined(&self) -> bool {
        !matches!(self, Self::Undefined)
    }

    /// The text, when it is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json(Json::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn into_text(self) -> Option<Cow<'r, str>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json(Json::String(text)) => Some(Cow::Borrowed(text)),
            _ => None,
        }
    }

    /// The whole number, when it is one.
    pub(super) fn int(&self) -> Option<i64> {
        match self {
            Self::Json(Json::Number(number)) => number.as_i64(),
            Self::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// Whether Python takes it for true; not known of undefined values.
    pub(super) fn truth(&self) -> Option<bool> {
        Some(match self {
            Self::Undefined => return None,
            Self::Bool(truth) => *truth,
            Self::Int(n) => *n != 0,
            Self::Text(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Json(json) => match json {
                Json::Null => false,
                Json::Bool(truth) => *truth,
                Json::Number(number) => number.as_f64()? != 0.0,
                Json::String(text) => !text.is_empty(),
                Json::Array(items) => !items.is_empty(),
                Json::Object(map) => !map.is_empty(),
            },
        })
    }

    /// Writes it as Python's `str` does.
    pub(super) fn write(&self, out: &mut String) -> Option<()> {
        match self {
            Self::Undefined | Self::List(_) => return None,
            Self::Bool(truth) => out.push_str(if *truth { "True" } else { "False" }),
            Self::Int(n) => out.push_str(&n.to_string()),
            Self::Text(text) => out.push_str(text),
            Self::Json(Json::String(text)) => out.push_str(text),
            Self::Json(scalar @ (Json::Null | Json::Bool(_) | Json::Number(_))) => {
                out.push_str(&python::str(scalar));
            }
            // How lists and maps print is for the engine to say.
            Self::Json(Json::Array(_) | Json::Object(_)) => return None,
        }
        Some(())
    }

    pub(super) fn into_json(self) -> Option<Json> {
        Some(match self {
            Self::Undefined => return None,
            Self::Json(json) => json.clone(),
            Self::Text(text) => Json::String(text.into_owned()),
            Self::Bool(truth) => Json::Bool(truth),
            Self::Int(n) => Json::from(n),
            Self::List(items) => {
                let items = items.into_iter().map(Self::into_json);
                Json::Array(items.collect::<Option<_>>()?)
            }
        })
    }
}
