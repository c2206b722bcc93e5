//! [`Probe`]: what is asked of a proxy, what the upstream does, and which defects that shows.

use serde_json::{Map, Value, json};

use super::answer::ToolCallAnswer;
use super::api::{ProxyApi, members};
use super::conversation::{Block, Conversation, Role, Tool, Turn};
use super::material::{INSTRUCTIONS, records, report};
use super::script::{Refusal, Say, Script};
use crate::figures::Defect;

/// About 4,500 tokens: no proxy takes it for a trifle.
const LONG: usize = 18_000;

/// One thing that is asked of a proxy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    pub(super) name: &'static str,
    /// The APIs that have a form for it.
    pub(super) apis: &'static [ProxyApi],
    /// What can be said about the proxy after it, and could not before.
    pub(super) judges: &'static [Defect],
    pub(super) ask: fn(ProxyApi, &str, u64) -> Conversation,
    pub(super) streams: bool,
    /// What the client says it takes: `identity` or `gzip`.
    pub(super) accepts: &'static str,
    pub(super) script: fn() -> Script,
    pub(super) act: Act,
}

/// What the client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// It asks.
    Once,
    /// It asks the same again.
    Twice,
    /// So many clients ask at the same time, and go on with their conversations.
    Together(usize),
    /// It hangs up at the first output.
    HangUpAtOutput,
    /// It hangs up once the upstream has the request.
    HangUpWaiting,
}

const TALKING: &[ProxyApi] = &[
    ProxyApi::Chat,
    ProxyApi::Messages,
    ProxyApi::Responses,
    ProxyApi::Gemini,
];
/// Those in which a client says what the cache of the provider is to keep.
const MARKING: &[ProxyApi] = &[ProxyApi::Chat, ProxyApi::Messages, ProxyApi::Responses];
const REQUEST: [Defect; 5] = [
    Defect::Messages,
    Defect::Role,
    Defect::SystemText,
    Defect::Parameters,
    Defect::AnswerText,
];

/// A request and a whole answer, unless a probe says otherwise.
const PLAIN: Probe = Probe {
    name: "",
    apis: TALKING,
    judges: &[],
    ask: plain,
    streams: false,
    accepts: "identity",
    script: answer,
    act: Act::Once,
};

