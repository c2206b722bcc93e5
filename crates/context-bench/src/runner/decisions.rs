//! `Decisions`: whether the verdict about each system is there already, while a run goes on.
//!
//! Scores come in as calls end; they go into a monitor in the order in which examples were drawn and in
//! no other, because the first to end are the easy ones. Of what belongs together (a conversation,
//! attempts at one example) the mean goes in.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use tokio::sync::watch;

use crate::model::{EvalRow, Interval};
use crate::stats::{DifferenceMonitor, StatsError, Verdict};

/// When a run may end before its last example.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StopWhenDecided {
    /// The system that others are compared with.
    pub(crate) baseline: String,
    /// The score that decides.
    pub(crate) score_field: String,
    /// Its lowest and highest value.
    pub(crate) scores: Interval,
    /// How much may be lost.
    pub(crate) margin: f64,
    /// What decides the order of examples.
    pub(crate) seed: u64,
}

/// The error of all looks at one system together.
const ALPHA: f64 = 0.05;

/// What a run found out about one system while it went on.
#[derive(Debug, Clone)]
pub(crate) struct Decision {
    /// The index of the system.
    pub(crate) system: usize,
    pub(crate) verdict: Verdict,
    /// Examples, conversations or whatever else was drawn as one, with a score of both.
    pub(crate) clusters: u64,
    /// Examples that were taken into account, and those of which a score is missing.
    pub(crate) examples: usize,
    pub(crate) missing: usize,
    pub(crate) difference: Option<f64>,
    pub(crate) interval: Interval,
    /// Why nothing could be decided.
    pub(crate) problem: Option<String>,
}

/// The verdicts of a run while it goes on.
pub(super) struct Decisions {
    score_field: String,
    baseline: usize,
    state: Mutex<State>,
    /// Per system: whether it need not be asked any more.
    decided: Vec<AtomicBool>,
    over: watch::Sender<bool>,
}

struct State {
    /// The turn of the first entry of `turns`.
    first: usize,
    turns: VecDeque<Turn>,
    /// Per system; `None` for the baseline.
    watched: Vec<Option<Watched>>,
}

/// One example as far as it is known.
struct Turn {
    mark: Option<Mark>,
    /// Per system: its score, or that it will have none; `None` while it is not known.
    scores: Vec<Option<Option<f64>>>,
}

/// Which examples belong together: dataset, and conversation or id.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark(String, String);

/// A system that is compared with the baseline.
struct Watched {
    monitor: DifferenceMonitor,
    /// The next turn that it waits for.
    next: usize,
    /// The cluster that is going on: its mark, the sum of its differences and their number.
    cluster: Option<(Mark, f64, usize)>,
    sum: f64,
    examples: usize,
    missing: usize,
    problem: Option<String>,
}

impl Decisions {
    pub(super) fn new(
        settings: &StopWhenDecided,
        baseline: usize,
        n_systems: usize,
    ) -> Result<Self, StatsError> {
        let reach = settings.scores.high - settings.scores.low;
        let range = Interval {
            low: -reach,
            high: reach,
        };
        let mut watched = Vec::new();
        for system in 0..n_systems {
            let monitor = DifferenceMonitor::new(range, settings.margin, ALPHA)?;
            watched.push((system != baseline).then_some(Watched {
                monitor,
                next: 0,
                cluster: None,
                sum: 0.0,
                examples: 0,
                missing: 0,
                problem: None,
            }));
        }
        Ok(Self {
            score_field: settings.score_field.clone(),
            baseline,
            state: Mutex::new(State {
                first: 0,
                turns: VecDeque::new(),
                watched,
            }),
            decided: (0..n_systems).map(|_| AtomicBool::new(false)).collect(),
            over: watch::Sender::new(false),
        })
    }

    /// Whether a system need not be asked any more.
    pub(super) fn is_decided(&self, system: usize) -> bool {
        self.decided
            .get(system)
            .is_some_and(|one| one.load(Ordering::Relaxed))
    }

