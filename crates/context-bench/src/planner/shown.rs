//! One example of a stored run, in all its systems: what was sent, what came back and
//! what it was worth.

use std::borrow::Cow;
use std::sync::Arc;

use context_bench_error::suggest;
use serde_json::{Map, Value};

use super::prompts::prompt_of;
use super::surroundings::Surroundings;
use super::systems::who_answers;
use super::{PlanError, Planner, ReopenedPlan};
use crate::benchmark::examples::asks_for_likelihoods;
use crate::chat::{Api, Pace};
use crate::model::{CallStats, Example, ExampleId, Failure, FailureKind, Scores};
use crate::store::{OutputDelta, RunStatus, StoredOutcome, StoredRow, SystemEntry};
use crate::system::{Layout, OpenAiProxy, OpenAiProxySettings, Posting, System};

/// How many ids are looked at for one that was meant.
const MOST_IDS: usize = 100_000;
/// What stands for keys that are not needed: nothing is sent.
const NO_KEY: &str = "none";

/// What became of one example in one system.
#[derive(Debug, Clone)]
pub struct ShownRow {
    /// The system.
    pub system: String,
    /// The model that answered, when there is one.
    pub model: Option<String>,
    /// The dataset tag.
    pub dataset: String,
    /// The id of the example.
    pub id: ExampleId,
    /// Which repeat, from 0.
    pub repeat: u64,
    /// The example; `None` when it is damaged or gone.
    pub example: Option<Example>,
    /// What was sent.
    pub sent: Sent,
    /// What the system added to the example or changed in it; `None` when it failed.
    pub answer: Option<Map<String, Value>>,
    /// Why there is no answer.
    pub failure: Option<Failure>,
    /// Seconds inside the system.
    pub latency: Option<f64>,
    /// What the call cost besides time.
    pub call: Option<CallStats>,
    /// Usage as the endpoint reported it.
    pub usage: Option<Map<String, Value>>,
    /// Whether the answer is one of an earlier run.
    pub cached: bool,
    /// Per evaluator: its scores.
    pub scores: Vec<(String, Scores)>,
}

/// What is known of what was sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Sent {
    /// The requests, as the settings of the run make them.
    Requests(Vec<Posting>),
    /// The texts that a model was given.
    Texts(Vec<String>),
    /// Only the system knows; it got the example.
    Unknown,
}

impl ReopenedPlan {
    /// One example in all systems of the run, by its id as it is written. Nobody is
    /// asked; blocks while it reads.
    ///
    /// # Errors
    ///
    /// When there is no such example, or the store cannot be read.
    pub fn example(&self, id: &str, around: &Surroundings) -> Result<Vec<ShownRow>, PlanError> {
        let (store, run) = (self.stored.store(), &self.stored.run);
        let rows = store.rows_of(run, id)?;
        if rows.is_empty() {
            return Err(self.unknown(id)?);
        }
        let systems = self.systems_again(around);
        rows.iter().map(|row| self.shown(row, &systems)).collect()
    }

    fn unknown(&self, id: &str) -> Result<PlanError, PlanError> {
        let run = &self.stored.run;
        let ids = self.stored.store().example_ids(run, MOST_IDS)?;
        let ids: Vec<String> = ids.iter().map(ExampleId::to_string).collect();
        let hint = suggest::did_you_mean(id, ids.iter().map(String::as_str));
        let hint = hint.unwrap_or_else(|| match ids.get(..3).unwrap_or(&ids) {
            [] => "the run has no rows: it ended before the first".to_owned(),
            first => format!("its first ids are {}", suggest::quoted_list(first, "and")),
        });
        let what = format!("run {} has no example `{id}`", run.run.id());
        let early = match run.status {
            RunStatus::Finished => String::new(),
            status => format!(
                "the run is `{}` and may not have come to it; ",
                status.as_str()
            ),
        };
        Ok(PlanError::new(what).with_hint(early + &hint))
    }