/// All probes in their order. Those that could make a proxy shy of its upstream (errors, silence)
/// come last.
pub(super) const PROBES: &[Probe] = &[
    Probe {
        name: "conversation",
        judges: &[
            REQUEST[0],
            REQUEST[1],
            REQUEST[2],
            REQUEST[3],
            REQUEST[4],
            Defect::Usage,
            Defect::Headers,
        ],
        ask: conversation,
        ..PLAIN
    },
    Probe {
        name: "tool round trip",
        judges: &[Defect::ToolCallIds, Defect::Tools, Defect::AnswerText],
        ask: tool_round_trip,
        script: tool_call,
        ..PLAIN
    },
    Probe {
        name: "image and file",
        judges: &[Defect::Parts],
        ask: image,
        ..PLAIN
    },
    Probe {
        name: "thinking",
        apis: &[ProxyApi::Messages, ProxyApi::Responses, ProxyApi::Gemini],
        judges: &[Defect::Parts, Defect::AnswerText],
        ask: thinking,
        script: thoughtful,
        ..PLAIN
    },
    Probe {
        name: "cache marks",
        apis: MARKING,
        judges: &[Defect::CacheMarks],
        ask: cache_marks,
        ..PLAIN
    },
    Probe {
        name: "log-probabilities",
        apis: &[ProxyApi::Completions],
        judges: &[Defect::Likelihood],
        ..PLAIN
    },
    Probe {
        name: "stream",
        judges: &[Defect::StreamProtocol, Defect::AnswerText, Defect::Usage],
        ask: with_usage,
        streams: true,
        script: in_step,
        ..PLAIN
    },
    Probe {
        name: "stream of a tool call",
        judges: &[Defect::StreamProtocol, Defect::AnswerText],
        ask: tool_round_trip,
        streams: true,
        script: tool_call,
        ..PLAIN
    },
    Probe {
        name: "gzip",
        judges: &[],
        accepts: "gzip",
        ..PLAIN
    },
    Probe {
        name: "stream in gzip",
        judges: &[],
        streams: true,
        accepts: "gzip",
        ..PLAIN
    },
    Probe {
        name: "the same again",
        judges: &[Defect::LocalAnswer],
        act: Act::Twice,
        ..PLAIN
    },
    Probe {
        name: "the same stream again",
        judges: &[Defect::LocalAnswer],
        streams: true,
        act: Act::Twice,
        ..PLAIN
    },
    Probe {
        name: "parallel conversations",
        judges: &[Defect::CrossTalk],
        act: Act::Together(4),
        ..PLAIN
    },
    Probe {
        name: "hung up at the first token",
        judges: &[Defect::Cancellation],
        streams: true,
        script: || Script::Endless,
        act: Act::HangUpAtOutput,
        ..PLAIN
    },
    Probe {
        name: "hung up while waiting",
        judges: &[Defect::Cancellation],
        script: || Script::Hang,
        act: Act::HangUpWaiting,
        ..PLAIN
    },
    Probe {
        name: "stream that breaks off",
        judges: &[Defect::StreamProtocol, Defect::HiddenRetry],
        streams: true,
        script: || Script::CutStream,
        ..PLAIN
    },
    Probe {
        name: "error inside of a stream",
        judges: &[Defect::StreamProtocol, Defect::ErrorShape],
        streams: true,
        script: || Script::FailInStream,
        ..PLAIN
    },
    Probe {
        name: "error 400",
        judges: &[Defect::ErrorShape, Defect::HiddenRetry],
        script: || Script::Refuse(BAD_REQUEST),
        ..PLAIN
    },
    Probe {
        name: "error 400 instead of a stream",
        judges: &[Defect::ErrorShape, Defect::HiddenRetry],
        streams: true,
        script: || Script::Refuse(BAD_REQUEST),
        ..PLAIN
    },
    Probe {
        name: "error 401",
        judges: &[Defect::ErrorShape, Defect::HiddenRetry],
        script: || {
            Script::Refuse(Refusal {
                status: 401,
                kinds: ("invalid_request_error", "authentication_error"),
                code: Some("invalid_api_key"),
                message: "Incorrect API key provided.",
                retry_after: None,
            })
        },
        ..PLAIN
    },
    Probe {
        name: "error 429",
        judges: &[Defect::ErrorShape, Defect::HiddenRetry],
        script: || {
            Script::Refuse(Refusal {
                status: 429,
                kinds: ("requests", "rate_limit_error"),
                code: Some("rate_limit_exceeded"),
                message: "Rate limit reached for requests per minute.",
                retry_after: Some("1"),
            })
        },
        ..PLAIN
    },
    Probe {
        name: "error 500",
        judges: &[Defect::ErrorShape, Defect::HiddenRetry],
        script: || {
            Script::Refuse(Refusal {
                status: 500,
                kinds: ("server_error", "api_error"),
                code: None,
                message: "The server had an error while processing your request.",
                retry_after: None,
            })
        },
        ..PLAIN
    },
    Probe {
        name: "error 529",
        apis: &[ProxyApi::Messages],
        judges: &[Defect::ErrorShape, Defect::HiddenRetry],
        script: || {
            Script::Refuse(Refusal {
                status: 529,
                kinds: ("overloaded", "overloaded_error"),
                code: None,
                message: "Overloaded",
                retry_after: None,
            })
        },
        ..PLAIN
    },
];

const BAD_REQUEST: Refusal = Refusal {
    status: 400,
    kinds: ("invalid_request_error", "invalid_request_error"),
    code: Some("context_length_exceeded"),
    message: "This model's maximum context length is 4096 tokens.",
    retry_after: None,
};

fn answer() -> Script {
    Script::Answer(Say::default())
}

fn in_step() -> Script {
    Script::Answer(Say {
        in_step: true,
        ..Say::default()
    })
}

fn tool_call() -> Script {
    Script::Answer(Say {
        tool_call: Some(ToolCallAnswer {
            name: "find_orders",
            // Models write blanks as they like; who reads JSON and writes it anew loses them.
            arguments: "{\"status\": \"late\",  \"limit\": 25, \"place\": \"the cold store\", \"since\": \"2026-03\"}",
        }),
        ..Say::default()
    })
}

fn thoughtful() -> Script {
    Script::Answer(Say {
        thinking: Some((
            "The report names the valve twice. Section 3 is the later entry, so it counts.",
            "RXhhbXBsZVNpZ25hdHVyZU9mVGhvdWdodHM=",
        )),
        ..Say::default()
    })
}

fn base(api: ProxyApi) -> Conversation {
    Conversation {
        system: vec![Block::Text(INSTRUCTIONS.to_owned())],
        parameters: api.least(),
        ..Conversation::default()
    }
}

fn plain(api: ProxyApi, canary: &str, seed: u64) -> Conversation {
    Conversation {
        turns: vec![Turn::user(format!(
            "{}\nWhat was agreed at {canary}, and who is to do it?",
            report(seed, canary, LONG)
        ))],
        ..base(api)
    }
}

