//! Runs whose systems are asked in other processes: examples are handed out in units.
//!
//! The driver plans a run, reads its examples and hands them out ([`Units`]). A worker plans the
//! same run with the examples of one unit ([`plan_unit`]): they bring their prompts along, and
//! benchmarks are made again from the plan, so it needs neither data nor task files. Answers come
//! back as files of stores. Nothing here knows which engine carries them.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tempfile::TempDir;

use super::prompts::prompt_of;
use super::{Known, PlanError, PlannedRun, Planner, Surroundings, scoring, stored_spec, sweeps};
use crate::chat::Pace;
use crate::dataset::{Dataset, RepeatedIds, Skipped};
use crate::model::{Example, Failure, FailureKind, PromptParts};
use crate::plan::{OutputSpec, RequestSpec, RunManifest, RunPlan, RunSpec, ScoringSpec};
use crate::runner::AskedElsewhere;
use crate::store::{EvaluatorEntry, Key, ResponseKey, ResponseQuery, Store, SystemEntry};

/// How many examples are looked up in the store at once.
const AT_ONCE: usize = 1024;
/// What is said about an answer that came but cannot be kept.
const UNSTORABLE: &str = "the answer of the worker could not be handed over: it contains something \
                          that JSON cannot represent, such as a tuple or a set";

/// What all units of a run share, as it travels: without keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UnitJob {
    /// What was asked, as far as it concerns who is asked and how answers are scored.
    pub spec: RunSpec,
    /// What the driver decided.
    pub plan: RunPlan,
}

/// One example of a unit.
#[derive(Serialize, Deserialize)]
struct UnitExample {
    /// `None` when they travel in another form.
    fields: Option<Map<String, Value>>,
    labelled: bool,
    repeat: u32,
    /// Its place among the prompts of the unit.
    prompt: Option<usize>,
}

/// The examples of a unit with their prompts.
#[derive(Serialize, Deserialize)]
struct UnitData {
    prompts: Vec<PromptParts>,
    examples: Vec<UnitExample>,
}

/// The examples of a run that other processes ask about, and what became of them.
pub struct Units {
    job: UnitJob,
    examples: Vec<Example>,
    /// The dataset without its examples.
    dataset: Dataset,
    systems: Vec<(String, Key)>,
    identities: Vec<(String, String)>,
    key_variables: Vec<String>,
    store: Store,
    /// The folder of the store, when nobody asked for one.
    scratch: Option<TempDir>,
    asked: BTreeSet<usize>,
    failed: HashMap<(String, usize), (Failure, f64)>,
}

impl PlannedRun {
    /// Takes the examples out of a run to hand them out; `asked` is what workers plan. Answers are
    /// collected in the store, or in one that ends with the run.
    ///
    /// # Errors
    ///
    /// When a key would travel, nothing identifies a system, or the data cannot be read.
    pub fn hand_out(
        &mut self,
        asked: &RunSpec,
        store: Option<Store>,
        around: &Surroundings,
    ) -> Result<Units, PlanError> {
        let job = UnitJob {
            spec: travelling(asked)?,
            plan: self.manifest.plan.clone(),
        };
        let mut systems = Vec::new();
        for system in &self.systems.systems {
            let identity = system.identity().ok_or_else(|| {
                PlanError::new(format!(
                    "nothing says when the answers of `{}` change, so they cannot be handed over",
                    system.name()
                ))
                .with_hint("say what they depend on: `--system-version` of a `--command`")
            })?;
            let key = SystemEntry::new(system.name(), identity).key();
            systems.push((system.name().to_owned(), key));
        }
        let dataset = std::mem::replace(&mut self.examples, Vec::new().into());
        let mut examples = Vec::new();
        let dataset = dataset.read_whole(|all| {
            examples = all;
            Vec::new()
        })?;
        let (store, scratch) = match store {
            Some(store) => (store, None),
            None => {
                let (store, folder) = scratch_store()?;
                (store, Some(folder))
            }
        };
        Ok(Units {
            job,
            examples,
            dataset,
            systems,
            identities: self.identities(),
            key_variables: self.key_variables(asked, around),
            store,
            scratch,
            asked: BTreeSet::new(),
            failed: HashMap::new(),
        })
    }

