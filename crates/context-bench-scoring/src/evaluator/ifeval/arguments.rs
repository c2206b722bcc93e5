//! Reading the `kwargs` of one instruction.
//!
//! A key that is missing or `null` is not given (the published parquet files
//! carry every key of every instruction, mostly `null`). The official code
//! draws a random value for what is not given; a verdict on that would be
//! noise, so here it is an error and the prompt stays unscored.

use serde_json::{Map, Value};

use super::IfEvalError;
use crate::text::stringify::kind;
use crate::text::words::trim;

/// How a count is compared with its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    LessThan,
    AtLeast,
    AtMost,
    Exactly,
}

/// A bound on a count, such as "less than 3".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bound {
    relation: Relation,
    limit: usize,
}

impl Bound {
    pub(super) fn holds(self, count: usize) -> bool {
        match self.relation {
            Relation::LessThan => count < self.limit,
            Relation::AtLeast => count >= self.limit,
            Relation::AtMost => count <= self.limit,
            Relation::Exactly => count == self.limit,
        }
    }
}

/// The arguments of one instruction.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'a> {
    id: &'a str,
    fields: Option<&'a Map<String, Value>>,
}

impl<'a> Arguments<'a> {
    /// The arguments in entry `index` of `kwargs`; a missing or `null` entry has none.
    pub(super) fn of(
        id: &'a str,
        kwargs: Option<&'a Value>,
        index: usize,
    ) -> Result<Self, IfEvalError> {
        let odd = |found: &Value| IfEvalError::OddArguments {
            id: id.to_owned(),
            found: kind(found),
        };
        let fields = match kwargs {
            None | Some(Value::Null) => None,
            Some(Value::Array(entries)) => match entries.get(index) {
                None | Some(Value::Null) => None,
                Some(Value::Object(fields)) => Some(fields),
                Some(other) => return Err(odd(other)),
            },
            Some(other) => return Err(odd(other)),
        };
        Ok(Self { id, fields })
    }

    fn get(self, key: &'static str) -> Option<&'a Value> {
        self.fields?.get(key).filter(|value| !value.is_null())
    }

    fn required(self, key: &'static str) -> Result<&'a Value, IfEvalError> {
        self.get(key).ok_or_else(|| IfEvalError::MissingArgument {
            id: self.id.to_owned(),
            key,
        })
    }

    fn odd(self, key: &'static str, wanted: &'static str) -> IfEvalError {
        IfEvalError::OddArgument {
            id: self.id.to_owned(),
            key,
            wanted,
        }
    }

    /// Text that is not blank, without white space around it.
    pub(super) fn text(self, key: &'static str) -> Result<&'a str, IfEvalError> {
        match self.required(key)? {
            Value::String(text) if !trim(text).is_empty() => Ok(trim(text)),
            _ => Err(self.odd(key, "text that is not blank")),
        }
    }

    /// A list of texts, none of them empty, at least one.
    pub(super) fn texts(self, key: &'static str) -> Result<Vec<String>, IfEvalError> {
        let wanted = "a list of texts, none of them empty";
        let list = match self.required(key)? {
            Value::Array(list) if !list.is_empty() => list,
            _ => return Err(self.odd(key, wanted)),
        };
        let text = |value: &Value| match value {
            Value::String(text) if !text.is_empty() => Ok(text.clone()),
            _ => Err(self.odd(key, wanted)),
        };
        list.iter().map(text).collect()
    }

    /// As [`Self::texts`], or `None` when the key is not given.
    pub(super) fn optional_texts(
        self,
        key: &'static str,
    ) -> Result<Option<Vec<String>>, IfEvalError> {
        self.get(key).map(|_| self.texts(key)).transpose()
    }

    /// A whole number from 0; `3.0` counts as 3, since some exports write floats.
    pub(super) fn count(self, key: &'static str) -> Result<usize, IfEvalError> {
        let wanted = "a whole number from 0";
        let Value::Number(number) = self.required(key)? else {
            return Err(self.odd(key, wanted));
        };
        let count = match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float >= 0.0 => {
                // Saturates; no response has that many of anything.
                Some(float as usize)
            }
            _ => number.as_u64().and_then(|count| count.try_into().ok()),
        };
        count.ok_or_else(|| self.odd(key, wanted))
    }

    /// A count with its relation: the official `less than` and `at least`, and
    /// `at most` and `exactly`, which the official code refuses.
    pub(super) fn bound(
        self,
        count: &'static str,
        relation: &'static str,
    ) -> Result<Bound, IfEvalError> {
        let found = match self.required(relation)?.as_str() {
            Some("less than") => Relation::LessThan,
            Some("at least") => Relation::AtLeast,
            Some("at most") => Relation::AtMost,
            Some("exactly") => Relation::Exactly,
            _ => {
                return Err(self.odd(relation, "`less than`, `at least`, `at most` or `exactly`"));
            }
        };
        Ok(Bound {
            relation: found,
            limit: self.count(count)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(kwargs: &Value) -> Arguments<'_> {
        Arguments::of("some:id", Some(kwargs), 0).expect("arguments")
    }

    #[test]
    fn null_is_not_given_and_floats_may_be_whole() {
        let kwargs = json!([{"a": null, "b": 3.0, "c": -1, "d": "x", "e": 2.5}]);
        let arguments = arguments(&kwargs);
        assert_eq!(arguments.count("b"), Ok(3));
        for key in ["a", "missing"] {
            let found = arguments.count(key);
            assert!(matches!(found, Err(IfEvalError::MissingArgument { .. })));
        }
        for key in ["c", "d", "e"] {
            let found = arguments.count(key);
            assert!(
                matches!(found, Err(IfEvalError::OddArgument { .. })),
                "{key}"
            );
        }
    }

    #[test]
    fn relations() {
        for (relation, holds) in [
            ("less than", [true, false, false]),
            ("at least", [false, true, true]),
            ("at most", [true, true, false]),
            ("exactly", [false, true, false]),
        ] {
            let kwargs = json!([{"n": 2, "r": relation}]);
            let bound = arguments(&kwargs).bound("n", "r").expect("a bound");
            assert_eq!([1, 2, 3].map(|count| bound.holds(count)), holds);
        }
        let kwargs = json!([{"n": 2, "r": "around"}]);
        let found = arguments(&kwargs).bound("n", "r").expect_err("refused");
        assert_eq!(
            found.to_string(),
            "instruction `some:id`: `r` is not `less than`, `at least`, `at most` or `exactly`"
        );
    }
}