fn with_usage(api: ProxyApi, canary: &str, seed: u64) -> Conversation {
    let mut conversation = plain(api, canary, seed);
    if api == ProxyApi::Chat {
        let wish = json!({"include_usage": true});
        conversation
            .parameters
            .insert("stream_options".to_owned(), wish);
    }
    conversation
}

fn conversation(api: ProxyApi, canary: &str, seed: u64) -> Conversation {
    let first = format!(
        "{}\nWhich section of the report on {canary} is about the valve?",
        report(seed, canary, LONG)
    );
    let mut named = Turn::user(first);
    named.name = Some("marta");
    let mut last = Turn::user(format!(
        "And what does the report on {canary} say about boxes without a label?"
    ));
    last.name = Some("jonas");
    let developer = "Write numbers as digits, and give lengths in millimetres as the report does.";
    Conversation {
        turns: vec![
            Turn::of(Role::Developer, vec![Block::Text(developer.to_owned())]),
            named,
            Turn::assistant(
                "Section 3 is about the sprinkler valve; section 7 only mentions that it was seen.",
            ),
            last,
        ],
        parameters: every_parameter(api),
        ..base(api)
    }
}

/// Members of a body that a proxy has no reason to touch.
fn every_parameter(api: ProxyApi) -> Map<String, Value> {
    let mut parameters = api.least();
    parameters.extend(members(match api {
        ProxyApi::Chat => json!({"top_p": 0.9, "seed": 7, "stop": ["END OF REPORT"],
            "presence_penalty": 0.25, "logprobs": true, "top_logprobs": 2,
            "metadata": {"team": "inspection"}, "user": "inspector-7"}),
        ProxyApi::Messages => json!({"top_k": 40, "stop_sequences": ["END OF REPORT"],
            "metadata": {"user_id": "inspector-7"}, "service_tier": "auto"}),
        ProxyApi::Responses => json!({"top_p": 0.9, "store": false, "truncation": "disabled",
            "metadata": {"team": "inspection"}, "user": "inspector-7"}),
        ProxyApi::Completions => json!({}),
        ProxyApi::Gemini => json!({"generationConfig": {"temperature": 0.5, "maxOutputTokens": 300,
            "topP": 0.9, "topK": 40, "seed": 7, "stopSequences": ["END OF REPORT"]},
            "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT",
                "threshold": "BLOCK_ONLY_HIGH"}], "labels": {"team": "inspection"}}),
    }));
    parameters
}

fn tools() -> Vec<Tool> {
    vec![
        Tool {
            name: "find_orders",
            description: "Finds orders of a place by their status.",
            // The order of members is not that of the alphabet.
            schema: json!({"type": "object", "properties": {
                "status": {"type": "string", "enum": ["late", "delivered", "returned"]},
                "place": {"type": "string", "description": "Where, such as the cold store"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100},
                "since": {"type": "string"}},
                "required": ["status", "place"], "additionalProperties": false}),
            is_marked: false,
        },
        Tool {
            name: "call_inspector",
            description: "Asks an inspector to come.",
            schema: json!({"type": "object", "properties": {
                "who": {"type": "string"}, "reason": {"type": "string"}},
                "required": ["who"]}),
            is_marked: false,
        },
    ]
}

fn tool_round_trip(api: ProxyApi, canary: &str, seed: u64) -> Conversation {
    let found = records(seed, canary, 90).to_string();
    let calls = vec![
        Block::Text("I look the orders up and ask for an inspector.".to_owned()),
        Block::ToolCall {
            id: "call_first7Qx",
            name: "find_orders",
            input: json!({"status": "late", "place": "the cold store"}),
        },
        Block::ToolCall {
            id: "call_second9Zk",
            name: "call_inspector",
            input: json!({"who": "Elin Dahl", "reason": "late deliveries"}),
        },
    ];
    let results = vec![
        Block::ToolResult {
            id: "call_first7Qx",
            text: found,
            is_error: false,
        },
        Block::ToolResult {
            id: "call_second9Zk",
            text: "no inspector of this name is on duty".to_owned(),
            is_error: true,
        },
        Block::Text(format!("Which orders of {canary} came late?")),
    ];
    Conversation {
        turns: vec![
            Turn::user(format!(
                "Look up the late orders of the site {canary} and have somebody check the cold store."
            )),
            Turn::of(Role::Assistant, calls),
            Turn::of(Role::User, results),
        ],
        tools: tools(),
        ..base(api)
    }
}

fn image(api: ProxyApi, canary: &str, seed: u64) -> Conversation {
    let blocks = vec![
        Block::Text(report(seed, canary, LONG)),
        Block::Image,
        Block::File,
        Block::Text(format!("Does the picture show the site {canary}?")),
    ];
    Conversation {
        turns: vec![Turn::of(Role::User, blocks)],
        ..base(api)
    }
}

