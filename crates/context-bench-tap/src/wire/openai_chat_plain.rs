//! Chat requests and answers as most of them are, read without a tree of values in between: a
//! run reads each of them more than once. Whatever is unusual here (tools, parts, errors,
//! members of another type, repeated members, text that JSON spells with `\u`) gives nothing,
//! and is read the long way.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Map;

use super::message::{Message, is_system};
use super::openai_chat::plain;
use super::reply::WireReply;
use super::request::WireRequest;
use super::route::WireFormat;
use super::usage::{OpenaiUsage, Usage, UsageShape};

/// Reads a body if it is one of the usual ones.
fn usual<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Option<T> {
    // What is passed over is not looked into: a text there that is none would go unseen.
    let text = std::str::from_utf8(body).ok()?;
    let is_spelled_out = memchr::memmem::find(body, b"\\u").is_some();
    (!is_spelled_out).then(|| serde_json::from_str(text).ok())?
}

/// An answer, with its usage as it is wanted.
#[derive(Deserialize)]
struct UsualReply<U> {
    id: Option<String>,
    model: Option<String>,
    service_tier: Option<String>,
    system_fingerprint: Option<String>,
    error: Option<IgnoredAny>,
    choices: Vec<UsualChoice>,
    usage: Option<U>,
}

#[derive(Deserialize)]
struct UsualChoice {
    index: Option<u64>,
    message: UsualAnswer,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct UsualAnswer {
    content: Option<String>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    tool_calls: Option<[IgnoredAny; 0]>,
}

/// Takes a whole answer, if it is a usual one.
pub(super) fn reply(body: &[u8], shape: UsageShape, reply: &mut WireReply) -> Option<()> {
    let usage = members(body, reply)?;
    reply.usage = usage.and_then(|raw| Usage::taken(shape, raw));
    Some(())
}

/// The same without the words that the provider says its usage in.
pub(super) fn counted_reply(body: &[u8], shape: UsageShape, reply: &mut WireReply) -> Option<()> {
    if shape != UsageShape::Openai {
        return self::reply(body, shape, reply);
    }
    let usage: Option<OpenaiUsage> = members(body, reply)?;
    reply.usage = usage.and_then(|usage| usage.counts());
    Some(())
}

/// Takes all of an answer but its usage, which is returned.
fn members<'a, U: Deserialize<'a>>(body: &'a [u8], reply: &mut WireReply) -> Option<Option<U>> {
    let read: UsualReply<U> = usual(body).filter(|read: &UsualReply<U>| read.error.is_none())?;
    reply.id = read.id;
    reply.model = read.model;
    reply.service_tier = read.service_tier;
    reply.system_fingerprint = read.system_fingerprint;
    for (at, choice) in read.choices.into_iter().enumerate() {
        let index = choice.index.map_or(at, |index| index as usize);
        let Some(out) = reply.choice(index) else {
            continue;
        };
        let message = choice.message;
        out.text = message.content.or(message.refusal).unwrap_or_default();
        let reasoning = message.reasoning_content.or(message.reasoning);
        out.reasoning = reasoning.unwrap_or_default();
        out.finish = choice.finish_reason;
        out.tool_calls = message.tool_calls.map(|_| Vec::new()).unwrap_or_default();
    }
    Some(read.usage)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsualMessage {
    role: String,
    content: String,
}

/// A request of texts alone.
struct UsualRequest(WireRequest);

impl<'de> Deserialize<'de> for UsualRequest {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = UsualRequest;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a chat request")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let unusual = || A::Error::custom("not a usual request");
                let mut request = WireRequest::base(WireFormat::OpenaiChat, &Map::new(), &[]);
                let (mut messages, mut streams) = (None, None);
                while let Some(name) = map.next_key::<Cow<'de, str>>()? {
                    match &*name {
                        "messages" if messages.is_none() => {
                            messages = Some(map.next_value::<Vec<UsualMessage>>()?);
                        }
                        "model" if request.model.is_none() => {
                            request.model = Some(map.next_value()?);
                        }
                        "stream" if streams.is_none() => streams = Some(map.next_value()?),
                        "messages" | "model" | "stream" | "tools" | "functions" => {
                            return Err(unusual());
                        }
                        _ => {
                            let value = map.next_value()?;
                            request.parameters.insert(name.into_owned(), value);
                        }
                    }
                }
                let messages = messages.unwrap_or_default().into_iter();
                request.messages = messages
                    .map(|UsualMessage { role, content }| match role.as_str() {
                        "tool" => Err(unusual()),
                        _ => Ok(Message {
                            role,
                            name: None,
                            parts: vec![plain(content)],
                        }),
                    })
                    .collect::<Result<_, _>>()?;
                request.streams = streams.unwrap_or(false);
                Ok(UsualRequest(request))
            }
        }

        from.deserialize_map(Members)
    }
}

