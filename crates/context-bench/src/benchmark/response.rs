//! What a system said about a document, in the form that tasks score.

use crate::model::generation::trimmed;
use context_bench_tasks::Response;
use context_bench_tasks::request::Ask;
use serde_json::{Map, Value};

use crate::model::Output;
use crate::system::generation;

/// Log-likelihood and greediness of each text that was asked for.
pub const LIKELIHOODS: &str = "likelihoods";
/// Log-likelihoods of the continuations after an empty context.
pub const UNCONDITIONAL_LIKELIHOODS: &str = "unconditional_likelihoods";

/// Reads an output. An answer is cut at its stops here, so that systems which know
/// nothing of stops are scored alike, and what they said is stored whole.
pub(super) fn response(ask: &Ask, output: &Output) -> Result<Response, String> {
    match ask {
        Ask::Generation { settings, .. } => Ok(Response::Texts(vec![answer(settings, output)])),
        Ask::Choices { continuations, .. } => choices(output, continuations.len()),
        Ask::Contexts { contexts, .. } => choices(output, contexts.len()),
        Ask::Continuation { .. } => {
            let (ll, greedy) = one(output)?;
            Ok(Response::Likelihood(ll, greedy))
        }
        Ask::Text(_) => one(output).map(|(ll, _)| Response::Rolling(ll)),
    }
}

/// The text that counts as the answer.
pub(super) fn answer(settings: &Map<String, Value>, output: &Output) -> String {
    let thought = settings.get("think_end_token").and_then(Value::as_str);
    let said = match output.get("response") {
        // A model that says nothing does not say `None`.
        None | Some(Value::Null) => return String::new(),
        Some(_) => output.response(),
    };
    trimmed(&said, &generation::until(settings), thought)
}

fn one(output: &Output) -> Result<(f64, bool), String> {
    match likelihoods(output)?.as_slice() {
        [one] => Ok(*one),
        several => Err(wrong_number(1, several.len())),
    }
}

fn choices(output: &Output, n: usize) -> Result<Response, String> {
    let likelihoods = likelihoods(output)?;
    if likelihoods.len() != n {
        return Err(wrong_number(n, likelihoods.len()));
    }
    let unconditional = match output.get(UNCONDITIONAL_LIKELIHOODS) {
        None | Some(Value::Null) => None,
        Some(given) => {
            let numbers = given.as_array().map(Vec::as_slice).unwrap_or_default();
            let numbers: Option<Vec<f64>> = numbers.iter().map(Value::as_f64).collect();
            match numbers {
                Some(numbers) if numbers.len() == n => Some(numbers),
                _ => {
                    return Err(format!(
                        "`{UNCONDITIONAL_LIKELIHOODS}` must be a list of {n} numbers"
                    ));
                }
            }
        }
    };
    Ok(Response::Choices {
        likelihoods,
        unconditional,
    })
}

fn wrong_number(expected: usize, found: usize) -> String {
    format!("`{LIKELIHOODS}` must have {expected} entries, found {found}")
}

fn likelihoods(output: &Output) -> Result<Vec<(f64, bool)>, String> {
    let Some(given) = output.get(LIKELIHOODS) else {
        return Err(format!(
            "the system gave no `{LIKELIHOODS}`: it answers, but this task asks how likely \
             given answers are"
        ));
    };
    let pair = |item: &Value| match item.as_array().map(Vec::as_slice) {
        Some([ll, greedy]) => Some((ll.as_f64()?, greedy.as_bool()?)),
        _ => None,
    };
    let pairs = given.as_array().map(|list| list.iter().map(pair).collect());
    let pairs: Option<Option<Vec<_>>> = pairs;
    pairs.flatten().ok_or_else(|| {
        format!("`{LIKELIHOODS}` must be a list of [log-likelihood, greedy], found `{given}`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use context_bench_tasks::request::Context;
    use serde_json::json;

    fn output(value: &Value) -> Output {
        Output::from(value.as_object().cloned().expect("a map"))
    }

    #[test]
    fn answers_are_cut_at_their_stops() {
        let settings = json!({"until": ["\n", "Q:"], "think_end_token": "</think>"});
        let settings = settings.as_object().expect("a map");
        for (said, expected) in [
            (json!("<think>\n</think> 42\nQ: next"), "42"),
            (json!("42"), "42"),
            (json!(null), ""),
            (json!(7), "7"),
        ] {
            let output = output(&json!({"response": said}));
            assert_eq!(answer(settings, &output), expected, "{said}");
        }
    }

    #[test]
    fn likelihoods_must_be_complete() {
        let ask = Ask::Choices {
            context: Context::Text(String::new()),
            continuations: vec!["a".into(), "b".into()],
        };
        let given = json!({"likelihoods": [[-1.0, true], [-2, false]]});
        assert_eq!(
            response(&ask, &output(&given)),
            Ok(Response::Choices {
                likelihoods: vec![(-1.0, true), (-2.0, false)],
                unconditional: None
            })
        );
        for (given, expected) in [
            (
                json!({"response": "A"}),
                "asks how likely given answers are",
            ),
            (
                json!({"likelihoods": [[-1.0, true]]}),
                "must have 2 entries, found 1",
            ),
            (json!({"likelihoods": [[-1.0], 2]}), "must be a list of"),
            (
                json!({"likelihoods": [[0, true], [0, true]], "unconditional_likelihoods": [1]}),
                "list of 2 numbers",
            ),
        ] {
            let error = response(&ask, &output(&given)).expect_err("incomplete");
            assert!(error.contains(expected), "{given}: {error}");
        }
    }
}
