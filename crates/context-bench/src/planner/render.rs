//! What a run would post, before anything is paid: the requests of every example,
//! byte for byte.

use std::sync::Arc;

use context_bench_error::suggest;
use serde_json::Value;

use super::surroundings::Surroundings;
use super::{Notice, PlanError, plan};
use crate::dataset::Examples;
use crate::model::{Example, ExampleId};
use crate::plan::{RunSpec, SystemSpec};
use crate::system::{Posting, System};

/// Stands for the endpoint when none is named: the requests would be the same for any.
const SOME_ENDPOINT: &str = "http://localhost/v1";
/// What stands for a key that is not set.
const NO_KEY: &str = "none";
/// What scores where nothing is scored. It needs no judge, no sandbox and no key.
const SOME_EVALUATOR: &str = "answer_quality";
/// How many ids are remembered for the case that the wanted one is not there.
const MOST_IDS: usize = 100_000;

/// What would be posted about one example.
#[derive(Debug, Clone, PartialEq)]
pub struct ExampleRequests {
    /// The tag of its dataset or task.
    pub dataset: String,
    /// Its id.
    pub id: ExampleId,
    /// Which repeat, from 0.
    pub repeat: u64,
    /// How many turns of a conversation follow, which depend on what comes back.
    pub turns_to_follow: usize,
    /// Per system: its name, and the requests; `None` when they show only in the run.
    pub systems: Vec<(String, Option<Vec<Posting>>)>,
}

/// The requests of a run, one example after the other.
pub struct Requests {
    /// What users should know.
    pub notices: Vec<Notice>,
    systems: Vec<Arc<dyn System>>,
    examples: std::iter::Enumerate<Examples>,
    /// The only id that is wanted, until it was looked for in all examples.
    wanted: Option<String>,
    ids: Vec<String>,
    found: bool,
}

/// Plans what was asked and shows what it would post. Nobody is asked.
///
/// What is not named is as it does not matter: any endpoint, any judge, no keys. With `id`
/// only the examples of that id are shown.
///
/// # Errors
///
/// As [`plan`].
pub fn requests(
    spec: &RunSpec,
    id: Option<&str>,
    around: &Surroundings,
) -> Result<Requests, PlanError> {
    let mut spec = spec.clone();
    if spec.systems.is_empty() {
        spec.systems.push(SystemSpec {
            proxy: Some(SOME_ENDPOINT.to_owned()),
            ..SystemSpec::default()
        });
    }
    // Nothing is scored, so nothing that scores must be at hand.
    let scoring = &mut spec.scoring;
    scoring.evaluators = Some(vec![SOME_EVALUATOR.to_owned()]);
    scoring.score_field = None;
    scoring.judge_url = Some(SOME_ENDPOINT.to_owned());
    scoring.confirm_run_unsafe_code = Some(true);
    // A key that is not there is not needed either.
    let mut around = around.clone();
    let named = spec.systems.iter().map(|one| &one.api_key_env);
    let named = named.chain([&spec.requests.api_key_env]).flatten();
    let keys: Vec<String> = named.cloned().collect();
    let known = Arc::clone(&around.variable);
    around.variable = Arc::new(move |name| {
        known(name).or_else(|| {
            keys.iter()
                .any(|key| key == name)
                .then(|| NO_KEY.to_owned())
        })
    });
    let planned = plan(&spec, &around)?;
    Ok(Requests {
        notices: planned.notices,
        systems: planned.systems.systems,
        examples: planned.examples.into_iter().enumerate(),
        wanted: id.map(str::to_owned),
        ids: Vec::new(),
        found: false,
    })
}

impl Requests {
    fn of(&self, example: &Example, id: ExampleId) -> ExampleRequests {
        let turns = example.conversation().ok().flatten();
        let repeat = example.get("repeat").and_then(Value::as_u64);
        let systems = self.systems.iter();
        let systems = systems.map(|one| (one.name().to_owned(), one.requests(example)));
        ExampleRequests {
            dataset: example.dataset().to_owned(),
            id,
            repeat: repeat.unwrap_or(0),
            turns_to_follow: turns.map_or(0, |turns| turns.len().saturating_sub(1)),
            systems: systems.collect(),
        }
    }

    fn unknown(&mut self) -> Option<PlanError> {
        let wanted = self.wanted.take().filter(|_| !self.found)?;
        let known = self.ids.iter().map(String::as_str);
        let first: Vec<&str> = known.clone().take(3).collect();
        let hint =
            suggest::did_you_mean(&wanted, known).unwrap_or_else(|| match first.is_empty() {
                true => "there are no examples at all".to_owned(),
                false => format!("the first ids are {}", suggest::quoted_list(&first, "and")),
            });
        Some(PlanError::new(format!("there is no example `{wanted}`")).with_hint(hint))
    }
}

impl Iterator for Requests {
    type Item = Result<ExampleRequests, PlanError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((position, example)) = self.examples.next() else {
                return self.unknown().map(Err);
            };
            let example = match example {
                Ok(example) => example,
                Err(error) => return Some(Err(error.into())),
            };
            // What cannot be an id is a row that fails, and has its place instead.
            let id = example.id(position).unwrap_or_else(|_| position.into());
            if let Some(wanted) = &self.wanted {
                let text = id.to_string();
                if text != *wanted {
                    if self.ids.len() < MOST_IDS {
                        self.ids.push(text);
                    }
                    continue;
                }
                self.found = true;
            }
            return Some(Ok(self.of(&example, id)));
        }
    }
}