/// A request, if it is a usual one.
pub(super) fn request(body: &[u8]) -> Option<WireRequest> {
    usual(body).map(|UsualRequest(request)| request)
}

/// A message of text alone, which is only looked at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShownMessage<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Cow<'a, str>,
}

/// The messages of a request of texts alone.
struct ShownRequest<'a>(Vec<ShownMessage<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for ShownRequest<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for Members<'a> {
            type Value = ShownRequest<'a>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a chat request")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut messages: Option<Vec<ShownMessage<'a>>> = None;
                while let Some(name) = map.next_key::<Cow<'de, str>>()? {
                    match &*name {
                        "messages" if messages.is_none() => messages = Some(map.next_value()?),
                        "messages" | "tools" | "functions" => {
                            return Err(A::Error::custom("not a usual request"));
                        }
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(ShownRequest(messages.unwrap_or_default()))
            }
        }

        from.deserialize_map(Members(PhantomData))
    }
}

/// A request as text, if it is a usual one: the same as [`WireRequest::rendered`].
pub(super) fn rendered(body: &[u8]) -> Option<String> {
    let ShownRequest(messages) = usual(body)?;
    if messages.iter().any(|message| message.role == "tool") {
        return None;
    }
    let bytes = messages
        .iter()
        .map(|one| one.role.len() + one.content.len() + 2);
    let mut out = String::with_capacity(bytes.sum());
    let is_system = |one: &&ShownMessage<'_>| is_system(&one.role);
    let system = messages.iter().filter(is_system);
    let rest = messages.iter().filter(|one| !is_system(one));
    for message in system.chain(rest) {
        for line in [&message.role, &message.content] {
            out.push_str(line);
            out.push('\n');
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::wire::{Route, openai_chat};

    /// Bodies and whether they are usual ones.
    const REPLIES: [(&str, bool); 19] = [
        (
            r#"{"id":"a","object":"x","model":"m","service_tier":"s","system_fingerprint":"f",
            "choices":[{"index":0,"message":{"role":"assistant","content":"hi \"you\""},
            "finish_reason":"stop","logprobs":null}],"usage":{"prompt_tokens":3,
            "completion_tokens":1,"prompt_tokens_details":{"cached_tokens":1}}}"#,
            true,
        ),
        (
            r#"{"choices":[{"index":1,"message":{"content":null,"refusal":"no"}},
            {"message":{"content":"b","reasoning":"r","reasoning_content":null,"tool_calls":[]}}]}"#,
            true,
        ),
        (r#"{"choices":[],"usage":null,"error":null}"#, true),
        (
            r#"{"choices":[],"usage":{"input_tokens":9,"prompt_tokens":null,"output_tokens":4,
            "input_tokens_details":{"cached_tokens":2,"cache_write_tokens":1,"audio_tokens":0},
            "output_tokens_details":{"reasoning_tokens":3},"total_tokens":13}}"#,
            true,
        ),
        (
            r#"{"choices":[],"usage":{"prompt_tokens":9.0,"completion_tokens":"4"}}"#,
            true,
        ),
        (
            r#"{"choices":[{"index":5000,"message":{}}],"usage":5}"#,
            true,
        ),
        (
            r#"{"choices":[{"index":0.0,"message":{"content":"a"}}]}"#,
            false,
        ),
        (r#"{"choices":[{"message":{"content":["a"]}}]}"#, false),
        (
            r#"{"choices":[{"message":{"content":"a","content":"b"}}]}"#,
            false,
        ),
        (
            r#"{"choices":[{"message":{"tool_calls":[{"id":"1","function":{"name":"f"}}]}}]}"#,
            false,
        ),
        (r#"{"choices":[{"text":"a"}]}"#, false),
        (r#"{"id":7,"choices":[]}"#, false),
        (r#"{"error":{"message":"bad"},"choices":[]}"#, false),
        (r#"{"error":{"message":"bad"}}"#, false),
        ("{\"x\":\"\\ud800\",\"choices\":[]}", false),
        ("[1]", false),
        ("", false),
        (r#"{"choices":[]} x"#, false),
        (r#"{"choices":null}"#, false),
    ];

    #[test]
    fn usual_replies_say_the_same_either_way() {
        for (body, is_usual) in REPLIES {
            let mut short = WireReply::default();
            let found = reply(body.as_bytes(), UsageShape::Openai, &mut short);
            assert_eq!(found.is_some(), is_usual, "{body}");
            if is_usual {
                let value: Value = serde_json::from_str(body).unwrap();
                let mut long = WireReply::default();
                openai_chat::reply(&value, UsageShape::Openai, &mut long);
                assert_eq!(short, long, "{body}");
            }
            let mut counted = WireReply::default();
            if counted_reply(body.as_bytes(), UsageShape::Openai, &mut counted).is_some() {
                if let Some(usage) = &mut short.usage {
                    usage.raw = Value::Null;
                }
                assert_eq!(counted, short, "{body}");
            }
        }
        assert!(usual::<UsualReply<Value>>(b"{\"x\":\"\xff\",\"choices\":[]}").is_none());
    }

    #[test]
    fn usual_requests_ask_the_same_either_way() {
        let route = Route::of("POST", "/v1/chat/completions");
        for (body, is_usual) in [
            (
                r#"{"model":"m","temperature":0.5,"messages":[{"role":"system","content":"s"},
                {"content":"q","role":"user"}],"stream":true,"max_tokens":3,"stop":["a"],
                "stream_options":{"include_usage":true},"max_tokens":4}"#,
                true,
            ),
            (r#"{"messages":[]}"#, true),
            ("{}", true),
            (
                r#"{"messages":[{"role":"user","content":"a \"b\"\n"},{"content":"é","role":"developer"}]}"#,
                true,
            ),
            (
                r#"{"messages":[{"role":"user","content":"a","name":"n"}]}"#,
                false,
            ),
            (r#"{"messages":[{"role":"user","content":[]}]}"#, false),
            (r#"{"messages":[{"role":"tool","content":"a"}]}"#, false),
            (r#"{"messages":[{"role":"user"}]}"#, false),
            (r#"{"messages":[],"messages":[]}"#, false),
            (r#"{"model":null}"#, false),
            (r#"{"stream":"yes"}"#, false),
            (r#"{"tools":[]}"#, false),
            ("[]", false),
        ] {
            let short = request(body.as_bytes());
            assert_eq!(short.is_some(), is_usual, "{body}");
            if let Some(short) = short {
                let value: Value = serde_json::from_str(body).unwrap();
                let long = WireRequest::of(&route, &value).unwrap();
                let names = |one: &WireRequest| one.parameters.keys().cloned().collect::<Vec<_>>();
                assert_eq!(names(&short), names(&long), "{body}");
                assert_eq!(rendered(body.as_bytes()), Some(long.rendered()), "{body}");
                assert_eq!(short, long, "{body}");
            }
        }
    }
}