    /// What must be the same in every process of a run: systems and evaluators with the keys of
    /// their settings. Evaluators that nothing identifies score in the driver.
    pub fn identities(&self) -> Vec<(String, String)> {
        let mut found = BTreeSet::new();
        for system in &self.systems.systems {
            if let Some(identity) = system.identity() {
                let key = SystemEntry::new(system.name(), identity).key();
                found.insert((format!("system `{}`", system.name()), key.to_string()));
            }
        }
        for (tag, evaluators, _, _) in self.suite.scoring() {
            for evaluator in evaluators {
                if let Some(identity) = evaluator.identity() {
                    let key = EvaluatorEntry::new(evaluator.name(), identity).key();
                    let of = match tag {
                        "" => String::new(),
                        tag => format!(" of `{tag}`"),
                    };
                    let what = format!("evaluator `{}`{of}", evaluator.name());
                    found.insert((what, key.to_string()));
                }
            }
        }
        // Where generated code runs uncontained, its verdicts may be others.
        let cautions = self.evaluators.iter().filter_map(|one| one.caution());
        found.extend(cautions.map(|caution| ("caution".to_owned(), caution)));
        found.into_iter().collect()
    }

    /// The variables with the keys of endpoints that are set here, and must be where they are asked.
    fn key_variables(&self, asked: &RunSpec, around: &Surroundings) -> Vec<String> {
        let judged = scoring::wants_judge(&asked.scoring);
        let has_endpoints = self.systems.endpoints().next().is_some();
        let named = |requests: &RequestSpec, own: Option<&str>| {
            let usual = requests.api.unwrap_or_default().key_variable();
            own.or(requests.api_key_env.as_deref())
                .unwrap_or(usual)
                .to_owned()
        };
        let mut names = BTreeSet::new();
        if judged {
            let requests = RequestSpec {
                api: None,
                ..asked.requests.clone()
            };
            names.insert(named(&requests, None));
        }
        if has_endpoints && asked.relay.is_some() {
            names.insert(named(&asked.requests, None));
        }
        for system in asked.systems.iter().filter(|one| one.proxy.is_some()) {
            let requests = RequestSpec {
                api: system.api.or(asked.requests.api),
                ..asked.requests.clone()
            };
            names.insert(named(&requests, system.api_key_env.as_deref()));
        }
        let set = names.into_iter();
        set.filter(|name| (around.variable)(name).is_some())
            .collect()
    }
}

/// A store in a folder of its own.
fn scratch_store() -> Result<(Store, TempDir), PlanError> {
    let folder = tempfile::Builder::new().prefix("context-bench-").tempdir();
    let folder = folder.map_err(|error| {
        let what = format!("cannot make a folder for the answers of workers: {error}");
        PlanError::new(what).with_hint("name one with `--cache-dir DIR`")
    })?;
    Ok((Store::open(folder.path())?.store, folder))
}

/// What of a spec workers plan. Limits hold for the whole run, and the driver keeps them; gates and
/// outputs are about its result.
fn travelling(asked: &RunSpec) -> Result<RunSpec, PlanError> {
    if asked.without_secrets() != *asked {
        return Err(PlanError::new(
            "a key, a password or the query of a URL in the settings of the run would be sent to \
             the workers",
        )
        .with_hint(
            "put it into an environment variable on all nodes, and name that with `--api-key-env`",
        ));
    }
    let mut spec = asked.clone();
    spec.engine = None;
    spec.cache_dir = None;
    spec.output = OutputSpec::default();
    spec.limits.rps = None;
    spec.limits.tpm = None;
    spec.limits.max_time = None;
    spec.scoring = ScoringSpec {
        fail_if: Vec::new(),
        policy: None,
        baseline_run: None,
        ..spec.scoring
    };
    Ok(spec)
}

impl Units {
    /// What all units share.
    pub fn job(&self) -> &UnitJob {
        &self.job
    }

