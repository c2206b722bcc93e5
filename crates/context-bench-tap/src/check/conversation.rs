//! [`Conversation`]: what a probe asks, and the same as a request of each API.

use serde_json::{Map, Value, json};

use super::gemini;
use super::material::{FILE, PICTURE};
use crate::wire::WireFormat;

/// What a probe asks, whatever the API.
#[derive(Debug, Clone, Default)]
pub(super) struct Conversation {
    /// What the model is told to be.
    pub(super) system: Vec<Block>,
    pub(super) turns: Vec<Turn>,
    pub(super) tools: Vec<Tool>,
    /// Members of the body beside the conversation, as the API spells them.
    pub(super) parameters: Map<String, Value>,
}

/// One turn.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) role: Role,
    /// Who speaks, where the API has a place for it.
    pub(super) name: Option<&'static str>,
    pub(super) blocks: Vec<Block>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Only OpenAI's APIs know it; elsewhere the turn is left out.
    Developer,
    User,
    Assistant,
}

/// A part of a turn. What an API has no place for is left out of its request.
#[derive(Debug, Clone)]
pub(super) enum Block {
    Text(String),
    /// A text with a mark for the cache of the provider.
    Marked {
        text: String,
        ttl: &'static str,
    },
    Image,
    File,
    Thinking {
        text: &'static str,
        signature: &'static str,
    },
    HiddenThinking(&'static str),
    ToolCall {
        id: &'static str,
        name: &'static str,
        input: Value,
    },
    ToolResult {
        id: &'static str,
        text: String,
        is_error: bool,
    },
}

/// A tool. Members of its schema have an order, which caches of providers depend on.
#[derive(Debug, Clone)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) schema: Value,
    pub(super) is_marked: bool,
}

impl Turn {
    pub(super) fn user(text: impl Into<String>) -> Self {
        Self::of(Role::User, vec![Block::Text(text.into())])
    }

    pub(super) fn assistant(text: impl Into<String>) -> Self {
        Self::of(Role::Assistant, vec![Block::Text(text.into())])
    }

    pub(super) fn of(role: Role, blocks: Vec<Block>) -> Self {
        Self {
            role,
            name: None,
            blocks,
        }
    }
}

impl Conversation {
    /// The body of a request, with its members in the order in which clients write them.
    pub(super) fn body(&self, format: WireFormat, model: &str, streams: bool) -> Value {
        let mut body = Map::new();
        if format == WireFormat::Gemini {
            gemini::request(self, &mut body);
            body.extend(self.parameters.clone());
            return Value::Object(body);
        }
        body.insert("model".to_owned(), model.into());
        match format {
            WireFormat::AnthropicMessages => self.anthropic(&mut body),
            WireFormat::OpenaiResponses => self.responses(&mut body),
            WireFormat::OpenaiCompletions => self.completions(&mut body),
            _ => self.chat(&mut body),
        }
        body.extend(self.parameters.clone());
        if streams {
            body.insert("stream".to_owned(), true.into());
        }
        Value::Object(body)
    }

    fn chat(&self, body: &mut Map<String, Value>) {
        let mut messages = Vec::new();
        if !self.system.is_empty() {
            messages.push(json!({"role": "system", "content": chat_content(&self.system)}));
        }
        for turn in &self.turns {
            chat_turn(turn, &mut messages);
        }
        body.insert("messages".to_owned(), Value::Array(messages));
        self.insert_tools(body, |tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.schema}})
        });
    }

    fn responses(&self, body: &mut Map<String, Value>) {
        let system: Vec<&str> = self.system.iter().filter_map(Block::text).collect();
        if !system.is_empty() {
            body.insert("instructions".to_owned(), system.join("\n").into());
        }
        let mut input = Vec::new();
        for turn in &self.turns {
            responses_turn(turn, &mut input);
        }
        body.insert("input".to_owned(), Value::Array(input));
        self.insert_tools(body, |tool| {
            json!({"type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.schema, "strict": false})
        });
    }

    fn anthropic(&self, body: &mut Map<String, Value>) {
        let system = match self.system.as_slice() {
            [] => None,
            [Block::Text(text)] => Some(Value::String(text.clone())),
            blocks => Some(blocks.iter().filter_map(anthropic_block).collect()),
        };
        body.extend(system.map(|system| ("system".to_owned(), system)));
        let turns = self
            .turns
            .iter()
            .filter(|turn| turn.role != Role::Developer);
        let messages = turns.map(|turn| {
            let role = match turn.role {
                Role::Assistant => "assistant",
                _ => "user",
            };
            let content = match turn.blocks.as_slice() {
                [Block::Text(text)] => Value::String(text.clone()),
                blocks => blocks.iter().filter_map(anthropic_block).collect(),
            };
            json!({"role": role, "content": content})
        });
        body.insert("messages".to_owned(), messages.collect());
        self.insert_tools(body, |tool| {
            let mut value = json!({"name": tool.name, "description": tool.description,
                "input_schema": tool.schema});
            if tool.is_marked {
                value["cache_control"] = mark("1h");
            }
            value
        });
    }

    fn completions(&self, body: &mut Map<String, Value>) {
        let texts = self.turns.iter().flat_map(|turn| &turn.blocks);
        let texts: Vec<&str> = texts.filter_map(Block::text).collect();
        body.insert("prompt".to_owned(), texts.join("\n").into());
    }

    fn insert_tools(&self, body: &mut Map<String, Value>, shape: impl Fn(&Tool) -> Value) {
        if !self.tools.is_empty() {
            let tools = self.tools.iter().map(shape).collect();
            body.insert("tools".to_owned(), Value::Array(tools));
        }
    }
}

impl Block {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Marked { text, .. } => Some(text),
            _ => None,
        }
    }
}