fn thinking(api: ProxyApi, canary: &str, seed: u64) -> Conversation {
    let mut conversation = base(api);
    let thoughts = vec![
        Block::Thinking {
            text: "They ask for the valve, which section 3 is about.",
            signature: "U2lnbmF0dXJlT2ZUaGVGaXJzdFRob3VnaHQ=",
        },
        Block::HiddenThinking("SGlkZGVuVGhvdWdodHNPZlRoZU1vZGVs"),
        Block::Text("Section 3 is about the valve.".to_owned()),
    ];
    conversation.turns = vec![
        Turn::user(format!(
            "{}\nWhich section is about the valve of {canary}?",
            report(seed, canary, LONG)
        )),
        Turn::of(Role::Assistant, thoughts),
        Turn::user(format!("And what was its price at {canary}?")),
    ];
    conversation.parameters = members(match api {
        ProxyApi::Messages => json!({"max_tokens": 4096,
            "thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ProxyApi::Gemini => json!({"generationConfig": {"maxOutputTokens": 4096,
            "thinkingConfig": {"includeThoughts": true, "thinkingBudget": 2048}}}),
        _ => json!({"max_output_tokens": 4096, "store": false,
            "include": ["reasoning.encrypted_content"]}),
    });
    conversation
}

fn cache_marks(api: ProxyApi, canary: &str, seed: u64) -> Conversation {
    let mut conversation = base(api);
    let text = report(seed, canary, LONG);
    let question = format!("Who visited {canary}?");
    match api {
        ProxyApi::Messages => {
            conversation.system = vec![
                Block::Text(INSTRUCTIONS.to_owned()),
                Block::Marked {
                    text: "The reports are in English; answer in English too.".to_owned(),
                    ttl: "1h",
                },
            ];
            conversation.tools = tools();
            // Marks that last longer have to come first.
            conversation.tools[1].is_marked = true;
            let marked = Block::Marked { text, ttl: "" };
            let blocks = vec![marked, Block::Text(question)];
            conversation.turns = vec![Turn::of(Role::User, blocks)];
        }
        _ => {
            conversation.turns = vec![Turn::user(format!("{text}\n{question}"))];
            conversation.parameters.extend(members(
                json!({"prompt_cache_key": "inspection-reports", "prompt_cache_retention": "24h"}),
            ));
        }
    }
    conversation
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Route, WireRequest};

    #[test]
    fn probes_are_long_and_carry_their_canary() {
        for probe in PROBES {
            for api in probe.apis {
                let conversation = (probe.ask)(*api, "Braladiwick", 5);
                let body = conversation.body(api.format(), "m", probe.streams);
                let text = body.to_string();
                // A request of less than 4,000 tokens may switch a transform off for good.
                assert!(text.len() > 16_000, "{} {api:?}", probe.name);
                let route = Route::of("POST", &api.path("m", probe.streams));
                let request = WireRequest::of(&route, &body).unwrap();
                assert!(
                    request.newest_text().contains("Braladiwick"),
                    "{}",
                    probe.name
                );
                assert_eq!(request.streams, probe.streams);
            }
        }
    }

    #[test]
    fn requests_have_what_their_probe_is_about() {
        let read = |ask: fn(ProxyApi, &str, u64) -> Conversation, api: ProxyApi| {
            let body = ask(api, "Braladiwick", 5).body(api.format(), "m", false);
            WireRequest::of(&Route::of("POST", &api.path("m", false)), &body).unwrap()
        };
        let marks = read(cache_marks, ProxyApi::Messages).cache_marks();
        assert_eq!(marks.len(), 3);
        assert_eq!(read(cache_marks, ProxyApi::Chat).cache_marks().len(), 2);
        let roles: Vec<String> = read(conversation, ProxyApi::Chat)
            .messages
            .iter()
            .map(|message| message.role.clone())
            .collect();
        assert_eq!(roles, ["system", "developer", "user", "assistant", "user"]);
        let roles: Vec<String> = read(tool_round_trip, ProxyApi::Chat)
            .messages
            .iter()
            .map(|message| message.role.clone())
            .collect();
        assert_eq!(
            roles,
            ["system", "user", "assistant", "tool", "tool", "user"]
        );
        assert!(read(plain, ProxyApi::Completions).wants_likelihoods);
        let gemini = read(tool_round_trip, ProxyApi::Gemini);
        assert_eq!(gemini.model.as_deref(), Some("m"));
        assert_eq!((gemini.messages.len(), gemini.tools.len()), (4, 2));
    }
}
