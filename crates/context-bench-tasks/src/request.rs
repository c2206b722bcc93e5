//! What is asked about one document.

use serde_json::{Map, Value, json};

/// A message of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: &'static str,
    /// What is said.
    pub content: String,
}

/// What stands before the answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Context {
    /// Plain text.
    Text(String),
    /// Messages; an answer is begun by the template unless the last message begins it.
    Chat {
        /// In order.
        messages: Vec<Message>,
        /// Whether the template begins the answer.
        add_generation_prompt: bool,
    },
}

impl Context {
    /// As JSON: text, or an object with `messages`.
    pub fn to_json(&self) -> Value {
        match self {
            Context::Text(text) => json!(text),
            Context::Chat {
                messages,
                add_generation_prompt,
            } => {
                let message =
                    |message: &Message| json!({"role": message.role, "content": message.content});
                let messages: Vec<Value> = messages.iter().map(message).collect();
                json!({"messages": messages, "add_generation_prompt": add_generation_prompt})
            }
        }
    }
}

/// What is asked about one document.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// The likelihood of each continuation.
    Choices {
        /// Before the continuations.
        context: Context,
        /// One per choice.
        continuations: Vec<String>,
    },
    /// The likelihood of one continuation after each context.
    Contexts {
        /// One per choice.
        contexts: Vec<Context>,
        /// The same after each.
        continuation: String,
        /// The context that is right.
        gold: Value,
    },
    /// The likelihood of one continuation.
    Continuation {
        /// Before the continuation.
        context: Context,
        /// What is scored.
        continuation: String,
    },
    /// The likelihood of a whole text.
    Text(String),
    /// An answer.
    Generation {
        /// The prompt.
        context: Context,
        /// Stops, temperature and so on.
        settings: Map<String, Value>,
        /// How many answers.
        repeats: usize,
    },
}

/// One document with what is asked about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Its place in the split.
    pub doc_id: usize,
    /// The right answer.
    pub target: Value,
    /// The choices.
    pub choices: Option<Vec<String>>,
    /// What is asked.
    pub ask: Ask,
}

impl Request {
    /// What says which choice is right.
    pub fn gold(&self) -> &Value {
        match &self.ask {
            Ask::Contexts { gold, .. } => gold,
            _ => &self.target,
        }
    }

    /// As JSON, in the words of the worked cases.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        out.insert("doc_id".into(), json!(self.doc_id));
        out.insert("target".into(), self.target.clone());
        if let Some(choices) = &self.choices {
            out.insert("choices".into(), json!(choices));
        }
        let mut put = |key: &str, value: Value| {
            out.insert(key.to_owned(), value);
        };
        match &self.ask {
            Ask::Choices {
                context,
                continuations,
            } => {
                put("request_type", json!("loglikelihood"));
                put("context", context.to_json());
                put("continuations", json!(continuations));
            }
            Ask::Contexts {
                contexts,
                continuation,
                ..
            } => {
                put("request_type", json!("loglikelihood"));
                put("contexts", contexts.iter().map(Context::to_json).collect());
                put("continuation", json!(continuation));
            }
            Ask::Continuation {
                context,
                continuation,
            } => {
                put("request_type", json!("loglikelihood"));
                put("context", context.to_json());
                put("continuations", json!([continuation]));
            }
            Ask::Text(text) => {
                put("request_type", json!("loglikelihood_rolling"));
                put("text", json!(text));
            }
            Ask::Generation {
                context,
                settings,
                repeats,
            } => {
                put("request_type", json!("generate_until"));
                put("context", context.to_json());
                put("generation_kwargs", Value::Object(settings.clone()));
                put("repeats", json!(repeats));
            }
        }
        Value::Object(out)
    }
}