fn chat_content(blocks: &[Block]) -> Value {
    if let [Block::Text(text)] = blocks {
        return Value::String(text.clone());
    }
    let parts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(json!({"type": "text", "text": text})),
        Block::Marked { text, ttl } => {
            Some(json!({"type": "text", "text": text, "cache_control": mark(ttl)}))
        }
        Block::Image => Some(json!({"type": "image_url",
            "image_url": {"url": format!("data:image/png;base64,{PICTURE}")}})),
        Block::File => Some(json!({"type": "file", "file": {"filename": "plan.pdf",
            "file_data": format!("data:application/pdf;base64,{FILE}")}})),
        _ => None,
    });
    parts.collect()
}

fn chat_turn(turn: &Turn, messages: &mut Vec<Value>) {
    for block in &turn.blocks {
        if let Block::ToolResult { id, text, .. } = block {
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": text}));
        }
    }
    let calls: Vec<Value> = turn
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::ToolCall { id, name, input } => Some(json!({"id": id, "type": "function",
                "function": {"name": name, "arguments": input.to_string()}})),
            _ => None,
        })
        .collect();
    let says = |block: &Block| {
        matches!(
            block,
            Block::Text(_) | Block::Marked { .. } | Block::Image | Block::File
        )
    };
    let said: Vec<Block> = turn
        .blocks
        .iter()
        .filter(|block| says(block))
        .cloned()
        .collect();
    if said.is_empty() && calls.is_empty() {
        return;
    }
    let role = match turn.role {
        Role::Developer => "developer",
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let mut message = Map::new();
    message.insert("role".to_owned(), role.into());
    if let Some(name) = turn.name {
        message.insert("name".to_owned(), name.into());
    }
    let content = match said.is_empty() {
        true => Value::Null,
        false => chat_content(&said),
    };
    message.insert("content".to_owned(), content);
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    messages.push(Value::Object(message));
}

fn responses_turn(turn: &Turn, input: &mut Vec<Value>) {
    let role = match turn.role {
        Role::Developer => "developer",
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let text_kind = match turn.role {
        Role::Assistant => "output_text",
        _ => "input_text",
    };
    let mut said = Vec::new();
    for block in &turn.blocks {
        match block {
            Block::Text(text) | Block::Marked { text, .. } => {
                said.push(json!({"type": text_kind, "text": text}));
            }
            Block::Image => said.push(json!({"type": "input_image",
                "image_url": format!("data:image/png;base64,{PICTURE}")})),
            Block::File => said.push(json!({"type": "input_file", "filename": "plan.pdf",
                "file_data": format!("data:application/pdf;base64,{FILE}")})),
            Block::Thinking { text, signature } => input.push(json!({"type": "reasoning",
                "id": "rs_probe", "summary": [{"type": "summary_text", "text": text}],
                "encrypted_content": signature})),
            Block::HiddenThinking(_) => {}
            Block::ToolCall {
                id,
                name,
                input: arguments,
            } => input.push(json!({
                "type": "function_call", "call_id": id, "name": name,
                "arguments": arguments.to_string()})),
            Block::ToolResult { id, text, .. } => input.push(json!({
                "type": "function_call_output", "call_id": id, "output": text})),
        }
    }
    if !said.is_empty() {
        input.push(json!({"type": "message", "role": role, "content": said}));
    }
}

fn anthropic_block(block: &Block) -> Option<Value> {
    Some(match block {
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Marked { text, ttl } => {
            json!({"type": "text", "text": text, "cache_control": mark(ttl)})
        }
        Block::Image => json!({"type": "image", "source": {"type": "base64",
            "media_type": "image/png", "data": PICTURE}}),
        Block::File => json!({"type": "document", "source": {"type": "base64",
            "media_type": "application/pdf", "data": FILE}}),
        Block::Thinking { text, signature } => {
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        Block::HiddenThinking(data) => json!({"type": "redacted_thinking", "data": data}),
        Block::ToolCall { id, name, input } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
        Block::ToolResult { id, text, is_error } => {
            let mut value = json!({"type": "tool_result", "tool_use_id": id, "content": text});
            if *is_error {
                value["is_error"] = true.into();
            }
            value
        }
    })
}

fn mark(ttl: &str) -> Value {
    match ttl {
        "" => json!({"type": "ephemeral"}),
        ttl => json!({"type": "ephemeral", "ttl": ttl}),
    }
}
