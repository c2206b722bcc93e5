//! [`Answer`]: what the scripted upstream says, whole or as the events of a stream, in the shape
//! of each API.

use serde_json::{Value, json};

use super::gemini;
use crate::wire::WireFormat;

/// An answer of the model that is not there.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// The number of the call, which its ids are made of.
    pub(super) number: u64,
    pub(super) model: String,
    pub(super) text: String,
    /// Thoughts and what proves that they are the model's own.
    pub(super) thinking: Option<(&'static str, &'static str)>,
    pub(super) tool_call: Option<ToolCallAnswer>,
    /// The prompt that is repeated with its probabilities (`echo`).
    pub(super) echoed: Option<String>,
    /// Whether probabilities of the answer are given.
    pub(super) has_probabilities: bool,
}

/// A tool that the model wants called.
#[derive(Debug, Clone)]
pub(super) struct ToolCallAnswer {
    pub(super) name: &'static str,
    /// JSON, as the model wrote it: blanks and the order of members are its own.
    pub(super) arguments: &'static str,
}

/// How many pieces the text of a stream comes in.
pub(super) const PIECES: usize = 24;

impl Answer {
    /// The whole answer.
    pub(super) fn body(&self, format: WireFormat) -> Value {
        match format {
            WireFormat::AnthropicMessages => self.messages_body(),
            WireFormat::OpenaiResponses => self.responses_body("completed", &self.output_items()),
            WireFormat::OpenaiCompletions => self.completions_body(),
            WireFormat::Gemini => gemini::body(self),
            _ => self.chat_body(),
        }
    }

    /// The events of a stream, the last of which ends it. `includes_usage` says whether the
    /// request asked for the usage, where an API wants that.
    pub(super) fn events(&self, format: WireFormat, includes_usage: bool) -> Vec<String> {
        match format {
            WireFormat::AnthropicMessages => self.messages_events(),
            WireFormat::OpenaiResponses => self.responses_events(),
            WireFormat::OpenaiCompletions => self.completions_events(),
            WireFormat::Gemini => gemini::events(self),
            _ => self.chat_events(includes_usage),
        }
    }

    /// The text in pieces, as models write it.
    fn pieces(&self) -> Vec<String> {
        pieces(&self.text, PIECES)
    }

    pub(super) fn call_id(&self) -> String {
        format!("call_probe{}", self.number)
    }

