//! FunctionCallMatch: the calls in a reply against those that a record expects,
//! by the rules of BFCL (Berkeley Function-Calling Leaderboard) and xLAM.

mod arithmetic;
mod compare;
mod expected;
mod foreign;
mod parse;
mod python_syntax;
mod schema;
mod value;
mod value_check;

use std::borrow::Cow;

use async_trait::async_trait;
use serde_json::Value as Json;

use self::compare::{Mismatch, Source};
use self::expected::{Expectation, Expected};
use self::foreign::Language;
use self::schema::Function;
use self::value::Call;
use super::{Evaluator, EvaluatorError};
use crate::model::{Example, Identity, Output, Score, ScoreName, Scores};
use crate::text::stringify::python_str;

/// The score, unless it is given another name.
const NAME: &str = "call_accuracy";

/// In which notations calls are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallFormat {
    /// JSON, Python or structured tool calls, in fences or in prose.
    #[default]
    Any,
    /// What BFCL asks prompted models for and nothing else: the whole reply is
    /// a list of calls in Python. Structured tool calls are still accepted.
    Bfcl,
}

/// `call_accuracy`: 1 when the reply makes exactly the expected calls, otherwise
/// 0 with BFCL's error type as the reason.
///
/// An example has its functions in `function` or `tools`, and what is expected
/// in `ground_truth`, `possible_answer`, `answers` or `answer` (the first that
/// is there); each may be JSON or JSON as text. Expected calls are written
/// `[{"f": {"x": [1, 2, ""]}}]` (BFCL: accepted values, `""` for optional) or
/// `[{"name": "f", "arguments": {"x": 1}}]` (xLAM: exact values). An empty list
/// expects no call; so does a record whose category says `irrelevance` and that has
/// neither of the first two; with `relevance` any call will do. The category is
/// `test_category`, `category` or the `id`.
///
/// The reply is `tool_calls` of the output when there are any, otherwise its
/// `response`. Several calls may come in any order. In a category of Java or JavaScript the
/// values are source of that language, which the types of the parameters give a meaning.
#[derive(Debug, Clone)]
pub struct FunctionCallMatch {
    format: CallFormat,
    names: [ScoreName; 1],
}

impl Default for FunctionCallMatch {
    fn default() -> Self {
        Self::new(CallFormat::default())
    }
}

impl FunctionCallMatch {
    /// An evaluator that accepts calls in these notations.
    pub fn new(format: CallFormat) -> Self {
        let names = [NAME.into()];
        Self { format, names }
    }

    /// Under another name, so that a run can have several readings.
    #[must_use]
    pub fn named(mut self, score: impl Into<ScoreName>) -> Self {
        self.names = [score.into()];
        self
    }

    /// Scores a reply: text, or structured tool calls.
    ///
    /// # Errors
    ///
    /// When the record does not say what is expected, or in a way that cannot be read.
    pub fn check(&self, example: &Example, reply: &Json) -> Result<Score, EvaluatorError> {
        let category = category(example);
        let language = Language::of_category(&category);
        let tools = first(example, &["function", "tools"]).unwrap_or(Cow::Owned(Json::Null));
        let functions = Function::all(&tools);
        let wanted = wanted(example, &category, &functions)?;
        let names: Vec<&str> = functions.iter().map(|function| function.name).collect();
        let calls = match language {
            Some(language) => foreign::calls(reply, language, self.format, &names),
            None => parse::calls(reply, self.format, &names),
        };
        let makes_calls = calls.as_ref().is_some_and(|calls| !calls.is_empty());
        let verdict = match wanted {
            Expectation::NoCall if !makes_calls => Ok(()),
            Expectation::NoCall => {
                Err(Mismatch::new("irrelevance_error:decoder_success", "a call"))
            }
            Expectation::AnyCall if makes_calls => Ok(()),
            Expectation::AnyCall => Err(Mismatch::new("relevance_error:decoder_failed", "no call")),
            Expectation::Calls(expected) => match calls {
                None => Err(Mismatch::new("ast_decoder:decoder_failed", "no call found")),
                Some(calls) => {
                    let calls = self.as_read(calls);
                    let source = language.map(|language| (language, self.format));
                    compare_all(&calls, &expected, &functions, &category, source)
                }
            },
        };
        Ok(match verdict {
            Ok(()) => Score::value(1.0),
            Err(Mismatch { kind, about }) => Score::value(0.0).because(format!("{kind}: {about}")),
        })
    }

