//! `MemoryDataset`: conversations with their questions, from the benchmarks' own files.
//!
//! | Benchmark | File | Told by the keys |
//! |---|---|---|
//! | LoCoMo | `locomo10.json`, or a conversation per line | `conversation`, `qa` |
//! | LongMemEval | `longmemeval_*.json`, or a question per line | `haystack_sessions` |

mod dict;
mod error;
mod field;
mod locomo;
mod longmemeval;
mod record;

use std::path::Path;

use context_bench_error::Place;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::error::MemoryDataError;
pub use self::locomo::locomo_question;

use self::field::Fields;
use crate::conversation::content_digest;
use crate::{Conversation, MemoryQuestion};

/// Whose layout a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Benchmark {
    /// LoCoMo (Maharana et al., 2024): long conversations of two people, many questions each.
    Locomo,
    /// LongMemEval (Wu et al., 2024): sessions of a user with an assistant, a question each.
    Longmemeval,
}

impl Benchmark {
    /// Its name in the catalog.
    pub fn name(self) -> &'static str {
        match self {
            Self::Locomo => "locomo",
            Self::Longmemeval => "longmemeval",
        }
    }

    fn of(fields: &Fields<'_>) -> Option<Self> {
        if fields.has("conversation") && fields.has("qa") {
            Some(Self::Locomo)
        } else if fields.has("haystack_sessions") {
            Some(Self::Longmemeval)
        } else {
            None
        }
    }
}

/// A conversation and what is asked about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryExample {
    /// What is taken in.
    pub conversation: Conversation,
    /// What is asked then.
    pub questions: Vec<MemoryQuestion>,
}

impl MemoryExample {
    /// Reads one record in a benchmark's own layout; `position` is the id of one that has
    /// none. What cannot be used goes to `skipped`.
    ///
    /// # Errors
    ///
    /// When the record is not in the layout of a benchmark.
    pub fn from_record(
        record: &Value,
        place: &Place,
        position: usize,
        skipped: &mut Vec<SkippedQuestion>,
    ) -> Result<Self, MemoryDataError> {
        let fields = Fields::of(record, place)?;
        match Benchmark::of(&fields) {
            Some(Benchmark::Locomo) => locomo::example(&fields, position, skipped),
            Some(Benchmark::Longmemeval) => longmemeval::example(&fields, position, skipped),
            None => Err(MemoryDataError::unknown_layout(&fields)),
        }
    }
}

/// A question that cannot be used, such as one without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedQuestion {
    /// The record that holds it.
    pub place: Place,
    /// Which one it is, and why it is left out.
    pub reason: String,
}

/// Conversations with their questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryDataset {
    /// Whose layout the file has.
    pub benchmark: Benchmark,
    /// The conversations, in the order of the file.
    pub examples: Vec<MemoryExample>,
    /// What was left out.
    pub skipped: Vec<SkippedQuestion>,
}

impl MemoryDataset {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// When it cannot be read, is not JSON, or is not in the layout of a benchmark.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, MemoryDataError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|source| MemoryDataError::Unreadable {
            place: Place::path(path),
            source,
        })?;
        Self::parse(&path.to_string_lossy(), &text)
    }

    /// Reads the text of a file; `file` is what errors call it. The text is a JSON list of
    /// records, or records one after the other, such as one per line.
    ///
    /// # Errors
    ///
    /// When it is not JSON, or not in the layout of a benchmark.
    ///
    /// ```
    /// use context_bench_memory::MemoryDataset;
    ///
    /// let text = r#"{"sample_id": "c1", "conversation": {"session_1": [
    ///     {"speaker": "Ann", "dia_id": "D1:1", "text": "I moved to Oslo."}]},
    ///   "qa": [{"question": "Where does Ann live?", "answer": "Oslo",
    ///     "evidence": ["D1:1"], "category": 4}]}"#;
    /// let dataset = MemoryDataset::parse("locomo.jsonl", text)?;
    /// assert_eq!(dataset.examples[0].questions[0].kind, "single_hop");
    /// # Ok::<(), context_bench_memory::MemoryDataError>(())
    /// ```
    pub fn parse(file: &str, text: &str) -> Result<Self, MemoryDataError> {
        let mut benchmark = None;
        let mut examples: Vec<MemoryExample> = Vec::new();
        let mut skipped = Vec::new();
        for (at, record) in record::records(file, text)?.into_iter().enumerate() {
            let fields = Fields::of(&record.value, &record.place)?;
            let found = Benchmark::of(&fields);
            let expected = *benchmark.get_or_insert(match found {
                Some(found) => found,
                None => return Err(MemoryDataError::unknown_layout(&fields)),
            });
            if found != Some(expected) {
                return Err(MemoryDataError::Mixed {
                    place: record.place,
                    expected: expected.name(),
                });
            }
            let example = match expected {
                Benchmark::Locomo => locomo::example(&fields, at, &mut skipped)?,
                Benchmark::Longmemeval => longmemeval::example(&fields, at, &mut skipped)?,
            };
            let id = &example.conversation.id;
            if examples.iter().any(|other| other.conversation.id == *id) {
                return Err(fields.wrong(format!("a second conversation has the id `{id}`")));
            }
            examples.push(example);
        }
        let Some(benchmark) = benchmark else {
            return Err(MemoryDataError::Empty {
                place: Place::file(file),
            });
        };
        Ok(Self {
            benchmark,
            examples,
            skipped,
        })
    }

    /// All questions, each with the position of its conversation.
    pub fn questions(&self) -> impl Iterator<Item = (usize, &MemoryQuestion)> {
        let examples = self.examples.iter().enumerate();
        examples.flat_map(|(at, example)| example.questions.iter().map(move |asked| (at, asked)))
    }

    /// A digest of conversations and questions, to stand beside every score.
    pub fn digest(&self) -> String {
        content_digest(&(self.benchmark, &self.examples))
    }
}
