//! How each dataset of a run is scored: by its own evaluators, unless the user names
//! others, and which score stands for it.

use std::sync::Arc;

use super::known::Known;
use super::surroundings::Given;
use super::{Notice, PlanError, defaults};
use crate::benchmark::{Reporting, SCORE};
use crate::dataset::catalogue::{AppliedRule, Config, Deviation};
use crate::evaluator::Evaluator;
use crate::plan::{RunSpec, ScoringSpec};
use crate::registry::{Registry, SystemRef};

/// The evaluator of datasets that say nothing about theirs, and its score.
const USUAL_EVALUATOR: &str = "answer_quality";
pub(super) const USUAL_SCORE: &str = "f1";
/// The evaluator that asks a model, for which the user names an address.
pub(super) const JUDGE: &str = "llm_judge";

/// Makes the evaluators of datasets, each once.
pub(super) struct Scoring<'a> {
    spec: &'a ScoringSpec,
    registry: &'a Registry,
    given: &'a Given,
    has_judge: bool,
    names_judge: bool,
    made: Vec<(String, Arc<dyn Evaluator>)>,
}

impl<'a> Scoring<'a> {
    pub(super) fn new(
        spec: &'a RunSpec,
        known: &'a Known,
        given: &'a Given,
    ) -> Result<Self, PlanError> {
        let scoring = Self {
            has_judge: wants_judge(&spec.scoring)?,
            names_judge: names_judge(&spec.scoring)?,
            spec: &spec.scoring,
            registry: &known.registry,
            given,
            made: Vec::new(),
        };
        Ok(scoring)
    }

    /// The evaluators of a dataset: those that the user names, else its own.
    pub(super) fn evaluators(
        &mut self,
        config: Option<&Config>,
    ) -> Result<Vec<Arc<dyn Evaluator>>, PlanError> {
        let names = match &self.spec.evaluators {
            Some(names) => {
                let mut names = names.clone();
                // An address asks for a judge, unless one is described already.
                if self.spec.judge_url.is_some() && !self.names_judge {
                    names.push(JUDGE.into());
                }
                names
            }
            None => {
                let own = config.map_or(&[][..], Config::evaluators);
                let own = own.iter().filter(|name| *name != JUDGE);
                let mut names: Vec<String> = own.cloned().collect();
                if names.is_empty() {
                    names.push(USUAL_EVALUATOR.into());
                }
                names.extend(self.has_judge.then(|| JUDGE.to_owned()));
                names
            }
        };
        let mut evaluators: Vec<Arc<dyn Evaluator>> = Vec::new();
        for name in &names {
            let evaluator = self.one(name)?;
            check_names(&evaluators, &*evaluator)?;
            evaluators.push(evaluator);
        }
        Ok(evaluators)
    }

    /// The score that stands for a dataset.
    pub(super) fn field_of(&self, config: Option<&Config>) -> String {
        if self.spec.evaluators.is_some() {
            return USUAL_SCORE.into();
        }
        match config.and_then(Config::score_field) {
            Some("judge_score") if !self.has_judge => USUAL_SCORE.into(),
            Some(field) => field.to_owned(),
            None => USUAL_SCORE.into(),
        }
    }

    /// What is reported of a dataset beside the mean of each score, and by which rule: as
    /// its authors say, as far as it is scored that way. `asks_officially` tells whether
    /// models get the prompt of the authors.
    pub(super) fn reporting(
        &self,
        config: Option<&Config>,
        evaluators: &[Arc<dyn Evaluator>],
        asks_officially: bool,
    ) -> Reporting {
        let Some(config) = config else {
            return Reporting::default();
        };
        let deviation = self.deviation(config, asks_officially);
        let is_given = |score: &str| {
            let mut names = evaluators.iter().flat_map(|one| one.score_names());
            names.any(|name| name.as_str() == score)
        };
        // Of evaluators that the user names, those that can be made.
        let names_own = deviation == Some(Deviation::Evaluators);
        let figures = config
            .summary()
            .filter(|(_, one)| !names_own || one.scores().into_iter().all(is_given));
        let rule = config.rule().map(|rule| AppliedRule {
            rule: rule.clone(),
            deviation,
        });
        let quotes = !matches!(
            deviation,
            Some(Deviation::Evaluators) | Some(Deviation::Score)
        );
        Reporting {
            figures: figures
                .map(|(name, figure)| (name.to_owned(), figure.clone()))
                .collect(),
            headline: config.headline().filter(|_| quotes).map(str::to_owned),
            rule,
        }
    }

