//! How each dataset of a run is scored: by its own evaluators, unless the user names
//! others, and which score stands for it.

use std::sync::Arc;

use super::known::Known;
use super::memories::TOP_K;
use super::surroundings::Given;
use super::{Notice, PlanError, defaults};
use context_bench_memory::RetrievalQuality;

use crate::benchmark::{Reporting, SCORE};
use crate::dataset::catalog::{AppliedRule, Config, Deviation};
use crate::evaluator::{AwaitedEvaluator, Evaluator, JudgeRule, SwebenchReport};
use crate::model::PromptParts;
use crate::plan::{RunSpec, ScoringSpec};
use crate::registry::{Registry, SystemRef, needs_more};

/// The evaluator of datasets that say nothing about theirs, and its score.
const USUAL_EVALUATOR: &str = "answer_quality";
pub(super) const USUAL_SCORE: &str = "f1";
/// The judge of datasets that have none of their own, unless they are asked of memories.
pub(super) const JUDGE: &str = "llm_judge";

/// Makes the evaluators of datasets, each once.
pub(super) struct Scoring<'a> {
    spec: &'a ScoringSpec,
    registry: &'a Registry,
    given: &'a Given,
    has_judge: bool,
    names_judge: bool,
    /// The judge of datasets that have none of their own in this run.
    usual_judge: &'static str,
    /// In a run of memories: how many recalled turns count.
    recalls: Option<usize>,
    made: Vec<(String, Arc<dyn Evaluator>)>,
}

