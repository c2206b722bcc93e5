//! `Usage`: a memory put to use, stage by stage, as runs do it and as they must not.
//!
//! Nothing is judged here: what is seen is written down.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::{JoinError, JoinSet};

use super::lane::Lane;
use super::observation::{Asked, Observation, Observations, Purpose, Trouble};
use super::story::{CORRECTED, Stories};
use super::{CheckProgress, CheckSettings, OnCheckProgress, Stage};
use crate::memory::{Instances, MemoryProvider};

/// The facts that are asked for twice: one that is told once, one that is corrected.
const REPEATED: [usize; 2] = [0, CORRECTED];
/// The fact that is asked for under a budget.
const BUDGETED: usize = 1;

/// A memory and what it is used with.
pub(super) struct Usage {
    pub(super) provider: Arc<dyn MemoryProvider>,
    pub(super) stories: Stories,
    pub(super) settings: CheckSettings,
    pub(super) on_progress: OnCheckProgress,
    pub(super) asked: AtomicUsize,
}

impl Usage {
    /// Runs all stages, one after the other. Dropping the future ends what is under way.
    pub(super) async fn observe(self: &Arc<Self>) -> Observations {
        let mut seen = Observations::default();
        for stage in Stage::ALL {
            let usage = Arc::clone(self);
            // A task of its own: a panic of the memory is one of its failures.
            let mut task = JoinSet::new();
            task.spawn(async move { usage.run(stage).await });
            while let Some(ended) = task.join_next().await {
                seen.extend(ended.unwrap_or_else(|error| panicked(stage, error)));
            }
        }
        seen
    }

    async fn run(self: Arc<Self>, stage: Stage) -> Observations {
        let is_alone = self.provider.instances() == Instances::One;
        match stage {
            Stage::Interleaved | Stage::Parallel if is_alone => Observations {
                skipped: vec![(
                    stage,
                    "there is only one instance, which serves one conversation at a time".into(),
                )],
                ..Observations::default()
            },
            Stage::OneAfterTheOther => self.one_after_the_other().await,
            Stage::Interleaved => self.interleaved().await,
            Stage::Parallel => self.parallel().await,
            Stage::SavedAndLoaded => self.saved_and_loaded(is_alone).await,
        }
    }

    /// How many questions there are, when every call succeeds.
    pub(super) fn n_questions(&self) -> usize {
        let of = |stage| {
            let stories = self.stories.of(stage);
            let facts = stories.first().map(|at| self.stories.get(*at).facts.len());
            (stories.len(), facts.unwrap_or_default())
        };
        let per_stage = Stage::ALL.map(|stage| match (stage, of(stage)) {
            (Stage::OneAfterTheOther, (n, facts)) => n * (facts + 1 + REPEATED.len() + 1),
            (Stage::SavedAndLoaded, (_, facts)) => 3 * facts,
            (_, (n, facts)) => n * (facts + 1),
        });
        per_stage.iter().sum()
    }

    /// Tells that one more question was asked.
    pub(super) fn tell(&self, stage: Stage) {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let planned = self.n_questions();
        (self.on_progress)(CheckProgress {
            stage,
            asked,
            planned,
        });
    }

    async fn one_after_the_other(self: &Arc<Self>) -> Observations {
        let stage = Stage::OneAfterTheOther;
        let mut lane = match Lane::open(self, stage).await {
            Ok(lane) => lane,
            Err(seen) => return seen,
        };
        let stories = self.stories.of(stage);
        for (at, &story) in stories.iter().enumerate() {
            if !lane.take_in(story).await {
                continue;
            }
            lane.ask_all(story, false).await;
            // The first one has no story before it; another one was never told of.
            let other = stories[if at > 0 { at - 1 } else { stories.len() - 1 }];
            lane.ask(story, Asked::FactOf(other), Purpose::Plain).await;
            for fact in REPEATED {
                let asked = Asked::Fact(fact);
                if let Some(before) = lane.said(story, asked) {
                    lane.ask(story, asked, Purpose::Repeat { before }).await;
                }
            }
            let tokens = self.settings.budget_tokens;
            lane.ask(story, Asked::Fact(BUDGETED), Purpose::Budget { tokens })
                .await;
        }
        lane.seen
    }

