//! Runs that are parts of a larger one: which part, of which plan, and its share of limits.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{PlanError, Planner, Systems};
use crate::benchmark::Suite;
use crate::bucket::BucketAddress;
use crate::dataset::Dataset;
use crate::plan::{RunPlan, RunSpec};
use crate::shard::{DataFacts, Shard, sharded};
use crate::store::{EvaluatorEntry, Key, ShardOrigin, StoreError, SystemEntry};

/// Which part of a larger run a planned run is.
#[derive(Debug, Clone)]
pub struct PlannedShard {
    /// The part.
    pub shard: Shard,
    /// As it is stored with the run.
    pub origin: ShardOrigin,
    /// How limits of the whole run are divided, in words.
    pub limits: Vec<String>,
    pub(super) facts: DataFacts,
}

/// The shard that a spec asks for, and how many run at once.
fn asked(spec: &RunSpec) -> Result<Option<(Shard, u32)>, PlanError> {
    let at_once = spec.limits.shards_at_once;
    if at_once == Some(0) {
        return Err(
            PlanError::new("`limits.shards_at_once` must be a whole number above 0")
                .with_hint("leave it out if all shards run at the same time"),
        );
    }
    let address = spec.cache_dir.as_deref().map(BucketAddress::of_setting);
    let bucket = address.transpose()?.flatten();
    let Some(text) = &spec.data.shard else {
        if let (Some(_), Some(path)) = (bucket, spec.cache_dir.clone()) {
            return Err(StoreError::Bucket { path }.into());
        }
        return match at_once {
            None => Ok(None),
            Some(_) => Err(
                PlanError::new("`--shards-at-once` is about shards, and this is none")
                    .with_hint("add `--shard i/n`"),
            ),
        };
    };
    let shard: Shard = text.parse()?;
    let at_once = at_once.unwrap_or(shard.count()).min(shard.count());
    Ok(Some((shard, at_once)))
}

/// The requests and tokens per second and minute that this process may use: a part of those of the
/// whole run.
pub(super) fn rates(spec: &RunSpec) -> Result<(Option<f64>, Option<f64>), PlanError> {
    let at_once = asked(spec)?.map_or(1, |(_, at_once)| at_once);
    let part = |rate: Option<f64>| rate.map(|rate| rate / f64::from(at_once));
    Ok((part(spec.limits.rps), part(spec.limits.tpm)))
}

impl Planner<'_> {
    /// The folder of this machine in which a run keeps more than its store; none where results go
    /// to a bucket.
    pub(super) fn kept_folder(&self) -> Option<&Path> {
        let is_folder = |dir: &&Path| matches!(BucketAddress::of_setting(dir), Ok(None));
        self.spec.cache_dir.as_deref().filter(is_folder)
    }

    /// The examples of the part that was asked for.
    pub(super) fn sharded(
        &self,
        examples: Dataset,
        plan: &RunPlan,
        systems: &Systems,
        suite: &Suite,
    ) -> Result<(Dataset, Option<PlannedShard>), PlanError> {
        let Some((shard, at_once)) = asked(self.spec)? else {
            return Ok((examples, None));
        };
        if plan.limits.stop_when_decided {
            return Err(PlanError::new(
                "`--stop-when-decided` looks at all examples, and a shard sees only its own",
            )
            .with_hint("leave one of `--stop-when-decided` and `--shard` out"));
        }
        let parts = parts(plan, systems, suite)?;
        let mut limits = Vec::new();
        let (rps, tpm) = rates(self.spec)?;
        for (here, whole, unit, per) in [
            (rps, plan.limits.rps, "requests", "s"),
            (tpm, plan.limits.tpm, "tokens", "min"),
        ] {
            if let (Some(here), Some(whole)) = (here, whole) {
                let here = (here * 1000.0).round() / 1000.0;
                limits.push(format!(
                    "{here} {unit}/{per} here ({whole}/{per} over {at_once} at once)"
                ));
            }
        }
        let (examples, facts) = sharded(examples, shard);
        let origin = ShardOrigin {
            index: shard.index(),
            count: shard.count(),
            plan: Key::plan(&parts).to_string(),
            parts,
            data: None,
        };
        let planned = PlannedShard {
            shard,
            origin,
            limits,
            facts,
        };
        Ok((examples, Some(planned)))
    }
}