    /// Whether nobody need be asked any more.
    pub(super) fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    /// Waits until nobody need be asked any more.
    pub(super) async fn over(&self) {
        let mut receiver = self.over.subscribe();
        // The sender lives in `self`, so the channel cannot close while we wait.
        let _ = receiver.wait_for(|over| *over).await;
    }

    /// A row is there.
    pub(super) fn scored(&self, system: usize, turn: usize, row: &EvalRow) {
        let group = match row.conversation() {
            Some(conversation) => format!("conversation {conversation}"),
            None => format!("example {}", row.example_id),
        };
        let mark = Mark(row.dataset.to_string(), group);
        let score = row.score(&self.score_field);
        self.put(system, turn, score, Some(mark));
    }

    /// There will be no row.
    pub(super) fn skipped(&self, system: usize, turn: usize) {
        self.put(system, turn, None, None);
    }

    fn put(&self, system: usize, turn: usize, score: Option<f64>, mark: Option<Mark>) {
        let mut state = self.state();
        let n_systems = state.watched.len();
        let Some(at) = turn.checked_sub(state.first) else {
            return;
        };
        while state.turns.len() <= at {
            state.turns.push_back(Turn {
                mark: None,
                scores: vec![None; n_systems],
            });
        }
        let entry = &mut state.turns[at];
        entry.scores[system] = Some(score);
        entry.mark = entry.mark.take().or(mark);
        self.advance(&mut state, false);
    }

    /// Nothing more will come: what is there is all there is.
    pub(super) fn finish(&self) -> Vec<Decision> {
        let mut state = self.state();
        self.advance(&mut state, true);
        let systems = state.watched.iter().enumerate();
        let decision = |(system, watched): (usize, &Option<Watched>)| {
            let watched = watched.as_ref()?;
            Some(Decision {
                system,
                verdict: watched.monitor.verdict(),
                clusters: watched.monitor.seen(),
                examples: watched.examples,
                missing: watched.missing,
                difference: (watched.examples > 0).then(|| watched.sum / watched.examples as f64),
                interval: watched.monitor.interval(),
                problem: watched.problem.clone(),
            })
        };
        systems.filter_map(decision).collect()
    }

    /// Takes in whatever is complete.
    fn advance(&self, state: &mut State, at_end: bool) {
        let State {
            first,
            turns,
            watched,
        } = state;
        let mut lowest = usize::MAX;
        for (system, watched) in watched.iter_mut().enumerate() {
            let Some(watched) = watched else { continue };
            while !self.is_decided(system)
                && let Some(turn) = watched
                    .next
                    .checked_sub(*first)
                    .and_then(|at| turns.get(at))
            {
                let (Some(old), Some(new)) = (turn.scores[self.baseline], turn.scores[system])
                else {
                    // At the end, what is still open was never asked.
                    if at_end {
                        watched.next += 1;
                        continue;
                    }
                    break;
                };
                watched.next += 1;
                watched.take(turn.mark.as_ref(), old, new);
                self.decide(system, watched);
            }
            if at_end && !self.is_decided(system) {
                watched.observe();
                self.decide(system, watched);
            }
            if !self.is_decided(system) {
                lowest = lowest.min(watched.next);
            }
        }
        while *first < lowest && turns.pop_front().is_some() {
            *first += 1;
        }
        let others = watched.iter().enumerate().filter(|(_, one)| one.is_some());
        let mut others = others.map(|(system, _)| self.is_decided(system));
        if !at_end && watched.len() > 1 && others.all(|decided| decided) {
            self.over.send_replace(true);
        }
    }

