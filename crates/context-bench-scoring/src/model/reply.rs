//! `Reply`: what is known of an answer beside its text: how it ended, which tokens it
//! took, whether it came out of a cache.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{ModelUse, Output, UsageShape, WireUsage};

/// The key under which a reply says that its prompt was cut.
pub const PROMPT_CUT: &str = "prompt_cut";

/// What is known of an answer beside its text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reply {
    /// How the answer ended.
    #[serde(skip_serializing_if = "Ending::is_whole")]
    pub ending: Ending,
    /// Why it ended, in the words of chat completions, or of the server where they have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<Arc<str>>,
    /// Whether it came with reasoning, which is kept and not scored.
    #[serde(skip_serializing_if = "is_false")]
    pub reasoned: bool,
    /// The header that says that the answer is from a cache in between.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_cache: Option<Arc<str>>,
    /// Whether the endpoint refuses the usual temperature, so that none was sent.
    #[serde(skip_serializing_if = "is_false")]
    pub without_temperature: bool,
    /// Whether the prompt was too long, so that its middle was left out.
    #[serde(skip_serializing_if = "is_false")]
    pub prompt_cut: bool,
    /// The tokens that it took.
    #[serde(flatten)]
    pub tokens: TokenUse,
    /// The model that answered, where the answer says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// The calls one by one, where `tokens` and `model` do not say all that prices need.
    #[serde(skip_serializing_if = "is_empty")]
    pub calls: Box<[ModelUse]>,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// With text, complete as far as is known.
    #[default]
    Whole,
    /// Without any text.
    Empty,
    /// In the middle, because no more tokens were allowed.
    Cut,
    /// Where a filter stepped in.
    Filtered,
    /// With calls of tools and no text.
    ToolCalls,
}

impl Ending {
    /// Whether nothing is wrong with it.
    pub fn is_whole(&self) -> bool {
        *self == Self::Whole
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_empty(calls: &[ModelUse]) -> bool {
    calls.is_empty()
}

/// The tokens of one answer. What is not known is `None`, never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TokenUse {
    /// Tokens of what the system was given: context, question, messages.
    #[serde(rename = "given_tokens", skip_serializing_if = "Option::is_none")]
    pub given: Option<u64>,
    /// Tokens that went to the model, those from its cache included.
    #[serde(rename = "prompt_tokens", skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u64>,
    /// How many of them the model had in its cache.
    #[serde(rename = "cached_tokens", skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Tokens that came back.
    #[serde(rename = "completion_tokens", skip_serializing_if = "Option::is_none")]
    pub completion: Option<u64>,
    /// Both together, as the endpoint reported it.
    #[serde(rename = "total_tokens", skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether the endpoint reported them; else they are counted here.
    #[serde(skip_serializing_if = "is_false")]
    pub reported: bool,
}

impl TokenUse {
    /// What an endpoint reported, in the words of its API.
    pub fn reported(shape: UsageShape, usage: &Map<String, Value>) -> Self {
        shape.read(usage)
    }

    /// Prompt and answer together, if both are known.
    pub fn spent(&self) -> Option<u64> {
        Some(self.prompt?.saturating_add(self.completion?))
    }

    /// The three members that users know from rows; missing ones are 0 there.
    pub fn members(&self) -> Map<String, Value> {
        let members = [
            ("prompt_tokens", self.prompt),
            ("completion_tokens", self.completion),
            ("total_tokens", self.total),
        ];
        members
            .map(|(key, count)| (key.to_owned(), json!(count.unwrap_or(0))))
            .into_iter()
            .collect()
    }
}

impl Reply {
    /// What an output says about its reply; tokens are only those that were reported.
    pub fn of(output: &Output) -> Self {
        let said = output.api_reply();
        let text = |key: &str| said.and_then(|said| said.get(key)).and_then(Value::as_str);
        let finish_reason = text("finish_reason");
        let response = output.get("response").and_then(Value::as_str);
        let thought = output.thought();
        let answer = thought.map(|(_, answer)| answer).or(response);
        let is_empty = match (answer, output.get("response")) {
            (Some(answer), _) => answer.trim().is_empty(),
            (None, Some(Value::Null)) => true,
            _ => false,
        };
        let has_calls = said.is_some_and(|said| said.contains_key("tool_calls"));
        let ending = match finish_reason {
            Some("length" | "max_tokens") => Ending::Cut,
            Some("content_filter" | "refusal") => Ending::Filtered,
            Some("tool_calls" | "function_call") if is_empty => Ending::ToolCalls,
            _ if is_empty && has_calls => Ending::ToolCalls,
            _ if is_empty => Ending::Empty,
            _ => Ending::Whole,
        };
        Self {
            ending,
            finish_reason: finish_reason.map(Arc::from),
            reasoned: thought.is_some() || text("reasoning").is_some_and(|text| !text.is_empty()),
            from_cache: text("from_cache").map(Arc::from),
            without_temperature: said.is_some_and(|said| said.contains_key("without_temperature")),
            prompt_cut: said.is_some_and(|said| said.contains_key(PROMPT_CUT)),
            tokens: output
                .api_usage()
                .map(|usage| TokenUse::reported(UsageShape::of(output), usage))
                .unwrap_or_default(),
            model: text("model").map(Arc::from),
            calls: calls_of(output, said, text("service_tier")),
        }
    }

