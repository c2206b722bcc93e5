//! A memory of your own: it remembers the last turn that mentions a word of the question.

use std::sync::Mutex;

use async_trait::async_trait;
use context_bench::Example;
use context_bench::memory::{Ingest, MemoryAnswer, MemoryQuery, MemorySystem, Turn};
use context_bench::system::SystemError;

#[derive(Default)]
struct LastMention {
    turns: Mutex<Vec<Turn>>,
}

#[async_trait]
impl MemorySystem for LastMention {
    async fn reset(&self) -> Result<(), SystemError> {
        self.turns.lock().map_err(|e| e.to_string())?.clear();
        Ok(())
    }

    async fn ingest(&self, turns: &[Turn]) -> Result<Ingest, SystemError> {
        let mut known = self.turns.lock().map_err(|e| e.to_string())?;
        known.extend_from_slice(turns);
        Ok(Ingest::default())
    }

    async fn query(&self, query: &MemoryQuery<'_>) -> Result<MemoryAnswer, SystemError> {
        let turns = self.turns.lock().map_err(|e| e.to_string())?;
        let words: Vec<&str> = query.question.split_whitespace().collect();
        let mentions = |turn: &&Turn| words.iter().any(|word| turn.text.contains(word));
        let found = turns.iter().rev().find(mentions);
        Ok(MemoryAnswer {
            answer: found.map_or_else(String::new, |turn| turn.text.clone()),
            recalled: Some(found.iter().map(|turn| turn.id.clone()).collect()),
            ..MemoryAnswer::default()
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), SystemError> {
    let memory = LastMention::default();
    memory.reset().await?;
    let turns = [
        Turn::new("1", "user", "My cat is called Tom"),
        Turn::new("2", "user", "I like tea"),
    ];
    memory.ingest(&turns).await?;
    let example = Example::new().with("question", "Which cat");
    let query = MemoryQuery {
        question: "Which cat",
        asked: None,
        budget_tokens: None,
        evidence: None,
        example: &example,
    };
    let found = memory.query(&query).await?;
    assert_eq!(found.answer, "My cat is called Tom");
    Ok(())
}