/// Everything that decides which rows a run has and what is in them, but no paths: shards on other
/// machines have the same.
fn parts(
    plan: &RunPlan,
    systems: &Systems,
    suite: &Suite,
) -> Result<Map<String, Value>, PlanError> {
    let unknown = |kind: &str, name: &str, hint: &str| {
        let what = format!(
            "shards must agree on what {kind} `{name}` is, and nothing says when it has changed"
        );
        PlanError::new(what).with_hint(hint)
    };
    let mut asked = Vec::new();
    for system in &systems.systems {
        let identity = system.identity().ok_or_else(|| {
            let hint = "say what its answers depend on: `cache_key` in Python";
            unknown("the system", system.name(), hint)
        })?;
        let key = SystemEntry::new(system.name(), identity).key();
        asked.push(json!([system.name(), key.to_string()]));
    }
    let mut scorers: Vec<Value> = Vec::new();
    for (_, evaluators, _, _) in suite.scoring() {
        for evaluator in evaluators {
            let identity = evaluator.identity().ok_or_else(|| {
                let hint = "tasks with Python functions, and evaluators in Python without \
                            `cache_key`, cannot be sharded";
                unknown("the evaluator", evaluator.name(), hint)
            })?;
            let version = identity.version;
            let key = EvaluatorEntry::new(evaluator.name(), identity).key();
            let entry = json!([evaluator.name(), version, key.to_string()]);
            if !scorers.contains(&entry) {
                scorers.push(entry);
            }
        }
    }
    let benchmarks: Vec<Value> = plan
        .benchmarks
        .iter()
        .map(|one| json!([one.tag, one.repeats]))
        .collect();
    let parts = json!({
        "version": 1,
        "limit": plan.limit,
        "seeds": plan.seeds,
        "repeats": plan.scoring.repeats,
        "systems": asked,
        "evaluators": scorers,
        "benchmarks": benchmarks,
        "prompts": plan.prompts,
        "memory": plan.memory,
        "tokenizer": plan.scoring.tokenizer,
        "text_fields": plan.scoring.text_fields,
        "keep_order": plan.keep_order,
        "skip_bad_lines": plan.skip_bad_lines,
    });
    match parts {
        Value::Object(parts) => Ok(parts),
        _ => Ok(Map::new()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;

    use super::*;
    use crate::evaluator::{Evaluator, EvaluatorError};
    use crate::model::{Example, Identity, Output, ScoreName, Scores};
    use crate::plan::{BenchmarkSpec, SystemSpec};
    use crate::planner::{Surroundings, plan};
    use crate::registry::Registry;

    /// An evaluator that was changed so often.
    struct Versioned(u32, [ScoreName; 1]);

    #[async_trait]
    impl Evaluator for Versioned {
        fn name(&self) -> &str {
            "mine"
        }

        fn score_names(&self) -> &[ScoreName] {
            &self.1
        }

        fn identity(&self) -> Option<Identity> {
            Some(Identity::new("mine", self.0, Value::Null))
        }

        async fn score(&self, _: &Example, _: &Output) -> Result<Scores, EvaluatorError> {
            Ok(Scores::default())
        }
    }

    fn planned(file: &std::path::Path, version: u32) -> PlannedShard {
        let mut registry = Registry::builtin();
        let make = move |_| Ok(Arc::new(Versioned(version, ["f1".into()])) as Arc<dyn Evaluator>);
        registry.evaluators.register("mine", "", Arc::new(make));
        let mut spec = RunSpec {
            systems: vec![SystemSpec {
                system: Some("passthrough".to_owned()),
                ..SystemSpec::default()
            }],
            benchmarks: vec![BenchmarkSpec {
                dataset: Some(file.display().to_string()),
                ..BenchmarkSpec::default()
            }],
            ..RunSpec::default()
        };
        spec.scoring.evaluators = Some(vec!["mine".to_owned()]);
        spec.data.shard = Some("1/4".to_owned());
        let planned = plan(&spec, &Surroundings::new(registry)).expect("a plan");
        planned.shard.expect("a shard")
    }

    #[test]
    fn another_version_of_an_evaluator_is_another_plan() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("q.jsonl");
        std::fs::write(&file, r#"{"question": "Capital?", "answer": "Paris"}"#).expect("written");
        let [one, same, other] = [1, 1, 2].map(|version| planned(&file, version).origin);
        assert_eq!(one, same);
        assert_ne!(one.plan, other.plan);
        let differing: Vec<&String> = one
            .parts
            .keys()
            .filter(|name| one.parts.get(*name) != other.parts.get(*name))
            .collect();
        assert_eq!(differing, ["evaluators"]);
    }
}
