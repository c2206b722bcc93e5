//! [`Engagement`]: how far the request that went out is the one that came in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::canonical::canonical_json;
use crate::wire::{Message, Part, PartKind, Route, WireRequest};

/// How a request changed on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engagement {
    /// Not a byte.
    IdenticalBytes,
    /// Written anew, with the same meaning.
    IdenticalJson,
    /// Only in ways that mean nothing to the answer.
    Benign,
    /// Texts are different; messages, roles, tools and parameters are not.
    ChangedContent,
    /// More than texts is different.
    ChangedStructure,
}

impl Engagement {
    /// Whether the proxy did something to the request.
    pub fn is_changed(self) -> bool {
        matches!(self, Self::ChangedContent | Self::ChangedStructure)
    }
}

/// Changes that a profile declares, which are no defects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredChanges {
    /// Models by the name that the client gives them, with the name that goes out.
    pub models: BTreeMap<String, String>,
}

impl DeclaredChanges {
    /// Whether this model may go out for that one.
    pub(super) fn allows(&self, client: Option<&str>, upstream: Option<&str>) -> bool {
        let declared = client.and_then(|client| self.models.get(client));
        client == upstream || declared.is_some() && declared.map(String::as_str) == upstream
    }
}

/// Compares the body of the client with the body that went out.
pub fn engagement(
    route: &Route,
    client: &[u8],
    upstream: &[u8],
    declared: &DeclaredChanges,
) -> Engagement {
    if client == upstream {
        return Engagement::IdenticalBytes;
    }
    let canonical = |body: &[u8]| canonical_json(body).ok();
    let (Some(one), Some(two)) = (canonical(client), canonical(upstream)) else {
        return Engagement::ChangedStructure;
    };
    if one == two {
        return Engagement::IdenticalJson;
    }
    let plain = |body: &[u8]| serde_json::from_slice(body).ok().map(without_benign);
    let (mut one, two): (Option<Value>, Option<Value>) = (plain(client), plain(upstream));
    let model = |value: &Option<Value>| value.as_ref()?.get("model")?.as_str().map(str::to_owned);
    let (asked, sent) = (model(&one), model(&two));
    if let (Some(one), Some(sent)) = (&mut one, &sent)
        && declared.allows(asked.as_deref(), Some(sent))
    {
        one["model"] = sent.as_str().into();
    }
    let text = |value: &Option<Value>| {
        value
            .as_ref()
            .and_then(|value| canonical(value.to_string().as_bytes()))
    };
    if text(&one) == text(&two) {
        return Engagement::Benign;
    }
    let read = |value: Option<Value>| WireRequest::of(route, &value?);
    match (read(one), read(two)) {
        // A text and a list with that text as its only part are the same.
        (Some(one), Some(two)) if one == two => Engagement::Benign,
        (Some(one), Some(two)) if skeleton(&one) == skeleton(&two) => Engagement::ChangedContent,
        _ => Engagement::ChangedStructure,
    }
}

/// A body without what may come and go: the wish for the usage of a stream, a content that is
/// null, and saying that there is to be no stream.
pub(super) fn without_benign(mut body: Value) -> Value {
    if let Some(members) = body.as_object_mut() {
        let options = members
            .get_mut("stream_options")
            .and_then(Value::as_object_mut);
        let is_empty = options.is_some_and(|options| {
            options.shift_remove("include_usage");
            options.is_empty()
        });
        if is_empty {
            members.shift_remove("stream_options");
        }
        if members.get("stream") == Some(&Value::Bool(false)) {
            members.shift_remove("stream");
        }
        let messages = members.get_mut("messages").and_then(Value::as_array_mut);
        for message in messages
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            if message.get("content").is_some_and(Value::is_null) {
                message.shift_remove("content");
            }
        }
    }
    body
}

