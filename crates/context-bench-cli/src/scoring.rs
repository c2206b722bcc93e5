//! How each dataset of a run is scored: by its own evaluators, unless the user
//! names others, and which score stands for it.

use std::sync::Arc;

use context_bench::dataset::catalogue::Config;
use context_bench::dataset::{DatasetRef, DatasetTarget};
use context_bench::registry::{Registry, SystemRef};
use context_bench::{Evaluate, Evaluator};
use serde_json::{Map, Value, json};

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output;

/// The evaluator of datasets that say nothing about theirs, and its score.
const USUAL_EVALUATOR: &str = "answer_quality";
const USUAL_SCORE: &str = "f1";
/// The evaluator that asks a model, for which the user names an address.
pub(crate) const JUDGE: &str = "llm_judge";
/// The score that all rows share when datasets are scored differently.
const COMMON_SCORE: &str = "score";
/// Where a result says how its datasets were scored.
const WIRED: &str = "scoring";

/// The datasets of a run, and what the catalogue says about them.
#[derive(Default)]
pub(crate) struct Scoring {
    parts: Vec<Part>,
    /// Tasks, which score themselves: what a stored run must know of them.
    tasks: Map<String, Value>,
}

struct Part {
    tag: String,
    config: Option<Config>,
}

impl Scoring {
    /// The scoring of datasets as typed, without opening them. Those that are
    /// not known here are scored as files of examples are.
    pub(crate) fn of(typed: &[String], registry: &Registry) -> Self {
        let mut scoring = Self::default();
        for typed in typed {
            let configs = match DatasetRef::parse(typed).as_ref().map(DatasetRef::target) {
                Ok(DatasetTarget::Named(named)) => registry.configs(named).unwrap_or_default(),
                _ => Vec::new(),
            };
            match &configs[..] {
                [] => scoring.add(typed.clone(), None),
                [one] => scoring.add(typed.clone(), Some(one.clone())),
                several => {
                    for config in several {
                        scoring.add(config.full_name(), Some(config.clone()));
                    }
                }
            }
        }
        scoring
    }

    /// Adds a dataset.
    pub(crate) fn add(&mut self, tag: String, config: Option<Config>) {
        self.parts.push(Part { tag, config });
    }

    /// Adds a task, whose evaluator is made elsewhere.
    pub(crate) fn add_task(&mut self, tag: &str, evaluator: &str, score_field: Option<&str>) {
        let note = json!({"evaluators": [evaluator], "score_field": score_field});
        self.tasks.insert(tag.to_owned(), note);
    }

    /// How many datasets there are, each config counted.
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// The score that the summary is made of: what the user asked for, else
    /// that of the datasets, else one that all of them share.
    pub(crate) fn score_field(&self, args: &RunArgs) -> Result<String, Failure> {
        let judged = wants_judge(args)?;
        if let Some(field) = &args.score_field {
            return Ok(field.clone());
        }
        if !args.evaluator.is_empty() {
            return Ok(USUAL_SCORE.into());
        }
        let mut fields = self.parts.iter().map(|part| part.score_field(judged));
        Ok(match fields.next() {
            Some(first) if fields.all(|field| field == first) => first,
            Some(_) => COMMON_SCORE.into(),
            None => USUAL_SCORE.into(),
        })
    }

    /// Wires each dataset with its own evaluators; `--evaluator` replaces them.
    /// Gives all evaluators back as well.
    pub(crate) fn wire(
        &self,
        plan: Evaluate,
        args: &RunArgs,
        registry: &Registry,
    ) -> Result<(Evaluate, Vec<Arc<dyn Evaluator>>), Failure> {
        let judged = wants_judge(args)?;
        let mut made = Made {
            registry,
            evaluators: Vec::new(),
        };
        if !args.evaluator.is_empty() {
            let mut names = args.evaluator.clone();
            // An address asks for a judge, unless one is described already.
            if args.judge_url.is_some() && !names_judge(args)? {
                names.push(JUDGE.into());
            }
            let evaluators = made.all(&names)?;
            return Ok((plan.evaluators(evaluators.clone()), evaluators));
        }
        let mut plan = plan;
        let mut wired = self.tasks.clone();
        for part in &self.parts {
            let mut names = part.evaluators();
            names.extend(judged.then(|| JUDGE.to_owned()));
            let evaluators = made.all(&names)?;
            let names: Vec<&str> = evaluators.iter().map(|e| e.name()).collect();
            let field = part.score_field(judged);
            let note = json!({"evaluators": names, "score_field": field});
            wired.insert(part.tag.clone(), note);
            plan = plan.evaluators_for(&part.tag, evaluators, Some(&field));
        }
        plan = plan.note(WIRED, wired);
        if self.score_field(args)? == COMMON_SCORE {
            plan = plan.common_score(COMMON_SCORE, USUAL_SCORE);
        }
        let all = made.evaluators.into_iter().map(|(_, evaluator)| evaluator);
        Ok((plan, all.collect()))
    }