    fn decide(&self, system: usize, watched: &Watched) {
        if watched.problem.is_none() && watched.monitor.verdict().is_decided() {
            self.decided[system].store(true, Ordering::Relaxed);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half-way; a poisoned lock changes nothing.
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Watched {
    /// Takes in the next example.
    fn take(&mut self, mark: Option<&Mark>, old: Option<f64>, new: Option<f64>) {
        if let (Some((current, ..)), Some(mark)) = (&self.cluster, mark)
            && current != mark
        {
            self.observe();
        }
        let (Some(old), Some(new), Some(mark)) = (old, new, mark) else {
            self.missing += 1;
            return;
        };
        self.examples += 1;
        self.sum += new - old;
        let (_, sum, n) = self.cluster.get_or_insert_with(|| (mark.clone(), 0.0, 0));
        *sum += new - old;
        *n += 1;
    }

    /// Takes in the cluster that was going on.
    fn observe(&mut self) {
        if let Some((_, sum, n)) = self.cluster.take()
            && self.problem.is_none()
        {
            let observed = self.monitor.observe(sum / n as f64);
            self.problem = observed.err().map(|error| error.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Score, Scores};

    fn settings(margin: f64) -> StopWhenDecided {
        StopWhenDecided {
            baseline: "a".into(),
            score_field: "s".into(),
            scores: Interval {
                low: 0.0,
                high: 1.0,
            },
            margin,
            seed: 0,
        }
    }

    fn row(id: usize, score: Option<f64>) -> EvalRow {
        let score = score.map_or_else(|| Score::unscored("no"), Score::value);
        let scores: Scores = [("s", score)].into_iter().collect();
        EvalRow::new("x", id, scores, 0, 0)
    }

    #[test]
    fn scores_count_in_the_order_of_turns_whatever_ends_first() {
        let decisions = Decisions::new(&settings(0.02), 0, 2).unwrap();
        // Everything but the first turn: nothing can be said.
        for turn in 1..400 {
            decisions.scored(0, turn, &row(turn, Some(1.0)));
            decisions.scored(1, turn, &row(turn, Some(0.0)));
        }
        assert!(!decisions.is_decided(1));
        decisions.scored(1, 0, &row(0, Some(0.0)));
        assert!(!decisions.is_decided(1) && !decisions.is_over());
        decisions.scored(0, 0, &row(0, None));
        assert!(decisions.is_decided(1) && decisions.is_over());
        assert!(
            !decisions.is_decided(0),
            "the baseline is never decided about"
        );
        let found = &decisions.finish()[0];
        assert_eq!((found.verdict, found.missing), (Verdict::Worse, 1));
        assert!(found.clusters < 60, "{found:?}");
    }

    #[test]
    fn each_system_has_its_own_verdict_and_clusters_count_once() {
        let decisions = Decisions::new(&settings(0.2), 0, 3).unwrap();
        for turn in 0..3000 {
            // Ten attempts at each example; the second system never differs.
            for (system, score) in [(0, 1.0), (1, 0.0), (2, 1.0)] {
                if !decisions.is_decided(system) {
                    decisions.scored(system, turn, &row(turn / 10, Some(score)));
                }
            }
            if decisions.is_decided(1) && !decisions.is_decided(2) {
                assert!(!decisions.is_over());
            }
        }
        assert!(decisions.is_over());
        let found = decisions.finish();
        assert_eq!(found[0].verdict, Verdict::Worse);
        assert_eq!(found[1].verdict, Verdict::NotWorse);
        assert!(found[0].clusters > 5 && found[0].examples > 50, "{found:?}");
        assert!(found[0].clusters < found[1].clusters);
    }

    #[test]
    fn what_is_skipped_or_beyond_the_range_holds_nothing_up() {
        let decisions = Decisions::new(&settings(0.02), 0, 2).unwrap();
        for turn in 0..300 {
            decisions.scored(0, turn, &row(turn, Some(1.0)));
            match turn % 2 {
                0 => decisions.skipped(1, turn),
                _ => decisions.scored(1, turn, &row(turn, Some(0.0))),
            }
        }
        assert!(decisions.is_over());
        let decisions = Decisions::new(&settings(0.02), 0, 2).unwrap();
        for turn in 0..300 {
            decisions.scored(0, turn, &row(turn, Some(50.0)));
            decisions.scored(1, turn, &row(turn, Some(0.0)));
        }
        let found = &decisions.finish()[0];
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert!(found.problem.is_some() && !decisions.is_over());
    }
}