/// A request without its texts.
fn skeleton(request: &WireRequest) -> impl PartialEq {
    let part = |part: &Part| {
        // What is no text has its identity in its JSON.
        let is_text = matches!(
            part.kind,
            PartKind::Text
                | PartKind::ToolResult { .. }
                | PartKind::ToolCall { .. }
                | PartKind::Thinking
        );
        let kept = if is_text {
            String::new()
        } else {
            part.text.clone()
        };
        (part.kind.clone(), kept, part.cache.clone())
    };
    let message = |message: &Message| {
        let parts: Vec<_> = message.parts.iter().map(part).collect();
        (message.role.clone(), message.name.clone(), parts)
    };
    let messages: Vec<_> = request.messages.iter().map(message).collect();
    let tools: Vec<String> = request.tools.iter().map(|tool| tool.name.clone()).collect();
    let parameters: BTreeMap<String, String> = request
        .parameters
        .iter()
        .map(|(name, value)| (name.clone(), value.to_string()))
        .collect();
    (
        request.model.clone(),
        request.streams,
        messages,
        tools,
        parameters,
    )
}

/// The engagement of an arm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmEngagement {
    /// How many calls were compared.
    pub compared: u64,
    /// How many of them went out changed.
    pub changed: u64,
}

impl ArmEngagement {
    /// Over the calls of an arm.
    pub fn of(calls: impl IntoIterator<Item = Engagement>) -> Self {
        let mut arm = Self::default();
        for engagement in calls {
            arm.compared += 1;
            arm.changed += u64::from(engagement.is_changed());
        }
        arm
    }

    /// The share of calls that went out changed; none without calls.
    pub fn share(&self) -> Option<f64> {
        (self.compared > 0).then(|| self.changed as f64 / self.compared as f64)
    }

    /// Whether an arm that is to transform did nothing: its figures are those of no transform.
    pub fn is_not_engaged(&self) -> bool {
        self.compared > 0 && self.changed == 0
    }

    /// Whether an arm that is to pass everything through does so.
    pub fn is_transparent(&self) -> bool {
        self.changed == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_apart() {
        use Engagement::*;
        let route = Route::of("POST", "/v1/chat/completions");
        let client = r#"{"model":"m","temperature":0,"messages":[{"role":"system","content":"s"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"a long text"}]}"#;
        let declared = DeclaredChanges {
            models: [("m".to_owned(), "vendor/m".to_owned())].into(),
        };
        for (upstream, expected) in [
            (client.to_owned(), IdenticalBytes),
            (client.replace(",\"", ", \""), IdenticalJson),
            (
                client.replace(
                    r#""model":"m","temperature":0"#,
                    r#""temperature":0,"model":"m""#,
                ),
                IdenticalJson,
            ),
            (
                client.replace(
                    r#"{"model""#,
                    r#"{"stream_options":{"include_usage":true},"model""#,
                ),
                Benign,
            ),
            (client.replace(r#""content":null,"#, ""), Benign),
            (
                client.replace(r#"{"model""#, r#"{"stream":false,"model""#),
                Benign,
            ),
            (
                client.replace(r#""model":"m""#, r#""model":"vendor/m""#),
                Benign,
            ),
            (
                client.replace(
                    r#""a long text""#,
                    r#"[{"type":"text","text":"a long text"}]"#,
                ),
                Benign,
            ),
            (client.replace("a long text", "a text"), ChangedContent),
            (
                client.replace(r#""temperature":0"#, r#""temperature":1"#),
                ChangedStructure,
            ),
            (
                client.replace(r#""role":"system""#, r#""role":"user""#),
                ChangedStructure,
            ),
            (
                client.replace(r#""model":"m""#, r#""model":"other""#),
                ChangedStructure,
            ),
            (
                client.replace(r#""id":"c""#, r#""id":"d""#),
                ChangedStructure,
            ),
            ("not JSON".to_owned(), ChangedStructure),
        ] {
            let found = engagement(&route, client.as_bytes(), upstream.as_bytes(), &declared);
            assert_eq!(found, expected, "{upstream}");
        }
    }

    #[test]
    fn arms_are_judged_by_what_they_are_for() {
        use Engagement::*;
        let transform =
            ArmEngagement::of([ChangedContent, IdenticalJson, ChangedStructure, Benign]);
        assert_eq!(
            (transform.share(), transform.is_not_engaged()),
            (Some(0.5), false)
        );
        assert!(!transform.is_transparent());
        let idle = ArmEngagement::of([IdenticalBytes, IdenticalJson, Benign]);
        assert!(idle.is_not_engaged() && idle.is_transparent());
        assert_eq!(ArmEngagement::of([]).share(), None);
        assert!(!ArmEngagement::of([]).is_not_engaged());
    }
}
