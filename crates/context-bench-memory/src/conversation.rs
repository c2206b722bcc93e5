//! `Conversation`: sessions of turns, as a memory takes them in.

use std::fmt;
use std::sync::Arc;

use context_bench_scoring::digest;
use serde::{Deserialize, Serialize};

/// Names a turn inside its conversation; questions mark their evidence with it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnId(Arc<str>);

impl TurnId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Arc<str>>> From<T> for TurnId {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One thing that somebody said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Its id, unique inside the conversation.
    pub id: TurnId,
    /// `user`, `assistant` or `system`.
    pub role: String,
    /// Who speaks, where the data gives a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<Arc<str>>,
    /// What is said.
    pub text: String,
    /// What a picture shows that comes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
    /// When it is said, as the data writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Arc<str>>,
    /// The session that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Arc<str>>,
}

impl Turn {
    /// A turn with nothing but a role and a text.
    pub fn new(id: impl Into<TurnId>, role: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            role: role.into(),
            speaker: None,
            text: text.into(),
            picture: None,
            time: None,
            session: None,
        }
    }

    /// The turn as a model reads it: `[time] Speaker: text [shares picture]`. The role
    /// stands in for a speaker without a name. Time and speaker are part of it because
    /// questions ask for both.
    pub fn line(&self) -> String {
        let mut line = String::new();
        if let Some(time) = &self.time {
            line += &format!("[{time}] ");
        }
        line += self.speaker.as_deref().unwrap_or(&self.role);
        line += ": ";
        line += &self.content();
        line
    }

    /// What is said as a model reads it, without who says it and when:
    /// `text [shares picture]`.
    pub fn content(&self) -> String {
        match &self.picture {
            Some(picture) if self.text.is_empty() => format!("[shares {picture}]"),
            Some(picture) => format!("{} [shares {picture}]", self.text),
            None => self.text.clone(),
        }
    }

    /// What retrieval looks at: the speaker's name, the text, what the picture shows. The
    /// time is left out: every turn of a session has the same, and questions word it in
    /// other ways.
    pub fn searched(&self) -> String {
        match &self.speaker {
            Some(speaker) => format!("{speaker} {}", self.said()),
            None => self.said(),
        }
    }

    /// What is said and shown, without who says it.
    pub fn said(&self) -> String {
        match &self.picture {
            Some(picture) => format!("{} {picture}", self.text),
            None => self.text.clone(),
        }
    }
}

/// Turns that belong together in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its id, unique inside the conversation.
    pub id: Arc<str>,
    /// When it takes place, as the data writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Arc<str>>,
    /// What is said in it, in order.
    pub turns: Vec<Turn>,
}

/// Everything that a memory takes in before it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// Its id, unique inside the dataset.
    pub id: String,
    /// The sessions in the order in which they take place.
    pub sessions: Vec<Session>,
}

impl Conversation {
    /// All turns, in order.
    pub fn turns(&self) -> impl DoubleEndedIterator<Item = &Turn> {
        self.sessions.iter().flat_map(|session| &session.turns)
    }

    /// How many turns there are.
    pub fn n_turns(&self) -> usize {
        self.sessions
            .iter()
            .map(|session| session.turns.len())
            .sum()
    }

    /// A digest of the content: the same on every machine, another one for any change of
    /// a turn, its time or its place. Saved ingests are found by it.
    pub fn digest(&self) -> String {
        content_digest(self)
    }
}

/// A digest of a value by the JSON it is written as; the order of members is that of the type.
pub(crate) fn content_digest(value: &impl Serialize) -> String {
    // Our types have text keys and no maps, so writing cannot fail.
    digest::hex(&serde_json::to_vec(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_what_is_known() {
        let mut turn = Turn::new("1", "user", "Look!");
        assert_eq!(turn.line(), "user: Look!");
        turn.speaker = Some("Ann".into());
        turn.time = Some("8 May".into());
        turn.picture = Some("a cat".into());
        assert_eq!(turn.line(), "[8 May] Ann: Look! [shares a cat]");
        assert_eq!(turn.searched(), "Ann Look! a cat");
        turn.text.clear();
        assert_eq!(turn.line(), "[8 May] Ann: [shares a cat]");
    }

    #[test]
    fn digests_follow_the_content() {
        let mut conversation = Conversation {
            id: "c".into(),
            sessions: vec![Session {
                id: "s".into(),
                time: None,
                turns: vec![Turn::new("1", "user", "hi"), Turn::new("2", "user", "ho")],
            }],
        };
        let digest = conversation.digest();
        // Written down: a digest that changes makes every kept ingest useless.
        assert_eq!(digest, conversation.clone().digest());
        assert_eq!(digest.len(), 32);
        conversation.sessions[0].turns.swap(0, 1);
        assert_ne!(digest, conversation.digest());
    }
}
