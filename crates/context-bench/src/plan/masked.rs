//! Specs and plans as they are shown and stored: without secrets.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{
    BenchmarkSpec, DataSpec, MemorySpec, PlannedBenchmark, PlannedMemory, PlannedPrompts,
    PlannedScoring, PlannedSystem, RunPlan, RunSpec,
};
use crate::benchmark::HarnessFacts;
use crate::mask::{self, Mask};
use crate::model::PromptParts;

/// What stands for secrets here: people read it.
const DOTS: Mask = Mask::Dots;

impl RunSpec {
    /// The spec without keys and passwords, as it is shown and stored.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        let value = serde_json::to_value(self).unwrap_or_default();
        let mut masked: Self = serde_json::from_value(DOTS.value(&value)).unwrap_or_default();
        // Names and paths of data have no secrets, whatever they are called; addresses may.
        masked.data = data(&self.data);
        masked.benchmarks = self.benchmarks.iter().map(benchmark).collect();
        masked.memory = self.memory.as_ref().map(|memory| MemorySpec {
            embedding_model: memory.embedding_model.as_deref().map(source),
            ..memory.clone()
        });
        // In prose, `key: value` is not a secret either; what looks like a key is.
        masked.prompts.system_instruction = prose(self.prompts.system_instruction.as_ref());
        masked.prompts.overrides = DOTS.task(&self.prompts.overrides);
        masked.requests.system_prompt = prose(self.requests.system_prompt.as_ref());
        for (masked, system) in masked.systems.iter_mut().zip(&self.systems) {
            masked.system_prompt = prose(system.system_prompt.as_ref());
        }
        masked
    }

    /// The secrets in it, to be looked for in what is said about the run.
    pub fn secrets(&self) -> Vec<String> {
        let value = serde_json::to_value(self).unwrap_or_default();
        let found = mask::secrets_of(&value).into_iter();
        let found = found.filter_map(|value| match value {
            Value::String(text) => Some(text),
            _ => None,
        });
        // What is only a name among data is none.
        let masked = serde_json::to_value(self.without_secrets()).unwrap_or_default();
        let masked = masked.to_string();
        found.filter(|secret| !masked.contains(secret)).collect()
    }
}

fn prose(text: Option<&String>) -> Option<String> {
    text.map(|text| DOTS.text(text))
}

/// Where data are: an address is a setting, a path is words.
fn source(text: &str) -> String {
    match text.contains("://") {
        true => DOTS.setting(text),
        false => DOTS.text(text),
    }
}

fn path(path: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    match source(&text) {
        masked if masked == text => path.to_owned(),
        masked => masked.into(),
    }
}

fn benchmark(benchmark: &BenchmarkSpec) -> BenchmarkSpec {
    let BenchmarkSpec {
        dataset,
        task,
        given,
    } = benchmark;
    let source = |text: &Option<String>| text.as_deref().map(source);
    BenchmarkSpec {
        dataset: source(dataset),
        task: source(task),
        given: source(given),
    }
}

fn data(data: &DataSpec) -> DataSpec {
    let named = |(name, file): (&String, &PathBuf)| match name.contains([' ', '?', '&', '/']) {
        // `--data http://h?api_key=…` is not a name with a file.
        true => {
            let text = format!("{name}={}", file.to_string_lossy());
            let masked = DOTS.setting(&text);
            let (name, file) = masked.split_once('=').unwrap_or((&masked, ""));
            (name.to_owned(), path(Path::new(file)))
        }
        false => (name.clone(), path(file)),
    };
    let words = |(name, key): (&String, &String)| (name.clone(), DOTS.text(key));
    DataSpec {
        include_path: data.include_path.iter().map(|file| path(file)).collect(),
        files: data.files.iter().map(named).collect(),
        copies: data.copies.iter().map(named).collect(),
        map: data.map.iter().map(words).collect(),
        ..data.clone()
    }
}