    /// What must be the same in every process; see [`PlannedRun::identities`].
    pub fn identities(&self) -> &[(String, String)] {
        &self.identities
    }

    /// The variables with the keys of endpoints that are set here, and must be where they are asked.
    pub fn key_variables(&self) -> &[String] {
        &self.key_variables
    }

    /// The number of examples.
    pub fn len(&self) -> usize {
        self.examples.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.examples.is_empty()
    }

    /// An example.
    pub fn example(&self, position: usize) -> Option<&Example> {
        self.examples.get(position)
    }

    /// The names of the systems.
    pub fn systems(&self) -> impl Iterator<Item = &str> {
        self.systems.iter().map(|(name, _)| name.as_str())
    }

    /// Those of these positions at which the store lacks the answer of a system.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn missing(&self, positions: &[usize]) -> Result<Vec<usize>, PlanError> {
        let mut missing = Vec::new();
        for batch in positions.chunks(AT_ONCE) {
            let mut wanted = Vec::new();
            let mut whose = Vec::new();
            for position in batch {
                let Some(example) = self.examples.get(*position) else {
                    continue;
                };
                let key = Key::example(example);
                for (_, system) in &self.systems {
                    wanted.push(ResponseQuery {
                        response: ResponseKey::new(key, *system, example.repeat()),
                        scorers: &[],
                    });
                    whose.push(*position);
                }
            }
            let found = self.store.find(&wanted)?;
            let lacking = whose.into_iter().zip(found);
            missing.extend(
                lacking.filter_map(|(position, found)| found.is_none().then_some(position)),
            );
        }
        missing.dedup();
        Ok(missing)
    }

    /// The bytes that an example takes in a unit.
    pub fn n_bytes(&self, position: usize) -> usize {
        let example = self.examples.get(position);
        let written = example.map(|one| serde_json::to_vec(one.fields()));
        written
            .and_then(Result::ok)
            .map_or(0, |written| written.len())
    }

    /// The examples at these positions as they travel, which are then asked about for this run. The
    /// fields of those that `is_apart` names travel in another form.
    pub fn unit(&mut self, positions: &[usize], is_apart: impl Fn(&Example) -> bool) -> Vec<u8> {
        self.asked.extend(positions);
        let mut data = UnitData {
            prompts: Vec::new(),
            examples: Vec::new(),
        };
        let mut places: HashMap<String, usize> = HashMap::new();
        for example in positions.iter().filter_map(|at| self.examples.get(*at)) {
            let prompt = example.prompt().map(|prompt| {
                let place = places.entry(prompt.digest().to_owned());
                *place.or_insert_with(|| {
                    data.prompts.push(prompt.parts().clone());
                    data.prompts.len() - 1
                })
            });
            data.examples.push(UnitExample {
                fields: (!is_apart(example)).then(|| example.fields().clone()),
                labelled: example.is_labelled(),
                repeat: example.repeat(),
                prompt,
            });
        }
        // Maps with text keys are always written.
        serde_json::to_vec(&data).unwrap_or_default()
    }

    /// Takes the answers of a worker's store over, and returns how many were new.
    ///
    /// # Errors
    ///
    /// When the file or the store cannot be used.
    pub fn keep(&self, file: &Path) -> Result<u64, PlanError> {
        Ok(self.store.absorb(file)?)
    }

    /// Notes that a system failed at an example after so many seconds.
    pub fn failed(&mut self, system: &str, position: usize, failure: Failure, seconds: f64) {
        self.failed
            .insert((system.to_owned(), position), (failure, seconds));
    }

    /// Gives the examples back to the run, which then calls no system. Of a run that ended early,
    /// only those that were dealt with.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn settle(
        self,
        planned: &mut PlannedRun,
        ended_early: bool,
    ) -> Result<SettledUnits, PlanError> {
        let otherwise = Failure::new(FailureKind::WorkerLost, UNSTORABLE.to_owned());
        let mut elsewhere = AskedElsewhere::new(otherwise);
        let mut undone = BTreeSet::new();
        if ended_early {
            let all: Vec<usize> = (0..self.examples.len()).collect();
            let dealt_with: BTreeSet<usize> = self.failed.keys().map(|(_, at)| *at).collect();
            undone = self.missing(&all)?.into_iter().collect();
            undone.retain(|at| !dealt_with.contains(at));
            elsewhere = elsewhere.ended_early(self.examples.len());
        }
        for position in self.asked {
            elsewhere.asked(position);
        }
        for ((system, position), (failure, seconds)) in self.failed {
            elsewhere.failed(system, position, failure, seconds);
        }
        let mut left_out = 0;
        let examples = self.examples.into_iter().enumerate();
        let examples = examples.filter_map(|(position, example)| {
            if undone.contains(&position) {
                left_out += 1;
                return None;
            }
            Some(example.displaced(left_out))
        });
        let examples: Vec<Example> = examples.collect();
        planned.examples = self.dataset.read_whole(|_| examples)?;
        Ok(SettledUnits {
            elsewhere,
            store: self.store,
            scratch: self.scratch,
        })
    }
}