    async fn interleaved(self: &Arc<Self>) -> Observations {
        let stage = Stage::Interleaved;
        let mut seen = Observations::default();
        let mut lanes = Vec::new();
        for _ in 0..self.settings.instances {
            match Lane::open(self, stage).await {
                Ok(lane) => lanes.push(lane),
                Err(trouble) => seen.extend(trouble),
            }
        }
        let stories = self.stories.of(stage);
        for round in stories.chunks(lanes.len().max(1)) {
            let mut holding = Vec::new();
            for (lane, &story) in lanes.iter_mut().zip(round) {
                holding.push(lane.take_in(story).await);
            }
            let n_facts = round.first().map(|at| self.stories.get(*at).facts.len());
            let facts = (0..n_facts.unwrap_or_default()).map(Some).chain([None]);
            for fact in facts {
                for (at, lane) in lanes.iter_mut().enumerate().take(round.len()) {
                    if !holding[at] {
                        continue;
                    }
                    let asked = match fact {
                        Some(fact) => Asked::Fact(fact),
                        None => match other(&stories, round[at]) {
                            Some(other) => Asked::FactOf(other),
                            None => continue,
                        },
                    };
                    lane.ask(round[at], asked, Purpose::Plain).await;
                }
            }
        }
        for lane in lanes {
            seen.extend(lane.seen);
        }
        seen
    }

    async fn parallel(self: &Arc<Self>) -> Observations {
        let stage = Stage::Parallel;
        let stories = self.stories.of(stage);
        let n_lanes = self.settings.instances.min(stories.len());
        let mut tasks = JoinSet::new();
        for first in 0..n_lanes {
            let usage = Arc::clone(self);
            let all = stories.clone();
            let mine: Vec<usize> = all.iter().copied().skip(first).step_by(n_lanes).collect();
            let overlap = usage.provider.queries_overlap();
            tasks.spawn(async move {
                let mut lane = match Lane::open(&usage, stage).await {
                    Ok(lane) => lane,
                    Err(seen) => return (first, seen),
                };
                for story in mine {
                    if !lane.take_in(story).await {
                        continue;
                    }
                    lane.ask_all(story, overlap).await;
                    if let Some(other) = other(&all, story) {
                        lane.ask(story, Asked::FactOf(other), Purpose::Plain).await;
                    }
                }
                (first, lane.seen)
            });
        }
        let mut ended = Vec::new();
        while let Some(task) = tasks.join_next().await {
            ended.push(task.unwrap_or_else(|error| (usize::MAX, panicked(stage, error))));
        }
        // Reports do not depend on who was first.
        ended.sort_by_key(|(lane, _)| *lane);
        let mut seen = Observations::default();
        for (_, lane) in ended {
            seen.extend(lane);
        }
        seen
    }

    async fn saved_and_loaded(self: &Arc<Self>, is_alone: bool) -> Observations {
        let stage = Stage::SavedAndLoaded;
        let mut lane = match Lane::open(self, stage).await {
            Ok(lane) => lane,
            Err(seen) => return seen,
        };
        let stories = self.stories.of(stage);
        let (Some(&story), Some(&other)) = (stories.first(), stories.get(1)) else {
            return lane.seen;
        };
        if !lane.take_in(story).await {
            return lane.seen;
        }
        lane.ask_all(story, false).await;
        let Some(state) = lane.save(story).await else {
            return lane.seen;
        };
        let before: Vec<Observation> = lane.seen.answers.clone();
        // Into an instance that has nothing, then into one that has something else.
        let mut second = match is_alone {
            true => lane,
            false => match Lane::open(self, stage).await {
                Ok(mut second) => {
                    second.seen.extend(lane.seen);
                    second
                }
                Err(trouble) => {
                    lane.seen.extend(trouble);
                    return lane.seen;
                }
            },
        };
        for has_other in [false, true] {
            let ready = match has_other {
                true => second.take_in(other).await,
                false => !is_alone || second.reset(story).await,
            };
            if ready && second.load(story, &state).await {
                for seen in &before {
                    let before = seen.answer.clone();
                    second
                        .ask(story, seen.asked, Purpose::AfterLoad { before })
                        .await;
                }
            }
        }
        second.seen
    }
}

/// A story whose own fact the instance of this one was never told.
fn other(stories: &[usize], story: usize) -> Option<usize> {
    let at = stories.iter().position(|known| *known == story)?;
    let other = stories[(at + 1) % stories.len()];
    (other != story).then_some(other)
}

/// What a task that did not return leaves.
fn panicked(stage: Stage, error: JoinError) -> Observations {
    let message = match error.try_into_panic() {
        Ok(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            format!("the memory panicked: {}", text.unwrap_or_default())
        }
        Err(error) => error.to_string(),
    };
    Observations {
        troubles: vec![Trouble {
            stage,
            story: None,
            call: "run",
            question: None,
            message,
        }],
        ..Observations::default()
    }
}