    fn openai_usage() -> Value {
        json!({"prompt_tokens": 4321, "completion_tokens": 77, "total_tokens": 4398,
            "prompt_tokens_details": {"cached_tokens": 1024, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 13, "audio_tokens": 0,
                "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}})
    }

    fn probabilities() -> Value {
        json!({"content": [{"token": "Noted", "logprob": -0.125, "bytes": [78, 111, 116, 101, 100],
            "top_logprobs": [{"token": "Noted", "logprob": -0.125, "bytes": [78, 111, 116, 101, 100]},
                {"token": "Yes", "logprob": -2.5, "bytes": [89, 101, 115]}]}], "refusal": null})
    }

    fn chat_body(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.text, "refusal": null});
        let mut finish = "stop";
        if let Some(call) = &self.tool_call {
            finish = "tool_calls";
            message["content"] = Value::Null;
            message["tool_calls"] = json!([{"id": self.call_id(), "type": "function",
                "function": {"name": call.name, "arguments": call.arguments}}]);
        }
        let probabilities = match self.has_probabilities {
            true => Self::probabilities(),
            false => Value::Null,
        };
        json!({"id": format!("chatcmpl-probe{}", self.number), "object": "chat.completion",
            "created": 1_760_000_000, "model": self.model,
            "choices": [{"index": 0, "message": message, "logprobs": probabilities,
                "finish_reason": finish}],
            "usage": Self::openai_usage(), "service_tier": "default",
            "system_fingerprint": "fp_probe"})
    }

    fn chat_events(&self, includes_usage: bool) -> Vec<String> {
        let chunk = |choices: Value, usage: Option<Value>| {
            let mut chunk = json!({"id": format!("chatcmpl-probe{}", self.number),
                "object": "chat.completion.chunk", "created": 1_760_000_000, "model": self.model,
                "service_tier": "default", "system_fingerprint": "fp_probe", "choices": choices});
            if includes_usage {
                chunk["usage"] = usage.unwrap_or(Value::Null);
            }
            data(&chunk)
        };
        let delta = |delta: Value, finish: Value| json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
        let mut events = Vec::new();
        let mut finish = "stop";
        match &self.tool_call {
            Some(call) => {
                finish = "tool_calls";
                let first = json!({"role": "assistant", "content": null, "tool_calls": [{"index": 0,
                    "id": self.call_id(), "type": "function",
                    "function": {"name": call.name, "arguments": ""}}]});
                events.push(chunk(delta(first, Value::Null), None));
                for piece in pieces(call.arguments, 8) {
                    let next =
                        json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]});
                    events.push(chunk(delta(next, Value::Null), None));
                }
            }
            None => {
                let first = json!({"role": "assistant", "content": "", "refusal": null});
                events.push(chunk(delta(first, Value::Null), None));
                for piece in self.pieces() {
                    events.push(chunk(delta(json!({"content": piece}), Value::Null), None));
                }
            }
        }
        events.push(chunk(delta(json!({}), finish.into()), None));
        if includes_usage {
            events.push(chunk(json!([]), Some(Self::openai_usage())));
        }
        events.push("data: [DONE]\n\n".to_owned());
        events
    }

    fn completions_body(&self) -> Value {
        let (text, probabilities) = match &self.echoed {
            Some(prompt) => {
                let tokens: Vec<&str> = prompt.split_inclusive(' ').collect();
                let known = |at: usize| match at {
                    0 => Value::Null,
                    at => json!(-0.25 - (at % 7) as f64 / 8.0),
                };
                let likely: Vec<Value> = (0..tokens.len()).map(known).collect();
                let mut offset = 0;
                let offsets = tokens.iter().map(|token| {
                    let at = offset;
                    offset += token.chars().count();
                    at
                });
                let offsets: Vec<usize> = offsets.collect();
                let logprobs = json!({"tokens": tokens, "token_logprobs": likely,
                    "top_logprobs": null, "text_offset": offsets});
                (prompt.clone(), logprobs)
            }
            None => (self.text.clone(), Value::Null),
        };
        json!({"id": format!("cmpl-probe{}", self.number), "object": "text_completion",
            "created": 1_760_000_000, "model": self.model,
            "choices": [{"text": text, "index": 0, "logprobs": probabilities,
                "finish_reason": "length"}],
            "usage": {"prompt_tokens": 4321, "completion_tokens": 1, "total_tokens": 4322}})
    }

    fn completions_events(&self) -> Vec<String> {
        let chunk = |text: &str, finish: Value| {
            data(
                &json!({"id": format!("cmpl-probe{}", self.number), "object": "text_completion",
                "created": 1_760_000_000, "model": self.model, "choices": [{"text": text, "index": 0,
                "logprobs": null, "finish_reason": finish}]}),
            )
        };
        let mut events: Vec<String> = self
            .pieces()
            .iter()
            .map(|piece| chunk(piece, Value::Null))
            .collect();
        events.push(chunk("", "stop".into()));
        events.push("data: [DONE]\n\n".to_owned());
        events
    }

    fn messages_usage(&self) -> Value {
        json!({"input_tokens": 2273, "cache_creation_input_tokens": 1024,
            "cache_read_input_tokens": 1024,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 1024},
            "output_tokens": 77, "service_tier": "standard"})
    }

    fn messages_blocks(&self) -> Vec<Value> {
        let mut blocks = Vec::new();
        if let Some((thinking, signature)) = self.thinking {
            blocks.push(json!({"type": "thinking", "thinking": thinking, "signature": signature}));
        }
        match &self.tool_call {
            Some(call) => {
                let input: Value = serde_json::from_str(call.arguments).unwrap_or_default();
                blocks.push(
                    json!({"type": "tool_use", "id": format!("toolu_probe{}", self.number),
                    "name": call.name, "input": input}),
                );
            }
            None => blocks.push(json!({"type": "text", "text": self.text})),
        }
        blocks
    }

    fn stop_reason(&self) -> &'static str {
        match self.tool_call {
            Some(_) => "tool_use",
            None => "end_turn",
        }
    }

    fn messages_body(&self) -> Value {
        json!({"id": format!("msg_probe{}", self.number), "type": "message", "role": "assistant",
            "model": self.model, "content": self.messages_blocks(),
            "stop_reason": self.stop_reason(), "stop_sequence": null,
            "usage": self.messages_usage()})
    }

    fn messages_events(&self) -> Vec<String> {
        let mut usage = self.messages_usage();
        usage["output_tokens"] = 1.into();
        let mut events = vec![named(
            &json!({"type": "message_start", "message": {"id": format!("msg_probe{}", self.number),
                "type": "message", "role": "assistant", "model": self.model, "content": [],
                "stop_reason": null, "stop_sequence": null, "usage": usage}}),
        )];
        for (index, block) in self.messages_blocks().into_iter().enumerate() {
            let (start, deltas) = match block["type"].as_str() {
                Some("thinking") => {
                    let thinking = block["thinking"].as_str().unwrap_or_default();
                    let mut deltas: Vec<Value> = pieces(thinking, 4)
                        .into_iter()
                        .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
                        .collect();
                    deltas
                        .push(json!({"type": "signature_delta", "signature": block["signature"]}));
                    let start = json!({"type": "thinking", "thinking": "", "signature": ""});
                    (start, deltas)
                }
                Some("tool_use") => {
                    let arguments = self.tool_call.as_ref().map_or("{}", |call| call.arguments);
                    let deltas = pieces(arguments, 8)
                        .into_iter()
                        .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
                    let start = json!({"type": "tool_use", "id": block["id"],
                        "name": block["name"], "input": {}});
                    (start, deltas.collect())
                }
                _ => {
                    let deltas = self
                        .pieces()
                        .into_iter()
                        .map(|piece| json!({"type": "text_delta", "text": piece}));
                    (json!({"type": "text", "text": ""}), deltas.collect())
                }
            };
            events.push(named(
                &json!({"type": "content_block_start", "index": index, "content_block": start}),
            ));
            if index == 0 {
                events.push(named(&json!({"type": "ping"})));
            }
            events.extend(deltas.into_iter().map(|delta| {
                named(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
            }));
            events.push(named(
                &json!({"type": "content_block_stop", "index": index}),
            ));
        }
        events.push(named(
            &json!({"type": "message_delta", "delta": {"stop_reason": self.stop_reason(),
                "stop_sequence": null}, "usage": {"output_tokens": 77}}),
        ));
        events.push(named(&json!({"type": "message_stop"})));
        events
    }

    fn output_items(&self) -> Vec<Value> {
        let mut items = Vec::new();
        if let Some((thinking, signature)) = self.thinking {
            items.push(
                json!({"id": format!("rs_probe{}", self.number), "type": "reasoning",
                "summary": [{"type": "summary_text", "text": thinking}],
                "encrypted_content": signature}),
            );
        }
        items.push(match &self.tool_call {
            Some(call) => json!({"id": format!("fc_probe{}", self.number), "type": "function_call",
                "status": "completed", "call_id": self.call_id(), "name": call.name,
                "arguments": call.arguments}),
            None => json!({"id": format!("msg_probe{}", self.number), "type": "message",
                "status": "completed", "role": "assistant", "content": [{"type": "output_text",
                "text": self.text, "annotations": []}]}),
        });
        items
    }

    fn responses_body(&self, status: &str, output: &[Value]) -> Value {
        let usage = match status {
            "completed" => json!({"input_tokens": 4321,
                "input_tokens_details": {"cached_tokens": 1024}, "output_tokens": 77,
                "output_tokens_details": {"reasoning_tokens": 13}, "total_tokens": 4398}),
            _ => Value::Null,
        };
        json!({"id": format!("resp_probe{}", self.number), "object": "response",
            "created_at": 1_760_000_000, "status": status, "error": null,
            "incomplete_details": null, "instructions": null, "max_output_tokens": null,
            "model": self.model, "output": output, "parallel_tool_calls": true,
            "previous_response_id": null, "reasoning": {"effort": null, "summary": null},
            "store": true, "temperature": 1.0, "text": {"format": {"type": "text"}},
            "tool_choice": "auto", "tools": [], "top_p": 1.0, "truncation": "disabled",
            "usage": usage, "user": null, "metadata": {}})
    }

    fn responses_events(&self) -> Vec<String> {
        let mut found: Vec<Value> = vec![
            json!({"type": "response.created",
                "response": self.responses_body("in_progress", &[])}),
            json!({"type": "response.in_progress",
                "response": self.responses_body("in_progress", &[])}),
        ];
        let items = self.output_items();
        for (index, item) in items.iter().enumerate() {
            let id = &item["id"];
            let mut open = item.clone();
            open["status"] = "in_progress".into();
            match item["type"].as_str() {
                Some("function_call") => {
                    open["arguments"] = "".into();
                    found.push(
                        json!({"type": "response.output_item.added", "output_index": index,
                        "item": open}),
                    );
                    let arguments = item["arguments"].as_str().unwrap_or_default();
                    found.extend(pieces(arguments, 8).into_iter().map(|piece| {
                        json!({"type": "response.function_call_arguments.delta", "item_id": id,
                            "output_index": index, "delta": piece})
                    }));
                    found.push(json!({"type": "response.function_call_arguments.done",
                        "item_id": id, "output_index": index, "arguments": arguments}));
                }
                Some("message") => {
                    open["content"] = json!([]);
                    found.push(
                        json!({"type": "response.output_item.added", "output_index": index,
                        "item": open}),
                    );
                    found.push(json!({"type": "response.content_part.added", "item_id": id,
                        "output_index": index, "content_index": 0,
                        "part": {"type": "output_text", "text": "", "annotations": []}}));
                    found.extend(self.pieces().into_iter().map(|piece| {
                        json!({"type": "response.output_text.delta", "item_id": id,
                            "output_index": index, "content_index": 0, "delta": piece})
                    }));
                    found.push(json!({"type": "response.output_text.done", "item_id": id,
                        "output_index": index, "content_index": 0, "text": self.text}));
                    found.push(json!({"type": "response.content_part.done", "item_id": id,
                        "output_index": index, "content_index": 0,
                        "part": {"type": "output_text", "text": self.text, "annotations": []}}));
                }
                _ => {
                    found.push(
                        json!({"type": "response.output_item.added", "output_index": index,
                        "item": item}),
                    );
                }
            }
            found.push(
                json!({"type": "response.output_item.done", "output_index": index,
                "item": item}),
            );
        }
        found.push(json!({"type": "response.completed",
            "response": self.responses_body("completed", &items)}));
        let numbered = found.into_iter().enumerate().map(|(at, mut event)| {
            event["sequence_number"] = at.into();
            named(&event)
        });
        numbered.collect()
    }
}

