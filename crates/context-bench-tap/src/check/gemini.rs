//! Gemini's shape of what probes ask and the scripted upstream says. Its model and the wish for a
//! stream stand in the path.

use serde_json::{Map, Value, json};

use super::answer::{Answer, PIECES, data, pieces};
use super::conversation::{Block, Conversation, Role};
use super::material::{FILE, PICTURE};

/// The members of a request that hold the conversation.
pub(super) fn request(conversation: &Conversation, body: &mut Map<String, Value>) {
    let parts = |blocks: &[Block]| -> Value {
        let parts = blocks.iter().filter_map(|block| part(block, conversation));
        parts.collect()
    };
    if !conversation.system.is_empty() {
        let system = json!({"parts": parts(&conversation.system)});
        body.insert("systemInstruction".to_owned(), system);
    }
    let turns = conversation.turns.iter();
    let turns = turns.filter(|turn| turn.role != Role::Developer);
    let contents = turns.map(|turn| {
        let role = match turn.role {
            Role::Assistant => "model",
            _ => "user",
        };
        json!({"role": role, "parts": parts(&turn.blocks)})
    });
    body.insert("contents".to_owned(), contents.collect());
    if !conversation.tools.is_empty() {
        let functions = conversation.tools.iter().map(|tool| {
            json!({"name": tool.name, "description": tool.description,
                "parametersJsonSchema": tool.schema})
        });
        let functions: Vec<Value> = functions.collect();
        body.insert(
            "tools".to_owned(),
            json!([{"functionDeclarations": functions}]),
        );
    }
}

fn part(block: &Block, of: &Conversation) -> Option<Value> {
    Some(match block {
        Block::Text(text) | Block::Marked { text, .. } => json!({"text": text}),
        Block::Image => json!({"inlineData": {"mimeType": "image/png", "data": PICTURE}}),
        Block::File => json!({"inlineData": {"mimeType": "application/pdf", "data": FILE}}),
        Block::Thinking { text, signature } => {
            json!({"text": text, "thought": true, "thoughtSignature": signature})
        }
        Block::HiddenThinking(_) => return None,
        Block::ToolCall { id, name, input } => {
            json!({"functionCall": {"id": id, "name": name, "args": input}})
        }
        Block::ToolResult { id, text, is_error } => {
            let member = if *is_error { "error" } else { "result" };
            json!({"functionResponse": {"id": id, "name": called(of, id)?,
                "response": {member: text}}})
        }
    })
}

/// The name of the tool that was called with this id: results repeat it.
fn called(of: &Conversation, wanted: &str) -> Option<&'static str> {
    let mut blocks = of.turns.iter().flat_map(|turn| &turn.blocks);
    blocks.find_map(|block| match block {
        Block::ToolCall { id, name, .. } if *id == wanted => Some(*name),
        _ => None,
    })
}

/// A whole answer.
pub(super) fn body(answer: &Answer) -> Value {
    let mut parts = thoughts(answer);
    match &answer.tool_call {
        Some(_) => parts.extend(call(answer)),
        None => parts.push(json!({"text": answer.text})),
    }
    chunk(answer, &parts, true)
}

/// The chunks of a stream. A tool call comes whole.
pub(super) fn events(answer: &Answer) -> Vec<String> {
    let mut parts = thoughts(answer);
    match &answer.tool_call {
        Some(_) => parts.extend(call(answer)),
        None => {
            let texts = pieces(&answer.text, PIECES).into_iter();
            parts.extend(texts.map(|text| json!({"text": text})));
        }
    }
    let last = parts.len().saturating_sub(1);
    let chunks = parts.into_iter().enumerate();
    let chunks = chunks.map(|(at, part)| data(&chunk(answer, &[part], at == last)));
    chunks.collect()
}

fn thoughts(answer: &Answer) -> Vec<Value> {
    let thoughts = answer.thinking.iter().map(
        |(text, signature)| json!({"text": text, "thought": true, "thoughtSignature": signature}),
    );
    thoughts.collect()
}

fn call(answer: &Answer) -> Option<Value> {
    let call = answer.tool_call.as_ref()?;
    let arguments: Value = serde_json::from_str(call.arguments).unwrap_or_default();
    Some(json!({"functionCall": {"id": answer.call_id(), "name": call.name, "args": arguments}}))
}

fn chunk(answer: &Answer, parts: &[Value], is_last: bool) -> Value {
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    let mut usage = json!({"promptTokenCount": 4321, "cachedContentTokenCount": 1024,
        "totalTokenCount": 4398});
    if is_last {
        candidate["finishReason"] = "STOP".into();
        usage["candidatesTokenCount"] = 64.into();
        usage["thoughtsTokenCount"] = 13.into();
    }
    json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": answer.model,
        "responseId": format!("gemini-probe{}", answer.number)})
}

/// The body of an error.
pub(super) fn error(status: u16, message: &str) -> Value {
    let word = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    json!({"error": {"code": status, "message": message, "status": word}})
}