    /// What of the run keeps the scores of a dataset from being those of its rule.
    fn deviation(&self, config: &Config, asks_officially: bool) -> Option<Deviation> {
        let own = config.score_field();
        let named = self.spec.score_field.as_deref();
        if self.spec.evaluators.is_some() {
            Some(Deviation::Evaluators)
        } else if Some(self.field_of(Some(config)).as_str()) != own.or(Some(USUAL_SCORE))
            || named.is_some_and(|named| Some(named) != own)
        {
            Some(Deviation::Score)
        } else if config.has_prompt() && !asks_officially {
            Some(Deviation::PlainPrompt)
        } else {
            None
        }
    }

    /// The score that the summary is made of: what the user asked for, else that of
    /// the datasets, else one that all rows share.
    pub(super) fn score_field(&self, fields: &[String], has_tasks: bool) -> String {
        if let Some(field) = &self.spec.score_field {
            return field.clone();
        }
        match fields.split_first() {
            _ if has_tasks => SCORE.into(),
            Some((first, rest)) if rest.iter().all(|field| field == first) => first.clone(),
            Some(_) => SCORE.into(),
            None => USUAL_SCORE.into(),
        }
    }

    /// What to say about a dataset that lacks its judge.
    pub(super) fn notice(&self, tag: &str, config: Option<&Config>) -> Option<Notice> {
        let own = config.map_or(&[][..], Config::evaluators);
        let lacks = !self.has_judge && own.iter().any(|name| name == JUDGE);
        lacks.then(|| {
            Notice::new(format!(
                "`{tag}` is meant to be scored by a judge; pass `--judge-url URL`"
            ))
        })
    }

    /// Where the judge is and which model it is, when there is one.
    pub(super) fn judge(&self) -> Option<(String, String)> {
        let url = self.spec.judge_url.clone()?;
        let model = self.spec.judge_model.clone();
        let model = model.unwrap_or_else(|| defaults::DEFAULT_MODEL.to_owned());
        Some((crate::mask::Mask::Dots.setting(&url), model))
    }

    pub(super) fn into_evaluators(self) -> Vec<Arc<dyn Evaluator>> {
        self.made
            .into_iter()
            .map(|(_, evaluator)| evaluator)
            .collect()
    }

    fn one(&mut self, name: &str) -> Result<Arc<dyn Evaluator>, PlanError> {
        if let Some((_, known)) = self.made.iter().find(|(known, _)| known == name) {
            return Ok(Arc::clone(known));
        }
        let evaluator = match self.given.evaluators.get(name) {
            Some(brought) => Arc::clone(brought),
            None => {
                let reference: SystemRef = name.parse()?;
                let factory = self.registry.evaluators.get(&reference.name)?;
                factory(reference.params)?
            }
        };
        self.made.push((name.to_owned(), Arc::clone(&evaluator)));
        Ok(evaluator)
    }
}

/// Whether the run has a judge: by its address, or as an evaluator.
pub(super) fn wants_judge(spec: &ScoringSpec) -> Result<bool, PlanError> {
    Ok(spec.judge_url.is_some() || names_judge(spec)?)
}

fn names_judge(spec: &ScoringSpec) -> Result<bool, PlanError> {
    let mut named = false;
    for typed in spec.evaluators.iter().flatten() {
        // What a program brings along may be called anything.
        named |= typed
            .parse::<SystemRef>()
            .is_ok_and(|one| one.name == JUDGE);
    }
    Ok(named)
}

/// Two judges under one name would overwrite each other's scores.
fn check_names(others: &[Arc<dyn Evaluator>], new: &dyn Evaluator) -> Result<(), PlanError> {
    let mut names = others.iter().flat_map(|other| other.score_names());
    match names.find(|name| new.score_names().contains(name)) {
        Some(name) if new.name() == JUDGE => Err(PlanError::new(format!(
            "two evaluators yield the score `{name}`"
        ))
        .with_hint("name the score of one: `llm_judge:score=NAME,…`")),
        _ => Ok(()),
    }
}