    /// Says which datasets lack their judge.
    pub(crate) fn warn_of_no_judge(&self, args: &RunArgs) -> Result<(), Failure> {
        if wants_judge(args)? {
            return Ok(());
        }
        for part in &self.parts {
            let own = part.config.as_ref().map_or(&[][..], Config::evaluators);
            if own.iter().any(|name| name == JUDGE) {
                output::warning(&format!(
                    "`{}` is meant to be scored by a judge; pass `--judge-url URL`",
                    part.tag
                ));
            }
        }
        Ok(())
    }
}

/// Whether the run has a judge: by its address, or as an evaluator.
pub(crate) fn wants_judge(args: &RunArgs) -> Result<bool, Failure> {
    Ok(args.judge_url.is_some() || names_judge(args)?)
}

fn names_judge(args: &RunArgs) -> Result<bool, Failure> {
    for typed in &args.evaluator {
        if typed.parse::<SystemRef>()?.name == JUDGE {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Part {
    /// The names of its evaluators, without the judge.
    fn evaluators(&self) -> Vec<String> {
        let own = self.config.as_ref().map_or(&[][..], Config::evaluators);
        let own = own.iter().filter(|name| *name != JUDGE);
        let mut names: Vec<String> = own.cloned().collect();
        if names.is_empty() {
            names.push(USUAL_EVALUATOR.into());
        }
        names
    }

    fn score_field(&self, has_judge: bool) -> String {
        let own = self.config.as_ref().and_then(Config::score_field);
        match own {
            Some("judge_score") if !has_judge => USUAL_SCORE.into(),
            Some(field) => field.to_owned(),
            None => USUAL_SCORE.into(),
        }
    }
}

/// Evaluators by how they are written, each made once.
struct Made<'a> {
    registry: &'a Registry,
    evaluators: Vec<(String, Arc<dyn Evaluator>)>,
}

impl Made<'_> {
    fn all(&mut self, names: &[String]) -> Result<Vec<Arc<dyn Evaluator>>, Failure> {
        let mut evaluators = Vec::new();
        for name in names {
            let evaluator = self.one(name)?;
            check_names(&evaluators, &*evaluator)?;
            evaluators.push(evaluator);
        }
        Ok(evaluators)
    }

    fn one(&mut self, name: &str) -> Result<Arc<dyn Evaluator>, Failure> {
        if let Some((_, known)) = self.evaluators.iter().find(|(known, _)| known == name) {
            return Ok(Arc::clone(known));
        }
        let reference: SystemRef = name.parse()?;
        let factory = self.registry.evaluators.get(&reference.name)?;
        let evaluator = factory(reference.params)?;
        self.evaluators
            .push((name.to_owned(), Arc::clone(&evaluator)));
        Ok(evaluator)
    }
}

/// Two judges under one name would overwrite each other's scores.
fn check_names(others: &[Arc<dyn Evaluator>], new: &dyn Evaluator) -> Result<(), Failure> {
    let mut names = others.iter().flat_map(|other| other.score_names());
    match names.find(|name| new.score_names().contains(name)) {
        Some(name) if new.name() == JUDGE => Err(Failure::bad_input(format!(
            "two evaluators yield the score `{name}`"
        ))
        .hint("name the score of one: `llm_judge:score=NAME,…`")),
        _ => Ok(()),
    }
}

/// Wires stored evaluators as the run that they are from had it.
pub(crate) fn rewire(
    plan: Evaluate,
    evaluators: Vec<Arc<dyn Evaluator>>,
    wired: Option<&Value>,
    score_field: &str,
) -> Evaluate {
    let Some(wired) = wired.and_then(Value::as_object) else {
        return plan.evaluators(evaluators);
    };
    // All of them, in their order: stored scores are found by it.
    let mut plan = plan.evaluators(evaluators.clone());
    for (tag, own) in wired {
        let names = own["evaluators"].as_array();
        let is_own = |evaluator: &&Arc<dyn Evaluator>| {
            let mut names = names.into_iter().flatten().filter_map(Value::as_str);
            names.any(|name| name == evaluator.name())
        };
        let own_evaluators: Vec<_> = evaluators.iter().filter(is_own).cloned().collect();
        plan = plan.evaluators_for(tag, own_evaluators, own["score_field"].as_str());
    }
    match score_field {
        COMMON_SCORE => plan.common_score(COMMON_SCORE, USUAL_SCORE),
        _ => plan,
    }
}

/// Where a stored run says how its datasets were scored.
pub(crate) fn wired(run: &context_bench::store::StoredRun) -> Option<&Value> {
    crate::stores::setting(run, WIRED)
}