impl RunPlan {
    /// The plan without keys and passwords, as it is shown and stored.
    ///
    /// Every member is named here, so that a new one is decided about as well.
    #[must_use]
    pub fn without_secrets(self) -> Self {
        let Self {
            version,
            systems,
            benchmarks,
            mut tree,
            scoring,
            memory,
            prompts,
            limits,
            seeds,
            limit,
            skip_bad_lines,
            keep_order,
            harness,
            sweeps,
            controls,
        } = self;
        for leaf in tree.leaves_mut() {
            let masked = DOTS.task(&leaf.config.to_json());
            for (key, value) in masked {
                if let Some(setting) = leaf.config.setting(&key)
                    && setting.value != value
                {
                    let origin = setting.origin.clone();
                    leaf.config.set(&key, value, origin);
                }
            }
        }
        Self {
            version,
            systems: systems.into_iter().map(system).collect(),
            benchmarks: benchmarks
                .into_iter()
                .map(|benchmark| PlannedBenchmark {
                    source: source(&benchmark.source),
                    prompt: benchmark.prompt.map(prompt),
                    ..benchmark
                })
                .collect(),
            tree,
            scoring: self::scoring(scoring),
            memory: memory.map(|memory| PlannedMemory {
                embedding_model: memory.embedding_model.as_deref().map(source),
                ..memory
            }),
            prompts: PlannedPrompts {
                system_instruction: prose(prompts.system_instruction.as_ref()),
                generation: DOTS.map(&prompts.generation),
                metadata: DOTS.map(&prompts.metadata),
                ..prompts
            },
            limits,
            seeds,
            limit,
            skip_bad_lines,
            keep_order,
            harness: self::harness(harness),
            // Names of systems and numbers.
            sweeps,
            controls,
        }
    }
}

/// Templates are prose; worked examples are data.
fn prompt(prompt: PromptParts) -> PromptParts {
    let text = |(name, text): (String, String)| (name, DOTS.text(&text));
    PromptParts {
        system: prose(prompt.system.as_ref()),
        user: prose(prompt.user.as_ref()),
        with: prompt.with.into_iter().map(text).collect(),
        ..prompt
    }
}

/// Its settings are an identity, which holds digests already.
fn system(system: PlannedSystem) -> PlannedSystem {
    PlannedSystem {
        endpoint: system.endpoint.map(|url| DOTS.setting(&url)),
        model: system.model.map(|model| DOTS.setting(&model)),
        ..system
    }
}

fn scoring(scoring: PlannedScoring) -> PlannedScoring {
    let written = |name: String| DOTS.setting(&name);
    PlannedScoring {
        evaluators: scoring.evaluators.into_iter().map(written).collect(),
        text_fields: scoring
            .text_fields
            .map(|fields| fields.into_iter().map(written).collect()),
        metrics: scoring
            .metrics
            .map(|metrics| metrics.into_iter().map(written).collect()),
        judge: scoring
            .judge
            .map(|(url, model)| (DOTS.setting(&url), DOTS.setting(&model))),
        ..scoring
    }
}

fn harness(facts: HarnessFacts) -> HarnessFacts {
    HarnessFacts {
        backend: facts.backend.map(|name| DOTS.setting(&name)),
        model_args: DOTS.map(&facts.model_args),
        models: facts
            .models
            .into_iter()
            .map(|(system, model)| (system, DOTS.setting(&model)))
            .collect(),
        model: DOTS.setting(&facts.model),
        cache_dir: facts.cache_dir.map(|dir| DOTS.setting(&dir)),
        gen_kwargs: facts.gen_kwargs.map(|written| DOTS.setting(&written)),
        system_instruction: prose(facts.system_instruction.as_ref()),
        ..facts
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_stored_of_a_spec_holds_no_secrets() {
        let text = "systems: [{proxy: 'http://me:pass-77@h/v1?k=pass-77', headers: {X-Api-Key: pass-77}},\n  \
                    {command: 'sh -c \"export MY_KEY=pass-77; curl http://u:pass-77@h?api_key=pass-77\"'}]\n\
                    benchmarks: [{dataset: 'https://u:pass-77@h/d.jsonl'}, {dataset: 'key=a.jsonl'}]\n\
                    data: {files: {test: 'https://u:pass-77@h/t.jsonl', token: k.jsonl}}\n\
                    prompts: {metadata: {base_url: 'http://u:pass-77@h', api_key: pass-77}, generation: {token: pass-77}}\n\
                    requests: {api_key_env: sk-pass-77, system_prompt: 'The key: is here', extra_body: {max_tokens: 5}}\n";
        let spec = RunSpec::parse(text.as_bytes(), "run.yaml").expect("valid");
        let masked = spec.without_secrets();
        let shown = json!(masked).to_string();
        assert!(!shown.contains("pass-77"), "{shown}");
        assert_eq!(masked.benchmarks[1], spec.benchmarks[1]);
        assert_eq!(masked.data.files["token"], Path::new("k.jsonl"));
        assert_eq!(
            masked.requests.system_prompt,
            Some("The key: is here".into())
        );
        assert_eq!(masked.requests.extra_body, spec.requests.extra_body);
        assert_eq!(masked.without_secrets(), masked);
        let mut secrets = spec.secrets();
        secrets.sort();
        secrets.dedup();
        assert_eq!(secrets, ["pass-77", "sk-pass-77"]);
    }
}