/// What became of the examples that were handed out.
pub struct SettledUnits {
    /// What the run must know.
    pub elsewhere: AskedElsewhere,
    /// The store with the answers.
    pub store: Store,
    scratch: Option<TempDir>,
}

impl SettledUnits {
    /// The folder of a store that nobody asked for: it is removed when this is dropped.
    pub fn scratch(&self) -> Option<&Path> {
        self.scratch.as_ref().map(TempDir::path)
    }
}

/// The examples of a unit. `apart` has those whose fields travelled in another form, by place.
///
/// # Errors
///
/// When the bytes are no unit of this version.
pub fn unit_examples(
    unit: &[u8],
    mut apart: impl FnMut(usize) -> Option<Example>,
) -> Result<Vec<Example>, PlanError> {
    let foreign = || PlanError::new("a unit of work that another version wrote");
    let data: UnitData = serde_json::from_slice(unit).map_err(|_| foreign())?;
    let prompts: Option<Vec<_>> = data.prompts.iter().map(prompt_of).collect();
    let prompts = prompts.ok_or_else(foreign)?;
    let examples = data.examples.into_iter().enumerate();
    let examples = examples.map(|(place, one)| {
        let example = match one.fields {
            Some(fields) => Example::from(fields).repeated(one.repeat),
            None => apart(place).ok_or_else(foreign)?,
        };
        let prompt = match one.prompt {
            Some(at) => Some(Arc::clone(prompts.get(at).ok_or_else(foreign)?)),
            None => None,
        };
        Ok(example.with_label(one.labelled).with_prompt(prompt))
    });
    examples.collect()
}

