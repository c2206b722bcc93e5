//! What a request says, in one shape for every API.

/// A message of a conversation. A system text that stands apart is a message of role `system`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// The role as the request spells it.
    pub role: String,
    /// The name of the speaker, where there is one.
    pub name: Option<String>,
    /// What it consists of, in order.
    pub parts: Vec<Part>,
}

impl Message {
    /// All its text: of texts, thoughts, arguments and results of tools, with newlines between.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().map(|part| part.text.as_str());
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        texts.join("\n")
    }

    /// Whether this is an instruction from whoever wrote the program.
    pub fn is_system(&self) -> bool {
        is_system(&self.role)
    }
}

/// Whether messages of this role are instructions from whoever wrote the program.
pub(super) fn is_system(role: &str) -> bool {
    matches!(role, "system" | "developer")
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// Its text; for what is no text, the JSON of it.
    pub text: String,
    /// A mark for the cache of the provider on it.
    pub cache: Option<CacheMark>,
}

/// What a part of a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartKind {
    /// Plain text.
    Text,
    /// A picture.
    Image,
    /// A file.
    Document,
    /// Sound.
    Audio,
    /// Thoughts of the model, open or hidden.
    Thinking,
    /// A tool that the model wants called; its arguments are the text.
    ToolCall {
        /// What the result refers to.
        id: String,
        /// The tool.
        name: String,
    },
    /// What a tool returned.
    ToolResult {
        /// The call that it belongs to.
        id: String,
        /// Whether the tool failed, where the request says so.
        is_error: bool,
    },
    /// What hangs on the part before it, such as citations; it has no text of its own.
    Attached(String),
    /// Anything else, by its `type`.
    Other(String),
}

impl PartKind {
    /// One word for it.
    pub fn name(&self) -> &str {
        match self {
            Self::Text => "text",
            Self::Image => "image",
            Self::Document => "document",
            Self::Audio => "audio",
            Self::Thinking => "thinking",
            Self::ToolCall { .. } => "tool_call",
            Self::ToolResult { .. } => "tool_result",
            Self::Attached(kind) | Self::Other(kind) => kind,
        }
    }
}

/// A mark that asks the provider to keep what comes before it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheMark {
    /// How long, as the request says; empty for the default.
    pub ttl: String,
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its name, or its type where it has none.
    pub name: String,
    /// All of its definition as JSON, with its members in the order of the request.
    pub definition: String,
    /// A mark for the cache of the provider on it.
    pub cache: Option<CacheMark>,
}

/// A call of a tool in an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// What the result will refer to.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
}
