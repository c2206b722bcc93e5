//! `Lane`: one instance, what it was told, and what was seen of it.

use std::sync::Arc;

use futures_util::future::join_all;

use super::Stage;
use super::observation::{Asked, Observation, Observations, Purpose, Trouble};
use super::usage::Usage;
use crate::memory::{MemoryQuery, MemorySystem};
use crate::model::Example;
use crate::system::SystemError;

/// One instance in one stage.
pub(super) struct Lane {
    usage: Arc<Usage>,
    stage: Stage,
    memory: Arc<dyn MemorySystem>,
    /// The stories that it has taken in, the last one being what it holds.
    stories: Vec<usize>,
    pub(super) seen: Observations,
}

impl Lane {
    /// A new instance, or what kept it from being opened.
    pub(super) async fn open(usage: &Arc<Usage>, stage: Stage) -> Result<Self, Observations> {
        match usage.provider.open().await {
            Ok(memory) => Ok(Self {
                usage: Arc::clone(usage),
                stage,
                memory,
                stories: Vec::new(),
                seen: Observations {
                    calls: 1,
                    ..Observations::default()
                },
            }),
            Err(error) => Err(Observations {
                troubles: vec![Trouble {
                    stage,
                    story: None,
                    call: "open",
                    question: None,
                    message: error.to_string(),
                }],
                ..Observations::default()
            }),
        }
    }

    /// Forgets, then takes in a story; whether that worked.
    pub(super) async fn take_in(&mut self, story: usize) -> bool {
        if !self.reset(story).await {
            return false;
        }
        // Even a memory that never waits then meets others half-way.
        tokio::task::yield_now().await;
        self.stories.push(story);
        let turns = &self.usage.stories.get(story).turns;
        let taken = self.memory.ingest(turns).await;
        self.note("ingest", story, taken).is_some()
    }

    /// Forgets; whether that worked.
    pub(super) async fn reset(&mut self, story: usize) -> bool {
        let reset = self.memory.reset().await;
        self.note("reset", story, reset).is_some()
    }

    /// Its state; `None` when it has none or fails, which is then noted.
    pub(super) async fn save(&mut self, story: usize) -> Option<Vec<u8>> {
        let saved = self.memory.save().await;
        let state = self.note("save", story, saved)?;
        if state.is_none() {
            let why = "it does not save what it has taken in".to_owned();
            self.seen.skipped.push((self.stage, why));
        }
        state
    }

    /// Takes a state back; whether that worked.
    pub(super) async fn load(&mut self, story: usize, state: &[u8]) -> bool {
        let loaded = self.memory.load(state).await;
        let loaded = self.note("load", story, loaded);
        if loaded == Some(false) {
            self.seen.refused = Some(story);
        }
        loaded == Some(true)
    }

    /// Asks for every fact of a story, at the same time if they may `overlap`.
    pub(super) async fn ask_all(&mut self, story: usize, overlap: bool) {
        let facts = self.usage.stories.get(story).facts.len();
        if !overlap {
            for fact in 0..facts {
                self.ask(story, Asked::Fact(fact), Purpose::Plain).await;
            }
            return;
        }
        let this = &*self;
        let asked = (0..facts).map(|fact| this.answer(story, Asked::Fact(fact), Purpose::Plain));
        let answers = join_all(asked).await;
        for (fact, answer) in answers.into_iter().enumerate() {
            self.put(story, Asked::Fact(fact), answer);
        }
    }

    /// Asks one question.
    pub(super) async fn ask(&mut self, story: usize, asked: Asked, purpose: Purpose) {
        let answer = self.answer(story, asked, purpose).await;
        self.put(story, asked, answer);
    }

    /// What it said to a question about this story.
    pub(super) fn said(&self, story: usize, asked: Asked) -> Option<String> {
        let mut answers = self.seen.answers.iter().rev();
        let found = answers.find(|seen| seen.story == story && seen.asked == asked);
        found.map(|seen| seen.answer.clone())
    }

    async fn answer(
        &self,
        story: usize,
        asked: Asked,
        purpose: Purpose,
    ) -> Result<Observation, SystemError> {
        tokio::task::yield_now().await;
        let question = self.question(story, asked);
        let example = Example::new()
            .with("id", format!("{} {story} {asked:?}", self.stage))
            .with("question", question.as_str());
        let query = MemoryQuery {
            question: &question,
            asked: None,
            budget_tokens: match purpose {
                Purpose::Budget { tokens } => Some(tokens),
                _ => None,
            },
            evidence: None,
            example: &example,
        };
        let answer = self.memory.query(&query).await?;
        let is_before = |known: &&usize| **known != story;
        Ok(Observation {
            stage: self.stage,
            story,
            asked,
            purpose,
            earlier_stories: self.stories.iter().filter(is_before).copied().collect(),
            answer: answer.answer,
            context: answer.context,
            is_answered_by_system: answer.output.is_some(),
            context_tokens: answer.context_tokens,
        })
    }

    fn question(&self, story: usize, asked: Asked) -> String {
        let stories = &self.usage.stories;
        let fact = match asked {
            Asked::Fact(fact) => stories.get(story).facts.get(fact),
            Asked::FactOf(other) => stories.get(other).facts.last(),
        };
        fact.map(|fact| fact.question.clone()).unwrap_or_default()
    }

    fn put(&mut self, story: usize, asked: Asked, answer: Result<Observation, SystemError>) {
        self.usage.tell(self.stage);
        match answer {
            Ok(answer) => {
                self.seen.calls += 1;
                self.seen.answers.push(answer);
            }
            Err(error) => self.seen.troubles.push(Trouble {
                stage: self.stage,
                story: Some(story),
                call: "query",
                question: Some(self.question(story, asked)),
                message: error.to_string(),
            }),
        }
    }

    fn note<T>(
        &mut self,
        call: &'static str,
        story: usize,
        outcome: Result<T, SystemError>,
    ) -> Option<T> {
        match outcome {
            Ok(value) => {
                self.seen.calls += 1;
                Some(value)
            }
            Err(error) => {
                self.seen.troubles.push(Trouble {
                    stage: self.stage,
                    story: Some(story),
                    call,
                    question: None,
                    message: error.to_string(),
                });
                None
            }
        }
    }
}
