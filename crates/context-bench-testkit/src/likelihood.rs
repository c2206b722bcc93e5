//! A script that echoes prompts with log-probabilities, as completion endpoints of
//! base models do.
//!
//! Tokens are words with the white space before them. What is likely is for the test
//! to say, token by token; the shape of the reply is what is tested with.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::reply::Reply;
use crate::request::Request;

/// What a test says about a token after a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenScore {
    /// Its log-probability.
    pub logprob: f64,
    /// That of the most likely token, which may be the token itself.
    pub best: f64,
}

/// How prompts are echoed.
#[derive(Clone, Debug)]
pub struct EchoStyle {
    /// A mark that stands before every text.
    pub mark: Option<String>,
    /// Whether the reply says where each token begins.
    pub offsets: bool,
    /// Whether there is `POST /tokenize`.
    pub tokenizer: bool,
}

impl Default for EchoStyle {
    /// With a mark and offsets, without a tokenizer.
    fn default() -> Self {
        Self {
            mark: Some("<s>".to_owned()),
            offsets: true,
            tokenizer: false,
        }
    }
}

/// The token that follows every prompt.
const NEXT: &str = " .";

/// Words with the white space before them, and marks such as `<|start|>` by themselves;
/// together they are the text.
pub fn tokens(text: &str) -> Vec<&str> {
    if let Some(at) = text.find("|>").filter(|_| text.starts_with("<|")) {
        let (mark, rest) = text.split_at(at + 2);
        return std::iter::once(mark).chain(tokens(rest)).collect();
    }
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut in_word = false;
    for (at, c) in text.char_indices() {
        if c.is_whitespace() && in_word {
            tokens.push(&text[start..at]);
            start = at;
        }
        in_word = !c.is_whitespace();
    }
    if start < text.len() {
        tokens.push(&text[start..]);
    }
    tokens
}

/// Echoes prompts that ask for it, with the log-probability that `score` gives each
/// token after the text before it; all other requests go to `inner`.
pub fn likelihood(
    style: EchoStyle,
    score: impl Fn(&str, &str) -> TokenScore + Send + Sync + 'static,
    inner: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    let vocabulary: Arc<Mutex<Vec<String>>> = Arc::default();
    move |request| {
        let body = request.json();
        if request.path.ends_with("/tokenize") {
            if !style.tokenizer {
                return Reply::status(404);
            }
            let text = body["prompt"].as_str().unwrap_or_default();
            let ids = numbers(&vocabulary, text);
            return Reply::json(json!({"tokens": ids, "count": ids.len()}));
        }
        if body["echo"] != true || body["logprobs"].is_null() {
            return inner(request);
        }
        let texts: Vec<String> = match &body["prompt"] {
            Value::String(text) => vec![text.clone()],
            Value::Array(list) if list.iter().all(Value::is_string) => list
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            Value::Array(ids) => vec![words(&vocabulary, ids)],
            _ => return Reply::status(400).message("no prompt"),
        };
        // Token numbers are taken as they are: no mark is put before them.
        let by_number = body["prompt"][0].is_u64();
        let mark = style.mark.as_deref().filter(|_| !by_number);
        let mut n_tokens = 0;
        let choices: Vec<Value> = texts
            .iter()
            .enumerate()
            .map(|(index, text)| {
                let logprobs = echoed(text, mark, style.offsets, &score);
                n_tokens += logprobs["tokens"].as_array().map_or(0, Vec::len) - 1;
                let text = format!("{text}{NEXT}");
                json!({"index": index, "text": text, "finish_reason": "length", "logprobs": logprobs})
            })
            .collect();
        Reply::json(json!({
            "id": "cmpl-mock", "object": "text_completion", "created": 0, "model": body["model"],
            "choices": choices,
            "usage": {
                "prompt_tokens": n_tokens, "completion_tokens": choices.len(),
                "total_tokens": n_tokens + choices.len(),
            },
        }))
    }
}

