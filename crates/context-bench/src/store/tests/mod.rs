//! The store as a whole: what goes in comes out, whatever happens in between.
//!
//! Everything stored here is a function of a number (`Case`), so that what comes
//! out can be compared with what should, without keeping a copy.

mod crash;
mod damage;
mod live;
mod reference;
mod runs;
mod salvage;
mod trouble;
mod upgrade;
mod values;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::reader::StoredResponse;
use super::*;
use crate::model::{CallStats, Score, Scores};

/// A response with everything that belongs to it, made from a number.
struct Case {
    example: Arc<Example>,
    key: ResponseKey,
    output: Output,
    latency: f64,
    call: Option<CallStats>,
    usage: Option<Map<String, Value>>,
    scores: [Scores; 2],
}

fn system() -> SystemEntry {
    SystemEntry {
        name: "proxy".into(),
        kind: "openai".into(),
        settings: json!({"model": "m", "url": "http://localhost"}),
    }
}

fn scorers() -> [EvaluatorEntry; 2] {
    [("answer_quality", 1), ("judge", 3)].map(|(name, version)| EvaluatorEntry {
        name: name.into(),
        version,
        settings: json!({"name": name}),
    })
}

fn scorer_keys() -> [Key; 2] {
    scorers().map(|entry| entry.key())
}

impl Case {
    fn new(n: usize) -> Self {
        // Every seventh text is long enough to be compressed or to overflow a page.
        let long = n.is_multiple_of(7);
        let context = format!("context {n} ").repeat(if long { 400 + n % 100 } else { 2 });
        let example = Example::new()
            .with("id", n)
            .with("context", context)
            .with("number", n as f64 / 3.0)
            .with("gone", true);
        let usage = n.is_multiple_of(2).then(|| {
            let usage = json!({"prompt_tokens": n, "completion_tokens": 2, "extra": {"x": null}});
            usage.as_object().cloned().unwrap()
        });
        let mut fields = example.fields().clone();
        fields.shift_remove("gone");
        fields.insert("response".into(), json!(format!("answer é {n}")));
        if long {
            let reply: String = (0..900).map(|i| format!("{} ", (i * n) % 1013)).collect();
            fields.insert("response".into(), json!(reply));
        }
        let mut judge: Scores = [("judge_score", n as f64 / 7.0)].into_iter().collect();
        if n.is_multiple_of(3) {
            judge.set("judge_score", Score::unscored(format!("no rating in {n}")));
        }
        Self {
            key: ResponseKey::new(Key::example(&example), system().key(), 0),
            example: Arc::new(example),
            output: fields.into(),
            latency: 0.1 + n as f64 / 1000.0,
            call: n.is_multiple_of(2).then(|| CallStats {
                attempts: 1 + n as u32 % 3,
                retry_wait: Duration::from_nanos(n as u64 * 1001),
                first_token: n.is_multiple_of(4).then(|| Duration::from_micros(n as u64)),
                ..CallStats::default()
            }),
            usage,
            scores: [
                [("f1", n as f64 / 11.0), ("exact", 0.0)]
                    .into_iter()
                    .collect(),
                judge,
            ],
        }
    }

    fn response(&self) -> NewResponse {
        NewResponse {
            key: self.key,
            example: Arc::clone(&self.example),
            output: OutputDelta::between(&self.example, &self.output),
            latency: self.latency,
            call: self.call,
            wire: None,
            counted: None,
            first_byte: None,
            usage: self.usage.clone(),
        }
    }

    fn put(&self, store: &Store) {
        store.put_blocking(self.response());
        for (scorer, scores) in scorer_keys().into_iter().zip(&self.scores) {
            store.put_blocking(NewScores {
                response: self.key.into(),
                scorer,
                scores: ScoreTexts::of(scores),
            });
        }
    }

    fn row(&self, run: &Run, position: usize) -> RunRow {
        RunRow {
            run: run.clone(),
            system: 0,
            position,
            repeat: 0,
            example_id: self.example.id(position).unwrap(),
            dataset: "set".into(),
            input_tokens: position as u64,
            output_tokens: 7,
            cached: false,
            outcome: NewOutcome::Response(self.key.into()),
        }
    }

    /// How much of it the store has; fails when anything is not as it was put.
    fn check(&self, store: &Store) -> Present {
        let scorers = scorer_keys();
        let wanted = ResponseQuery {
            response: self.key,
            scorers: &scorers,
        };
        let mut found = store.find(&[wanted]).unwrap();
        let Some(found) = found.pop().unwrap() else {
            return Present::default();
        };
        let mut present = self.check_response(store, &found.response);
        present.scores = self.check_scores(&found.scores);
        present
    }

    fn check_response(&self, store: &Store, found: &StoredResponse) -> Present {
        assert_eq!(found.at.key(), self.key);
        assert_eq!(found.latency, self.latency);
        assert_eq!(found.call, self.call);
        assert_eq!(found.usage, self.usage);
        let output = store.output(&found.at, &self.example).unwrap();
        if let Some(output) = &output {
            assert_eq!(output, &self.output);
        }
        Present {
            response: true,
            output: output.is_some(),
            scores: 0,
        }
    }

    fn check_scores(&self, found: &[Option<Scores>]) -> usize {
        assert_eq!(found.len(), 2);
        for (found, expected) in found.iter().zip(&self.scores) {
            assert!(found.as_ref().is_none_or(|found| found == expected));
        }
        found.iter().flatten().count()
    }
}

/// What of a case is in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Present {
    response: bool,
    output: bool,
    scores: usize,
}

const ALL: Present = Present {
    response: true,
    output: true,
    scores: 2,
};

const NOTHING: Present = Present {
    response: false,
    output: false,
    scores: 0,
};

fn open(dir: &Path) -> Store {
    let opened = Store::open(dir).unwrap();
    assert_eq!(opened.notes, Vec::<String>::new());
    opened.store
}

fn start() -> RunStart {
    RunStart {
        command: "context-bench run".into(),
        config: Map::new(),
        systems: vec![system()],
        scorers: scorers().to_vec(),
        ..RunStart::default()
    }
}

/// A store with one finished run of the cases `0..n`.
fn fill(dir: &Path, n: usize) -> Run {
    let store = open(dir);
    let run = store.begin_run(start()).unwrap();
    for position in 0..n {
        let case = Case::new(position);
        case.put(&store);
        store.put_blocking(case.row(&run, position));
    }
    store.finish_run(&run, RunStatus::Finished).unwrap();
    assert_eq!((store.dropped(), store.damaged()), (0, 0));
    run
}

/// Small, repeatable random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn dice(seed: u64) -> Dice {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    dice.below(2);
    dice
}
