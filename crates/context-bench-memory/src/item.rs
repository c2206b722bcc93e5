//! `MemoryItem`: everything that the typed form of a memory system may be given.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A thing to remember.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum MemoryItem {
    /// A turn of a conversation.
    ConversationTurn {
        /// What is said.
        content: String,
        /// `user` or `assistant`.
        role: String,
        /// When.
        #[serde(default)]
        timestamp: Option<String>,
        /// By whom.
        #[serde(default)]
        speaker: Option<String>,
        /// In which session.
        #[serde(default)]
        session_id: Option<String>,
    },
    /// A part of a document.
    DocumentChunk {
        /// Its text.
        content: String,
        /// The document.
        document_id: String,
        /// Which part it is.
        position: i64,
        /// Where the document comes from.
        #[serde(default)]
        source: Option<String>,
        /// Anything else.
        #[serde(default)]
        metadata: Map<String, Value>,
    },
    /// Something that happened on a platform.
    PlatformEvent {
        /// What it says.
        content: String,
        /// The platform.
        platform: String,
        /// When.
        timestamp: String,
        /// By whom.
        #[serde(default)]
        author: Option<String>,
        /// Where on the platform.
        #[serde(default)]
        channel: Option<String>,
        /// What kind of event.
        #[serde(default)]
        event_type: Option<String>,
    },
    /// A fact by name.
    Declaration {
        /// The name.
        key: String,
        /// The value.
        value: String,
        /// The turn that it comes from.
        #[serde(default)]
        source_turn_id: Option<String>,
    },
}

impl MemoryItem {
    /// The item as a line of a history that a model reads. Empty names count as missing.
    pub fn line(&self) -> String {
        let given = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
        match self {
            Self::ConversationTurn {
                content,
                role,
                speaker,
                ..
            } => {
                let role = role.to_uppercase();
                match given(speaker) {
                    Some(speaker) => format!("{speaker} ({role}): {content}"),
                    None => format!("{role}: {content}"),
                }
            }
            Self::DocumentChunk {
                content,
                document_id,
                position,
                source,
                ..
            } => {
                let source = given(source).unwrap_or_else(|| document_id.clone());
                format!("[DOC {source} #{position}] {content}")
            }
            Self::PlatformEvent {
                content,
                platform,
                timestamp,
                author,
                ..
            } => {
                let platform = platform.to_uppercase();
                let author = given(author).unwrap_or_else(|| "unknown".into());
                format!("[{platform} {timestamp}] {author}: {content}")
            }
            Self::Declaration { key, value, .. } => format!("[DECL {key}] {value}"),
        }
    }
}