fn echoed(
    text: &str,
    mark: Option<&str>,
    offsets: bool,
    score: &dyn Fn(&str, &str) -> TokenScore,
) -> Value {
    let mut shown: Vec<&str> = mark.into_iter().collect();
    shown.extend(tokens(text));
    shown.push(NEXT);
    let (mut logprobs, mut tops, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut at, mut n_chars) = (0, 0);
    for (i, token) in shown.iter().enumerate() {
        let before = &text[..at];
        starts.push(n_chars);
        let is_mark = i == 0 && mark.is_some();
        if i == 0 {
            // Nothing comes before the first token, so nobody knows how likely it is.
            logprobs.push(Value::Null);
            tops.push(Value::Null);
        } else {
            let TokenScore { logprob, best } = score(before, token);
            logprobs.push(json!(logprob));
            let mut top = json!({ *token: logprob });
            if best > logprob {
                top["\u{2581}other"] = json!(best);
            }
            tops.push(top);
        }
        if !is_mark && i + 1 < shown.len() {
            at += token.len();
            n_chars += token.chars().count();
        }
    }
    let mut out = json!({"tokens": shown, "token_logprobs": logprobs, "top_logprobs": tops});
    if offsets {
        out["text_offset"] = json!(starts);
    }
    out
}

/// The numbers of the tokens of a text, the same for the same token.
fn numbers(vocabulary: &Mutex<Vec<String>>, text: &str) -> Vec<usize> {
    let mut known = vocabulary.lock().expect("no test panics here");
    tokens(text)
        .into_iter()
        .map(|token| {
            known
                .iter()
                .position(|other| other == token)
                .unwrap_or_else(|| {
                    known.push(token.to_owned());
                    known.len() - 1
                })
        })
        .collect()
}

fn words(vocabulary: &Mutex<Vec<String>>, ids: &[Value]) -> String {
    let known = vocabulary.lock().expect("no test panics here");
    let word = |id: &Value| known.get(usize::try_from(id.as_u64()?).ok()?).cloned();
    ids.iter()
        .map(|id| word(id).expect("a number that was given"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::Kind;

    fn ask(style: EchoStyle, path: &str, body: &Value) -> Value {
        let score = |before: &str, token: &str| TokenScore {
            logprob: -(token.len() as f64),
            best: if before.is_empty() { 0.0 } else { -100.0 },
        };
        let script = likelihood(style, score, |_| Reply::text("inner"));
        match script(&Request::post(path, body, 0, 0)).kind {
            Kind::Json(body) => (*body).clone(),
            other => json!(format!("{other:?}")),
        }
    }

    #[test]
    fn prompts_are_echoed_with_what_the_test_says() {
        assert_eq!(tokens("a  bc\nd "), ["a", "  bc", "\nd", " "]);
        assert_eq!(tokens("<|a|>b"), ["<|a|>", "b"]);
        let body = json!({"prompt": ["é b", "c"], "echo": true, "logprobs": 1, "model": "m"});
        let reply = ask(EchoStyle::default(), "/v1/completions", &body);
        let first = &reply["choices"][0]["logprobs"];
        assert_eq!(first["tokens"], json!(["<s>", "é", " b", " ."]));
        assert_eq!(first["token_logprobs"], json!([null, -2.0, -2.0, -2.0]));
        assert_eq!(first["text_offset"], json!([0, 0, 1, 3]));
        assert_eq!(
            first["top_logprobs"],
            json!([null, {"é": -2.0, "▁other": 0.0}, {" b": -2.0}, {" .": -2.0}])
        );
        assert_eq!(reply["choices"][1]["text"], json!("c ."));
        assert_eq!(reply["usage"]["prompt_tokens"], json!(5));
    }

    #[test]
    fn without_echo_the_inner_script_answers() {
        let reply = ask(
            EchoStyle::default(),
            "/v1/completions",
            &json!({"prompt": "x"}),
        );
        assert!(reply.to_string().contains("inner"));
    }
}
