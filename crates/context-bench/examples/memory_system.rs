//! A custom memory system: answers with the last turn that shares a word with the question.

use async_trait::async_trait;
use context_bench::memory::{MemorySystem, Recall};
use context_bench::{Turn, system::SystemError};

#[derive(Default)]
struct LastMention(Vec<Turn>);

#[async_trait]
impl MemorySystem for LastMention {
    fn name(&self) -> &str {
        "last mention"
    }
    async fn reset(&mut self) -> Result<(), SystemError> {
        self.0.clear();
        Ok(())
    }
    async fn ingest(&mut self, turns: &[Turn]) -> Result<(), SystemError> {
        self.0.extend_from_slice(turns);
        Ok(())
    }
    async fn query(&mut self, question: &str) -> Result<Recall, SystemError> {
        let shares = |turn: &&Turn| question.split(' ').any(|word| turn.content.contains(word));
        let turn = self.0.iter().rev().find(shares).ok_or("never mentioned")?;
        Ok(Recall::from(turn.content.as_str()))
    }
}

#[tokio::main]
async fn main() -> Result<(), SystemError> {
    let mut memory = LastMention::default();
    memory
        .ingest(&[Turn::user("my dog is Rex"), Turn::assistant("nice")])
        .await?;
    assert_eq!(memory.query("which dog").await?.answer, "my dog is Rex");
    Ok(())
}
