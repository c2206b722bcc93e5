//! What a record expects: accepted values per parameter, exact calls, no call.

use serde_json::{Map, Value as Json};

use super::compare::{self, Accepted, Mismatch, Source};
use super::python_syntax::{Dialect, expression};
use super::schema::Function;
use super::value::{Call, Value};

/// One expected call.
pub(super) enum Expected {
    /// BFCL: a list of accepted values per parameter.
    Possible(String, Accepted),
    /// xLAM and APIGen: these arguments.
    Exact(Call),
}

/// What a reply should contain.
pub(super) enum Expectation {
    Calls(Vec<Expected>),
    /// No function fits (BFCL's irrelevance).
    NoCall,
    /// Some call, whichever (BFCL's relevance).
    AnyCall,
}

impl Expected {
    /// The function that is expected.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Possible(name, _) => name,
            Self::Exact(call) => &call.name,
        }
    }

    /// Compares a call with this one.
    pub(super) fn check(
        &self,
        call: &Call,
        functions: &[Function<'_>],
        source: Source,
    ) -> Result<(), Mismatch> {
        let function = functions
            .iter()
            .find(|function| function.name == self.name());
        let call = compare::with_names(call, function);
        match (self, function) {
            (Self::Exact(expected), _) => {
                compare::exact(&call, &compare::with_names(expected, function))
            }
            (Self::Possible(_, accepted), Some(function)) => {
                compare::possible(&call, function, accepted, source)
            }
            (Self::Possible(name, _), None) => {
                Err(Mismatch::new("unknown_function", format!("`{name}`")))
            }
        }
    }

    /// Reads `[{"f": {"x": [1, 2]}}]`, `[{"name": "f", "arguments": {"x": 1}}]`,
    /// `["f(x=1)"]` or, as BFCL wrote it in 2024, `{"f_1": {...}, "f_2": {...}}`.
    ///
    /// # Errors
    ///
    /// With what is odd about it.
    pub(super) fn all(answers: &Json, functions: &[Function<'_>]) -> Result<Vec<Self>, String> {
        let mut expected = Vec::new();
        let entries = match answers {
            Json::Array(list) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        for entry in entries {
            match entry {
                Json::Object(entry) => Self::read(entry, functions, &mut expected)?,
                Json::String(text) => match expression(text, Dialect::Relaxed) {
                    Some(Value::Call(call)) => expected.push(Self::Exact(*call)),
                    _ => return Err("an expected call is neither a map nor `f(x=1)`".into()),
                },
                _ => return Err("an expected call is neither a map nor text".into()),
            }
        }
        Ok(expected)
    }

    fn read(
        entry: &Map<String, Json>,
        functions: &[Function<'_>],
        expected: &mut Vec<Self>,
    ) -> Result<(), String> {
        let arguments = entry.get("arguments").or_else(|| entry.get("parameters"));
        if let (Some(Json::String(name)), Some(Json::Object(arguments))) =
            (entry.get("name"), arguments)
        {
            let named = arguments.iter();
            let named = named.map(|(name, value)| (name.clone(), Value::from(value)));
            expected.push(Self::Exact(Call::new(name, named.collect())));
            return Ok(());
        }
        for (name, parameters) in entry {
            let Json::Object(parameters) = parameters else {
                return Err(format!("the expected arguments of `{name}` are not a map"));
            };
            let is_known = |name: &str| functions.iter().any(|function| function.name == name);
            let numberless = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let name = match (functions, numberless.strip_suffix('_')) {
                _ if is_known(name) => name,
                (_, Some(bare)) if is_known(bare) => bare,
                // Some published answers misspell the name of the only function.
                ([only], _) => only.name,
                _ => return Err(format!("`{name}` is expected but not among the functions")),
            };
            let accepted = parameters.iter().map(|(parameter, values)| {
                let values = match values {
                    Json::Array(values) => values.iter().map(Value::from).collect(),
                    one => vec![Value::from(one)],
                };
                (parameter.clone(), values)
            });
            expected.push(Self::Possible(name.to_owned(), accepted.collect()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn notations_of_expected_calls() {
        let tools = json!([{"name": "f"}, {"name": "g"}]);
        let functions = Function::all(&tools);
        let read = |answers: Json| {
            let expected = Expected::all(&answers, &functions);
            expected.map(|all| {
                let names = all.iter().map(|one| match one {
                    Expected::Possible(name, _) => format!("{name}?"),
                    Expected::Exact(call) => call.name.clone(),
                });
                names.collect::<Vec<_>>().join(" ")
            })
        };
        assert_eq!(
            read(json!([{"f": {"x": [1]}}, {"g": {}}])).as_deref(),
            Ok("f? g?")
        );
        assert_eq!(read(json!({"f_1": {}, "f_2": {}})).as_deref(), Ok("f? f?"));
        assert_eq!(
            read(json!([{"name": "f", "arguments": {}}])).as_deref(),
            Ok("f")
        );
        assert_eq!(read(json!(["f(x=1)"])).as_deref(), Ok("f"));
        assert_eq!(read(json!([])).as_deref(), Ok(""));
        assert!(read(json!([{"h": {}}])).is_err_and(|error| error.contains("`h`")));
        assert!(read(json!(["{}"])).is_err());
        assert!(read(json!([1])).is_err());
    }
}