/// An event without a name.
pub(super) fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// An event that is named after its type.
pub(super) fn named(value: &Value) -> String {
    let name = value["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {value}\n\n")
}

/// A text in about so many pieces, none of them empty.
pub(super) fn pieces(text: &str, count: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let size = letters.len().div_ceil(count).max(1);
    letters
        .chunks(size)
        .map(|piece| piece.iter().collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{EventReader, ReplyReader, WireReply};

    fn read(format: WireFormat, answer: &Answer, streams: bool) -> WireReply {
        let mut reader = ReplyReader::new(format, None);
        match streams {
            false => reader.whole(answer.body(format).to_string().as_bytes()),
            true => {
                let body = answer.events(format, true).concat();
                EventReader::default().feed(body.as_bytes(), |event| {
                    reader.event(&event);
                });
            }
        }
        reader.finish()
    }

    #[test]
    fn both_forms_say_the_same_in_every_api() {
        for tool_call in [
            None,
            Some(ToolCallAnswer {
                name: "find",
                arguments: "{\"b\": 1,  \"a\":[2]}",
            }),
        ] {
            let answer = Answer {
                number: 7,
                model: "m".to_owned(),
                text: "Noted: a text of some length, with ä and 漢字 in it.".to_owned(),
                thinking: None,
                tool_call,
                echoed: None,
                has_probabilities: false,
            };
            for format in [
                WireFormat::OpenaiChat,
                WireFormat::OpenaiResponses,
                WireFormat::AnthropicMessages,
                WireFormat::Gemini,
            ] {
                let (whole, streamed) = (read(format, &answer, false), read(format, &answer, true));
                assert!(streamed.is_ended && whole.has_output(), "{format:?}");
                assert_eq!(streamed.disorder, Vec::<String>::new());
                assert_eq!(whole.id, streamed.id);
                assert_eq!(whole.choices[0].text, streamed.choices[0].text);
                assert_eq!(whole.choices[0].finish, streamed.choices[0].finish);
                let calls = |reply: &WireReply| reply.choices[0].tool_calls.clone();
                assert_eq!(calls(&whole).len(), calls(&streamed).len());
                let counts = |reply: &WireReply| {
                    let usage = reply.usage.clone().unwrap();
                    (usage.input(), usage.output)
                };
                assert_eq!(counts(&whole), counts(&streamed), "{format:?}");
                assert_eq!(counts(&whole), (4321, 77), "{format:?}");
            }
        }
    }
}
