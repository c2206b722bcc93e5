//! `RunManifest`: the spec and the plan of a run, as stored with it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{BenchmarkSpec, PlannedBenchmark, PromptStyle, RunPlan, RunSpec};
use crate::benchmark::SuiteEvaluator;

/// What was asked, and what was decided. The spec is without secrets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunManifest {
    /// What was asked.
    pub spec: RunSpec,
    /// What was decided.
    pub plan: RunPlan,
}

impl RunManifest {
    /// The manifest in the settings of a stored run; `None` for runs of earlier versions
    /// and of programs that plan nothing.
    pub fn of(config: &Map<String, Value>) -> Option<Self> {
        let read = |key: &str| config.get(key).cloned();
        Some(Self {
            spec: serde_json::from_value(read("spec")?).ok()?,
            plan: serde_json::from_value(read("plan")?).ok()?,
        })
    }

    /// Puts the manifest into the settings of a run that is to be stored.
    pub(crate) fn put(&self, config: &mut Map<String, Value>) {
        // Plain data always has a JSON form.
        let spec = serde_json::to_value(&self.spec).unwrap_or_default();
        let plan = serde_json::to_value(&self.plan).unwrap_or_default();
        config.insert("spec".into(), spec);
        config.insert("plan".into(), plan);
    }

    /// How the numbers of a result came about, in the words that results have for it.
    pub(crate) fn provenance(&self) -> Map<String, Value> {
        let (spec, scoring) = (&self.spec, &self.plan.scoring);
        let mut out = Map::new();
        let wired: Map<String, Value> = self
            .plan
            .benchmarks
            .iter()
            .map(|benchmark| {
                let mut own = benchmark.evaluators.clone();
                if !benchmark.kind.is_dataset() {
                    own.push(SuiteEvaluator::NAME.to_owned());
                }
                let how = json!({"evaluators": own, "score_field": benchmark.score_field});
                (benchmark.tag.clone(), how)
            })
            .collect();
        out.insert("scoring".into(), Value::Object(wired));
        if let Some(field) = &scoring.score_field {
            out.insert("score_field".into(), json!(field));
            out.insert("threshold".into(), json!(scoring.threshold));
        }
        let named = |pick: fn(&BenchmarkSpec) -> Option<&String>| -> Vec<&String> {
            spec.benchmarks.iter().filter_map(pick).collect()
        };
        let datasets = named(|benchmark| benchmark.dataset.as_ref());
        if !datasets.is_empty() {
            out.insert("datasets".into(), json!(datasets));
        }
        let tasks = named(|benchmark| benchmark.task.as_ref());
        if !tasks.is_empty() {
            out.insert("tasks".into(), json!(tasks));
        }
        out.insert("repeats".into(), json!(scoring.repeats));
        // Who answered: a reader that is not a language model must not pass for one.
        if !self.plan.harness.models.is_empty() {
            out.insert("answered_by".into(), json!(self.plan.harness.models));
        }
        let prompts = self.prompts();
        if !prompts.is_empty() {
            out.insert("prompts".into(), Value::Object(prompts));
        }
        if let Some(baseline) = &scoring.baseline {
            out.insert("baseline".into(), json!(baseline));
        }
        if let Some(memory) = self.memory() {
            out.insert("memory".into(), memory);
        }
        out
    }

    /// What memories could recall, in a run of memories.
    fn memory(&self) -> Option<Value> {
        let mut memory = serde_json::to_value(self.plan.memory.as_ref()?).ok()?;
        if let Some((_, model)) = &self.plan.scoring.judge {
            memory["judge"] = json!(model);
        }
        Some(memory)
    }

    /// How models were asked about each dataset of the catalog, where any was asked.
    fn prompts(&self) -> Map<String, Value> {
        let plan = &self.plan;
        let asks = plan.systems.iter().any(|system| system.endpoint.is_some());
        let named = plan.benchmarks.iter().filter(|one| {
            let is_dataset = one.kind.is_dataset() && !one.is_open;
            asks && is_dataset && plan.prompts.style.is_some()
        });
        let how = |one: &PlannedBenchmark| match &one.prompt {
            None => json!({"prompt": PromptStyle::Plain}),
            Some(parts) => {
                let mut how = json!({
                    "prompt": PromptStyle::Official,
                    "shots": parts.n_shots(),
                    "digest": parts.digest(),
                });
                if let Some(most) = parts.max_tokens {
                    how["max_tokens"] = json!(most);
                }
                if !parts.stop.is_empty() {
                    how["stop"] = json!(parts.stop);
                }
                if let Some(limit) = &parts.limit {
                    how["max_prompt_tokens"] = json!(limit.tokens);
                    how["tokenizer"] = json!(limit.tokenizer);
                }
                // What the authors show and a local copy does not have.
                if parts.n_shots() < parts.count {
                    how["shots_wanted"] = json!(parts.count);
                }
                how
            }
        };
        named.map(|one| (one.tag.clone(), how(one))).collect()
    }

    /// Takes the manifest out of the settings of a stored run, which results show.
    pub(crate) fn take(config: &mut Map<String, Value>) -> Option<Self> {
        let manifest = Self::of(config);
        config.shift_remove("spec");
        config.shift_remove("plan");
        manifest
    }
}