    /// The calls that the answer took, as far as it says: none where tokens are not reported.
    pub fn uses(&self) -> Cow<'_, [ModelUse]> {
        if !self.calls.is_empty() || !self.tokens.reported {
            return Cow::Borrowed(&self.calls);
        }
        let TokenUse {
            prompt,
            cached,
            completion,
            ..
        } = self.tokens;
        let usage = match (prompt, completion) {
            (Some(prompt), Some(output)) => WireUsage {
                cache_read: cached.unwrap_or(0),
                output,
                ..WireUsage::default()
            }
            .of_prompt(prompt),
            _ => WireUsage {
                unknown: 1,
                ..WireUsage::default()
            },
        };
        Cow::Owned(vec![ModelUse::call(self.model.clone(), usage)])
    }
}

/// The calls of an output, where they are told one by one or their tokens have more prices than
/// those of prompt, cache and answer.
fn calls_of(
    output: &Output,
    said: Option<&Map<String, Value>>,
    tier: Option<&str>,
) -> Box<[ModelUse]> {
    if let Some(told) = said.and_then(|said| said.get("calls")) {
        return Vec::deserialize(told).unwrap_or_default().into();
    }
    let Some(usage) = output.api_usage() else {
        return Box::default();
    };
    let model = said
        .and_then(|said| said.get("model"))
        .and_then(Value::as_str);
    let usage = UsageShape::of(output).buckets(usage);
    let call = ModelUse::call(model.map(Arc::from), usage).with_service(tier);
    let is_plain = call.service.is_none()
        && usage.cache_write_short + usage.cache_write_long + usage.inconsistent == 0;
    match is_plain {
        true => Box::default(),
        false => [call].into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(response: &Value, said: &Value) -> Reply {
        let fields = json!({"response": response, "api_reply": said});
        let fields = fields.as_object().cloned().unwrap_or_default();
        Reply::of(&Output::from(fields))
    }

    #[test]
    fn endings_are_told_apart() {
        let said = |reason: &str| json!({ "finish_reason": reason });
        for (response, said, expected) in [
            (json!("x"), json!({}), Ending::Whole),
            (json!("x"), said("stop"), Ending::Whole),
            (json!("x"), said("tool_calls"), Ending::Whole),
            (json!("x"), said("length"), Ending::Cut),
            (json!(""), said("length"), Ending::Cut),
            (json!("x"), said("content_filter"), Ending::Filtered),
            (json!(null), said("tool_calls"), Ending::ToolCalls),
            (json!(""), json!({"tool_calls": [1]}), Ending::ToolCalls),
            (json!(" \n"), said("stop"), Ending::Empty),
            (json!(null), json!({}), Ending::Empty),
            (json!("<think>hm"), said("stop"), Ending::Empty),
            (json!("<think>hm</think>x"), said("stop"), Ending::Whole),
            (json!([1]), json!({}), Ending::Whole),
        ] {
            let found = reply(&response, &said);
            assert_eq!(found.ending, expected, "{response} {said}");
        }
        assert!(reply(&json!("<think>hm</think>x"), &json!({})).reasoned);
        assert!(reply(&json!("x"), &json!({"reasoning": "hm"})).reasoned);
        let without = Reply::of(&Output::default());
        assert_eq!(
            without,
            Reply::default(),
            "a missing response is not an empty one"
        );
    }

    #[test]
    fn what_is_not_reported_is_unknown() {
        let used =
            |usage: Value| TokenUse::reported(UsageShape::Chat, usage.as_object().expect("a map"));
        let full = used(json!({
            "prompt_tokens": 10, "completion_tokens": 2.0, "total_tokens": 12,
            "prompt_tokens_details": {"cached_tokens": 4},
        }));
        assert_eq!((full.prompt, full.cached), (Some(10), Some(4)));
        assert_eq!(full.spent(), Some(12));
        let part = used(json!({"prompt_tokens": "10", "prompt_cache_hit_tokens": 3}));
        assert_eq!((part.prompt, part.cached), (None, Some(3)));
        assert_eq!(part.spent(), None);
    }

    #[test]
    fn a_stored_reply_is_the_same_again() {
        let mut reply = reply(&json!(""), &json!({"finish_reason": "length"}));
        reply.tokens.given = Some(3);
        let written = serde_json::to_value(&reply).expect("valid");
        assert_eq!(
            written,
            json!({"ending": "cut", "finish_reason": "length", "given_tokens": 3})
        );
        assert_eq!(serde_json::from_value::<Reply>(written).ok(), Some(reply));
    }
}