    /// BFCL's decoder does not see arguments without a name.
    fn as_read(&self, mut calls: Vec<Call>) -> Vec<Call> {
        if self.format == CallFormat::Bfcl {
            for call in &mut calls {
                call.positional.clear();
            }
        }
        calls
    }
}

#[async_trait]
impl Evaluator for FunctionCallMatch {
    fn name(&self) -> &str {
        "function_call_match"
    }

    fn score_names(&self) -> &[ScoreName] {
        &self.names
    }

    fn identity(&self) -> Option<Identity> {
        let mut settings = format!("{:?}", self.format);
        if self.names[0].as_str() != NAME {
            settings.push_str(&format!(" as {}", self.names[0]));
        }
        Some(Identity::new(self.name(), 2, settings))
    }

    fn required_fields(&self) -> &[&[&str]] {
        &[&["function", "tools"]]
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let structured = output.get("tool_calls").filter(|calls| {
            let calls = calls.as_array();
            calls.is_some_and(|list| !list.is_empty())
        });
        let reply = structured.or_else(|| output.get("response"));
        let score = self.check(example, reply.unwrap_or(&Json::Null))?;
        Ok([(self.names[0].clone(), score)].into_iter().collect())
    }
}

/// Each expected call must be made once, and no other; any order.
fn compare_all(
    calls: &[Call],
    expected: &[Expected],
    functions: &[Function<'_>],
    category: &str,
    source: Source,
) -> Result<(), Mismatch> {
    let is_parallel = category.contains("parallel") || expected.len() > 1;
    if calls.len() != expected.len() {
        let kind = if is_parallel {
            "parallel_function_checker_no_order:wrong_count"
        } else if category.contains("multiple") {
            "multiple_function_checker:wrong_count"
        } else {
            "simple_function_checker:wrong_count"
        };
        let about = format!("{} calls instead of {}", calls.len(), expected.len());
        return Err(Mismatch::new(kind, about));
    }
    let mut is_taken = vec![false; calls.len()];
    for (index, wanted) in expected.iter().enumerate() {
        let mut reason = None;
        let free = calls.iter().enumerate().filter(|(at, _)| !is_taken[*at]);
        let found = free.map(|(at, call)| (at, wanted.check(call, functions, source)));
        let found = found
            .filter_map(|(at, verdict)| match verdict {
                Ok(()) => Some(at),
                Err(mismatch) => {
                    reason.get_or_insert(mismatch);
                    None
                }
            })
            .next();
        match (found, reason) {
            (Some(at), _) => is_taken[at] = true,
            (None, Some(mismatch)) if !is_parallel => return Err(mismatch),
            (None, _) => {
                let about = format!("expected call {} (`{}`)", index + 1, wanted.name());
                let kind = "parallel_function_checker_no_order:cannot_find_match";
                return Err(Mismatch::new(kind, about));
            }
        }
    }
    Ok(())
}

/// What the record expects.
fn wanted(
    example: &Example,
    category: &str,
    functions: &[Function<'_>],
) -> Result<Expectation, EvaluatorError> {
    let calls = first(example, &["ground_truth", "possible_answer"]);
    let calls = match calls {
        Some(calls) => Some(calls),
        // Categories that expect no call of their own; `answer` may then hold anything.
        None if category.contains("irrelevance") => return Ok(Expectation::NoCall),
        None if category.contains("relevance") => return Ok(Expectation::AnyCall),
        None => first(example, &["answers", "answer"]),
    };
    let Some(calls) = calls else {
        return Err("the record does not say which calls are expected".into());
    };
    let expected = Expected::all(&calls, functions)?;
    Ok(match expected.is_empty() {
        true => Expectation::NoCall,
        false => Expectation::Calls(expected),
    })
}

fn category(example: &Example) -> String {
    let keys = ["test_category", "category", "id"];
    let value = keys.iter().find_map(|key| example.get(key));
    value
        .map(|value| python_str(value).to_lowercase())
        .unwrap_or_default()
}

/// The first field that is there; text is read as JSON when it is JSON.
fn first<'a>(example: &'a Example, keys: &[&str]) -> Option<Cow<'a, Json>> {
    let mut values = keys.iter().filter_map(|key| example.get(key));
    let value = values.find(|value| !value.is_null())?;
    let parsed = value
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok());
    Some(parsed.map_or(Cow::Borrowed(value), Cow::Owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::score_now;
    use serde_json::json;

    fn example(expected: Json) -> Example {
        let parameters = json!({"properties": {"x": {"type": "integer"}}, "required": ["x"]});
        Example::new()
            .with("function", json!([{"name": "f", "parameters": parameters}]))
            .with("ground_truth", expected)
    }

    fn score(example: &Example, reply: &str) -> (Option<f64>, String) {
        let score = FunctionCallMatch::default()
            .check(example, &json!(reply))
            .expect("a score");
        (score.get(), score.reason().unwrap_or_default().to_owned())
    }

    #[test]
    fn calls_in_any_order() {
        let example = example(json!([{"f": {"x": [1]}}, {"f": {"x": [2, 3]}}]));
        assert_eq!(score(&example, "[f(x=3), f(x=1)]").0, Some(1.0));
        assert_eq!(score(&example, "f(3), f(1)").0, Some(1.0));
        let (value, reason) = score(&example, "[f(x=1), f(x=4)]");
        assert_eq!(value, Some(0.0));
        assert_eq!(
            reason,
            "parallel_function_checker_no_order:cannot_find_match: expected call 2 (`f`)"
        );
        let (_, reason) = score(&example, "f(x=1)");
        assert_eq!(
            reason,
            "parallel_function_checker_no_order:wrong_count: 1 calls instead of 2"
        );
    }

    #[test]
    fn reasons_of_a_single_call() {
        let example = example(json!([{"f": {"x": [1]}}]));
        for (reply, expected) in [
            (
                "I cannot do that.",
                "ast_decoder:decoder_failed: no call found",
            ),
            ("[f(x='1')]", "type_error:simple: `x`"),
            ("[f()]", "simple_function_checker:missing_required: `x`"),
            (
                "[f(x=1, y=2)]",
                "simple_function_checker:unexpected_param: `y`",
            ),
            (
                "[f(1, 2)]",
                "simple_function_checker:unexpected_param: `#2`",
            ),
            (
                "[g(x=1)]",
                "simple_function_checker:wrong_func_name: `g` instead of `f`",
            ),
            (
                "[]",
                "simple_function_checker:wrong_count: 0 calls instead of 1",
            ),
        ] {
            assert_eq!(score(&example, reply), (Some(0.0), expected.into()));
        }
    }

    #[test]
    fn no_call_where_none_fits() {
        let none = example(json!([]));
        assert_eq!(score(&none, "No function fits.").0, Some(1.0));
        assert_eq!(score(&none, "[]").0, Some(1.0));
        assert_eq!(score(&none, "[f(x=1)]").0, Some(0.0));
        let mut unsaid = none;
        unsaid.fields_mut().remove("ground_truth");
        assert!(
            FunctionCallMatch::default()
                .check(&unsaid, &json!("x"))
                .is_err()
        );
        // What `answer` holds in these categories is not a call.
        let unsaid = unsaid.with("id", "irrelevance_0").with("answer", "f");
        assert_eq!(score(&unsaid, "Sorry.").0, Some(1.0));
        assert_eq!(score(&unsaid, "[f(x=1)]").0, Some(0.0));
        let wanted = unsaid.with("id", "live_relevance_0");
        assert_eq!(score(&wanted, "[f(x=7)]").0, Some(1.0));
        assert_eq!(score(&wanted, "Sorry.").0, Some(0.0));
    }

    #[test]
    fn records_of_xlam() {
        let example = Example::new()
            .with(
                "tools",
                r#"[{"name": "f", "parameters": {"x": {"type": "str"}}}]"#,
            )
            .with("answers", r#"[{"name": "f", "arguments": {"x": "A"}}]"#);
        assert_eq!(
            score(&example, r#"[{"name": "f", "arguments": {"x": "A"}}]"#).0,
            Some(1.0)
        );
        assert_eq!(score(&example, "f('A')").0, Some(1.0));
        assert_eq!(score(&example, "f(x='a')").0, Some(0.0));
    }

    #[test]
    fn structured_tool_calls_come_first() {
        let example = example(json!([{"f": {"x": [1]}}]));
        let tool_calls =
            json!([{"type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}}]);
        let output = Output::reply(&example, Json::Null).with("tool_calls", tool_calls);
        let scores =
            score_now(&FunctionCallMatch::default(), &example, &output).expect("never waits");
        assert_eq!(scores.expect("scores").value("call_accuracy"), Some(1.0));
    }

    #[test]
    fn calls_in_other_languages() {
        let tools = json!([{"name": "A.f", "parameters": {"properties": {
            "n": {"type": "long"},
            "names": {"type": "Array", "items": {"type": "String"}},
            "map": {"type": "HashMap"},
            "any": {"type": "any"}
        }, "required": ["n"]}}]);
        let expected = json!([{"A.f": {
            "n": [5], "names": [["a", "b"], ""], "map": [{"k": [1]}, ""], "any": ["x", ""]
        }}]);
        let example = Example::new()
            .with("function", tools)
            .with("ground_truth", expected)
            .with("category", "simple_java");
        for (reply, strict, lenient) in [
            ("[A.f(n=5L)]", 1.0, 1.0),
            ("[A.f(n=5L, any=x)]", 1.0, 1.0),
            ("[A.f(n=5)]", 0.0, 1.0),
            ("[A.f(n=6L)]", 0.0, 0.0),
            ("```java\nA.f(n=5L)\n```", 0.0, 1.0),
            // What BFCL's converter and decoder make of these is not what they say.
            (r#"[A.f(n=5L, names=new String[]{"a", "b"})]"#, 0.0, 1.0),
            (
                r#"[A.f(n=5L, map=new HashMap<String, Integer>() {{ put("k", 1); }})]"#,
                0.0,
                1.0,
            ),
            (r#"{"name": "A.f", "arguments": {"n": "5L"}}"#, 0.0, 1.0),
            (r#"{"name": "A.f", "arguments": {"n": 5}}"#, 0.0, 1.0),
            ("I cannot do that.", 0.0, 0.0),
        ] {
            for (format, value) in [(CallFormat::Bfcl, strict), (CallFormat::Any, lenient)] {
                let score = FunctionCallMatch::new(format).check(&example, &json!(reply));
                assert_eq!(
                    score.expect("a score").get(),
                    Some(value),
                    "{format:?} {reply}"
                );
            }
        }
        let tool_calls = json!([{"function": {"name": "A_f", "arguments": "{\"n\": \"5L\"}"}}]);
        let score = FunctionCallMatch::new(CallFormat::Bfcl).check(&example, &tool_calls);
        assert_eq!(score.expect("a score").get(), Some(1.0));
    }
}