    fn shown(
        &self,
        row: &StoredRow,
        systems: &[Option<Arc<dyn System>>],
    ) -> Result<ShownRow, PlanError> {
        let (store, run) = (self.stored.store(), &self.stored.run);
        let example = store.example(row)?;
        // A store keeps fields; how they were asked is in the plan.
        let mut benchmarks = self.manifest.plan.benchmarks.iter();
        let planned = benchmarks.find(|one| one.tag == *row.dataset);
        let prompt = planned.and_then(|one| prompt_of(one.prompt.as_ref()?));
        let example = example.map(|example| example.with_prompt(prompt));
        let repeat = example.as_ref().and_then(|one| one.get("repeat"));
        let planned = self.manifest.plan.systems.get(row.system);
        let mut shown = ShownRow {
            system: run
                .systems
                .get(row.system)
                .map_or_else(String::new, |system| system.name.clone()),
            model: planned.and_then(who_answers),
            dataset: row.dataset.to_string(),
            id: row.example_id.clone(),
            repeat: repeat.and_then(Value::as_u64).unwrap_or(0),
            sent: Sent::Unknown,
            answer: None,
            failure: None,
            latency: None,
            call: None,
            usage: None,
            cached: row.cached,
            scores: Vec::new(),
            example,
        };
        if let (Some(example), Some(Some(system))) = (&shown.example, systems.get(row.system)) {
            shown.sent = match (system.requests(example), system.prompt(example)) {
                (Some(requests), _) => Sent::Requests(requests),
                (None, Some(texts)) => Sent::Texts(texts),
                (None, None) => Sent::Unknown,
            };
        }
        let lost = || {
            let what = "the stored answer is damaged, or was removed together with another run";
            Failure::new(FailureKind::Other, what)
        };
        match &row.outcome {
            StoredOutcome::Response { response, scores } => {
                shown.latency = Some(response.latency);
                shown.call = response.call;
                shown.usage.clone_from(&response.usage);
                let output = match &shown.example {
                    Some(example) => store.output(&response.at, example)?,
                    None => None,
                };
                match (&shown.example, output) {
                    (Some(example), Some(output)) => {
                        shown.answer = Some(OutputDelta::between(example, &output).set);
                    }
                    _ => shown.failure = Some(lost()),
                }
                let scorers = run.scorers.iter().zip(scores);
                for (scorer, scores) in scorers {
                    // The last one stands for the token counts.
                    if let Some(scores) = scores.as_ref().filter(|_| scorer.name != "tokens") {
                        shown.scores.push((scorer.name.clone(), scores.clone()));
                    }
                }
            }
            StoredOutcome::Failed {
                failure,
                latency,
                call,
                ..
            } => {
                shown.failure = Some(failure.clone());
                shown.latency = Some(*latency);
                shown.call = *call;
            }
            StoredOutcome::Lost => shown.failure = Some(lost()),
        }
        if let (Sent::Unknown, Some(example), Some(entry)) =
            (&shown.sent, &shown.example, run.systems.get(row.system))
            && let Some(requests) = requests(entry, example, shown.answer.as_ref())
        {
            shown.sent = Sent::Requests(requests);
        }
        Ok(shown)
    }

    /// The systems of the run as its spec makes them, to ask them what they would send.
    /// What cannot be made again (an object of a program) is not there.
    fn systems_again(&self, around: &Surroundings) -> Vec<Option<Arc<dyn System>>> {
        let around = Surroundings {
            variable: Arc::new(|_| Some(NO_KEY.to_owned())),
            ..around.clone()
        };
        let spec = &self.manifest.spec;
        let again = |at: usize| -> Option<Arc<dyn System>> {
            let one = spec.systems.get(at)?;
            let mut spec = spec.clone();
            if one.system.is_none() {
                spec.relay = None;
            }
            spec.systems = vec![one.clone()];
            let planner = Planner {
                spec: &spec,
                around: &around,
                pace: Arc::new(Pace::new(None, None)),
                notices: Vec::new(),
            };
            let counter = planner.counter().ok()?;
            let made = planner.systems(&counter).ok()?;
            made.systems.into_iter().next()
        };
        (0..self.stored.run.systems.len()).map(again).collect()
    }
}

/// The requests of a system of which only the stored settings are known: an endpoint, or
/// a layer before one, whose answer has the context that it left.
fn requests(
    entry: &SystemEntry,
    example: &Example,
    answer: Option<&Map<String, Value>>,
) -> Option<Vec<Posting>> {
    let mut kind = entry.kind.as_str();
    let mut settings = entry.settings.get("settings")?;
    let mut example = Cow::Borrowed(example);
    if kind == "context_layer" {
        let answerer = settings.get("answerer")?;
        kind = answerer.get("kind")?.as_str()?;
        settings = answerer.get("settings")?;
        // An answer says nothing of a context that was left as it is.
        if let Some(context) = answer?.get("context") {
            example = Cow::Owned(example.into_owned().with("context", context.clone()));
        }
    }
    if kind != "openai_proxy" || asks_for_likelihoods(&example) {
        return None;
    }
    let text = |name: &str| settings.get(name).and_then(Value::as_str);
    let proxy = OpenAiProxy::with_settings(OpenAiProxySettings {
        model: text("model")?.to_owned(),
        system_prompt: text("system_prompt").map(str::to_owned),
        api: match text("api") {
            Some(name) => name.parse().ok()?,
            None => Api::default(),
        },
        layout: match text("layout") {
            Some(name) => name.parse().ok()?,
            None => Layout::default(),
        },
        extra_body: settings.get("extra_body")?.as_object()?.clone(),
        stream: settings.get("stream") == Some(&Value::Bool(true)),
        ..OpenAiProxySettings::new(text("url")?)
    });
    proxy.ok()?.requests(&example)
}