/// Plans a unit of a run: the systems and evaluators of its spec, for these examples alone.
///
/// # Errors
///
/// When something that is named does not exist here.
pub fn plan_unit(
    spec: &RunSpec,
    plan: &RunPlan,
    examples: Vec<Example>,
    around: &Surroundings,
) -> Result<PlannedRun, PlanError> {
    let mut spec = spec.clone();
    // Tasks come with the plan; a dataset that is not found there shows in the identities.
    spec.data.include_path.retain(|path| path.exists());
    let expanded = sweeps::expand(&spec)?;
    let mut registered = expanded.spec.clone().into_owned();
    registered.benchmarks.retain(|one| one.task.is_none());
    let given = around.given.pace.clone();
    let mut planner = Planner {
        spec: &expanded.spec,
        around,
        pace: given.unwrap_or_else(|| Arc::new(Pace::new(None, None))),
        notices: Vec::new(),
    };
    let counter = planner.counter()?;
    let mut systems = planner.systems(&counter)?;
    for control in &expanded.controls {
        systems.control(&control.control);
    }
    let known = Known::new(&registered, around, &planner.pace, &mut planner.notices)?;
    let mut scoring = scoring::Scoring::new(planner.spec, &known, &around.given)?;
    let (mut suite, _) = planner.suite_of(plan, &plan.tree, &known, &mut scoring)?;
    let own = suite.scoring().flat_map(|(_, evaluators, _, _)| evaluators);
    // What nothing identifies could not be reused by the driver, which scores then.
    if own
        .into_iter()
        .any(|one| one.name() == crate::benchmark::SuiteEvaluator::NAME && one.identity().is_none())
    {
        suite = suite.scored_by(None);
    }
    let mut plan = plan.clone();
    // The driver sums up.
    plan.scoring.metrics = Some(Vec::new());
    plan.scoring.gates = Vec::new();
    plan.scoring.baseline_run = None;
    plan.scoring.bootstrap_iters = 0;
    plan.scoring.log_samples = false;
    plan.limits.max_time = None;
    plan.limits.stop_when_decided = false;
    Ok(PlannedRun {
        manifest: RunManifest {
            spec: stored_spec(&spec),
            plan,
        },
        systems,
        evaluators: scoring.into_evaluators(),
        suite,
        examples: examples.into(),
        skipped: Skipped::default(),
        repeated: RepeatedIds::default(),
        notices: Vec::new(),
        shard: None,
        engine: None,
        counter,
        baseline_run: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{BenchmarkSpec, SystemSpec};
    use crate::planner::{GivenExamples, plan};
    use crate::registry::Registry;

    fn spec() -> RunSpec {
        let named = |name: &str| SystemSpec {
            system: Some(name.to_owned()),
            ..SystemSpec::default()
        };
        RunSpec {
            systems: vec![named("passthrough"), named("truncate:ratio=0.5")],
            benchmarks: vec![BenchmarkSpec {
                given: Some("examples".into()),
                ..BenchmarkSpec::default()
            }],
            engine: Some("ray".into()),
            ..RunSpec::default()
        }
    }

    fn around(n: usize) -> Surroundings {
        let parts = PromptParts {
            user: Some("Answer {{ question }}".into()),
            ..PromptParts::default()
        };
        let prompt = prompt_of(&parts);
        let examples = (0..n).map(|i| {
            Example::new()
                .with("question", format!("q{i}"))
                .labelled("file")
                .with_prompt(prompt.clone())
        });
        let dataset = Dataset::from(examples.collect::<Vec<_>>()).times(2);
        let mut around = Surroundings::new(Registry::builtin());
        let given = GivenExamples::new(dataset);
        around.given.examples.insert("examples".into(), given);
        around
    }

    #[test]
    fn a_unit_is_planned_like_the_whole_and_has_the_same_keys() {
        let (spec, around) = (spec(), around(5));
        let mut whole = plan(&spec, &around).expect("a plan");
        let mut units = whole.hand_out(&spec, None, &around).expect("units");
        let all: Vec<usize> = (0..units.len()).collect();
        assert_eq!(units.len(), 10);
        assert_eq!(units.missing(&all).expect("read"), all);
        let data = units.unit(&[3, 8], |_| false);
        let examples = unit_examples(&data, |_| None).expect("a unit");
        for (example, at) in examples.iter().zip([3, 8]) {
            let original = units.example(at).expect("there");
            assert_eq!(example, original);
            assert_eq!(example.repeat(), original.repeat());
            assert_eq!(Key::example(example), Key::example(original));
            assert!(example.prompt().is_some());
        }
        let job = units.job();
        let elsewhere = Surroundings::new(Registry::builtin());
        let part = plan_unit(&job.spec, &job.plan, examples, &elsewhere).expect("a plan");
        assert_eq!(part.identities(), units.identities());
        assert!(unit_examples(b"{}", |_| None).is_err());
        // Of what nobody dealt with there are no rows.
        let settled = units.settle(&mut whole, true).expect("settled");
        assert_eq!(whole.examples.into_iter().count(), 0);
        assert!(settled.scratch().is_some());
    }

    #[test]
    fn keys_do_not_travel() {
        let mut spec = spec();
        let header = ("Authorization".to_owned(), "Bearer sk-12345678".to_owned());
        spec.requests.headers = Some([header].into());
        let around = around(1);
        let mut whole = plan(&spec, &around).expect("a plan");
        let error = whole.hand_out(&spec, None, &around).err().expect("refused");
        assert!(!error.to_string().contains("12345678"), "{error}");
    }
}