impl<'a> Scoring<'a> {
    pub(super) fn new(
        spec: &'a RunSpec,
        known: &'a Known,
        given: &'a Given,
    ) -> Result<Self, PlanError> {
        let scoring = Self {
            has_judge: spec.scoring.judge_url.is_some(),
            names_judge: names_judge(&spec.scoring),
            usual_judge: match spec.memory {
                Some(_) => JudgeRule::Memory.name(),
                None => JUDGE,
            },
            recalls: spec
                .memory
                .as_ref()
                .map(|memory| memory.top_k.unwrap_or(TOP_K)),
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
                    names.push(self.usual_judge.into());
                }
                names
            }
            None => {
                let own = config.map_or(&[][..], Config::evaluators);
                let mut names = own.to_vec();
                if names.is_empty() {
                    names.push(USUAL_EVALUATOR.into());
                }
                // A dataset's own judge is the one whose figures are published.
                if self.has_judge && !names.iter().any(|name| is_judge(name)) {
                    names.push(self.usual_judge.into());
                }
                if let Some(k) = self.recalls {
                    names.push(format!("{}:k={k}", RetrievalQuality::NAME));
                }
                names
            }
        };
        let mut evaluators: Vec<Arc<dyn Evaluator>> = Vec::new();
        let is_own = self.spec.evaluators.is_none();
        for name in &names {
            let evaluator = self.one(name, is_own)?;
            check_names(&evaluators, &*evaluator)?;
            evaluators.push(evaluator);
        }
        Ok(evaluators)
    }

    /// The score that stands for a dataset: its own, unless the user names evaluators that
    /// do not give it. Asked for when the evaluators are made.
    pub(super) fn field_of(&self, config: Option<&Config>) -> String {
        let own = config.and_then(Config::score_field);
        let is_given = |field: &&str| match &self.spec.evaluators {
            None => true,
            Some(names) => {
                let made = self.made.iter().filter(|(name, _)| names.contains(name));
                let mut scores = made.flat_map(|(_, evaluator)| evaluator.score_names());
                scores.any(|name| name.as_str() == *field)
            }
        };
        own.filter(is_given).unwrap_or(USUAL_SCORE).to_owned()
    }

    /// What is reported of a dataset beside the mean of each score, and by which rule: as
    /// its authors say, as far as it is scored that way and asked about with their prompt.
    pub(super) fn reporting(
        &self,
        config: Option<&Config>,
        evaluators: &[Arc<dyn Evaluator>],
        prompt: Option<&PromptParts>,
    ) -> Reporting {
        let Some(config) = config else {
            return Reporting::default();
        };
        let deviation = self.deviation(config, prompt);
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
    fn deviation(&self, config: &Config, prompt: Option<&PromptParts>) -> Option<Deviation> {
        let own = config.score_field();
        let named = self.spec.score_field.as_deref();
        if self.spec.evaluators.is_some() && !self.completes(config) {
            Some(Deviation::Evaluators)
        } else if Some(self.field_of(Some(config)).as_str()) != own.or(Some(USUAL_SCORE))
            || named.is_some_and(|named| Some(named) != own)
        {
            Some(Deviation::Score)
        } else {
            let lacks_shots = |prompt: &PromptParts| config.has_shots() && prompt.n_shots() == 0;
            match prompt {
                None => config.has_prompt().then_some(Deviation::PlainPrompt),
                Some(prompt) => lacks_shots(prompt).then_some(Deviation::NoShots),
            }
        }
    }

    /// Whether the user names the very evaluator that gives the score of a dataset, with what
    /// it lacked: a judge's address, the report of a harness.
    fn completes(&self, config: &Config) -> bool {
        let named = |typed: &String| typed.parse::<SystemRef>().ok();
        let own: Vec<SystemRef> = config.evaluators().iter().filter_map(named).collect();
        let mut names = self.spec.evaluators.iter().flatten();
        let has_it = names.any(|typed| {
            let Some(mut asked) = named(typed) else {
                return false;
            };
            // Another baseline makes another score of it.
            asked.params.take("baseline").is_none()
                && needs_more(&asked.name)
                && own.iter().any(|one| one.name == asked.name)
        });
        has_it && config.score_field() == Some(self.field_of(Some(config)).as_str())
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

    /// What to say about a dataset when something that its score needs is missing.
    pub(super) fn notice(&self, tag: &str, config: Option<&Config>) -> Option<Notice> {
        if self.spec.evaluators.is_some() {
            return None;
        }
        let own = config.map_or(&[][..], Config::evaluators);
        let lack = own.iter().find_map(|name| self.lacks(name))?;
        let score = lack.scores.first().copied().unwrap_or_default();
        let what = format!("`{tag}` gets no `{score}`: {}", lack.why);
        Some(Notice::new(what).with_hint(lack.hint))
    }

    /// What an evaluator of a dataset needs and the run was not given.
    fn lacks(&self, name: &str) -> Option<MissingPart> {
        let name = name.parse::<SystemRef>().ok()?.name;
        if name == SwebenchReport::NAME {
            return Some(MissingPart {
                scores: &[SwebenchReport::SCORE],
                why: "the harness of SWE-bench gives it, which runs tests in containers",
                hint: "`context-bench export last --output swebench` writes what it takes, \
                       `rescore last --evaluator swebench_report:file=REPORT` reads its report",
            });
        }
        let scores = match JudgeRule::named(&name) {
            Some(rule) => rule.score_names(),
            None if name == JUDGE => &["judge_score"],
            None => return None,
        };
        (!self.has_judge).then_some(MissingPart {
            scores,
            why: "a judge gives it, and the run has none",
            hint: "pass `--judge-url URL` (and `--judge-model NAME`), now or to `rescore`",
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

    /// An evaluator by its name; for those of a dataset, also one for which something is missing.
    fn one(&mut self, name: &str, is_own: bool) -> Result<Arc<dyn Evaluator>, PlanError> {
        if let Some((_, known)) = self.made.iter().find(|(known, _)| known == name) {
            return Ok(Arc::clone(known));
        }
        let lack = self.lacks(name).filter(|_| is_own);
        let evaluator = match (self.given.evaluators.get(name), lack) {
            (Some(brought), _) => Arc::clone(brought),
            (None, Some(lack)) => Arc::new(AwaitedEvaluator::new(name, lack.scores)) as _,
            (None, None) => {
                let reference: SystemRef = name.parse()?;
                let factory = self.registry.evaluators.get(&reference.name)?;
                factory(reference.params)?
            }
        };
        self.made.push((name.to_owned(), Arc::clone(&evaluator)));
        Ok(evaluator)
    }
}

/// What is missing for a score.
struct MissingPart {
    /// The scores that are left out, the main one first.
    scores: &'static [&'static str],
    why: &'static str,
    hint: &'static str,
}

/// Whether the run has a judge: by its address, or as an evaluator.
pub(super) fn wants_judge(spec: &ScoringSpec) -> bool {
    spec.judge_url.is_some() || names_judge(spec)
}

fn names_judge(spec: &ScoringSpec) -> bool {
    spec.evaluators.iter().flatten().any(|name| is_judge(name))
}

/// Whether what is typed describes a judge. What a program brings along may be called
/// anything.
fn is_judge(typed: &str) -> bool {
    let described = typed.parse::<SystemRef>();
    described.is_ok_and(|one| one.name == JUDGE || JudgeRule::named(&one.name).is_some())
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
