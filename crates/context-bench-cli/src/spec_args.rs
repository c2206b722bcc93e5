//! Translates flags into a `RunSpec`. Flags that were not given stay unset, so that run files
//! and defaults can fill them in.

use std::path::Path;

use context_bench::mask;
use context_bench::plan::{
    ArmSpec, BenchmarkSpec, DataSpec, LikelihoodSpec, LimitSpec, OutputSpec, PromptSpec,
    PythonSpec, RequestSpec, RunSpec, ScoringSpec, SeedSpec, SystemSpec, TapSpec,
};
use context_bench::tap::{CredentialScope, UpstreamEncoding};
use context_bench::task::tasks::arguments;
use context_bench::task::tasks::options::Limit;
use serde_json::{Map, Value};

use crate::args::{RunArgs, RunTapArgs};
use crate::backend;
use crate::env;
use crate::failure::Failure;
use crate::output;
use crate::outputs;
use crate::proxy_args;
use crate::stores;
use crate::task_args::{PromptArgs, PythonArgs};

/// The spec of a command line: the run file, overridden by flags.
pub(crate) fn spec(args: &RunArgs, file: Option<&Path>) -> Result<RunSpec, Failure> {
    over_file(flags(args)?, file)
}

/// A run file, overridden by the spec of flags.
pub(crate) fn over_file(flags: RunSpec, file: Option<&Path>) -> Result<RunSpec, Failure> {
    let mut spec = match file {
        Some(path) => {
            let read = RunSpec::read(path).inspect_err(|_| {
                // The error may quote the file, and its settings are not parsed yet.
                let text = std::fs::read(path).unwrap_or_default();
                output::hide(mask::secrets_in(&String::from_utf8_lossy(&text)));
            });
            read?.with(&flags)
        }
        None => flags,
    };
    output::hide(spec.secrets());
    let own = spec.systems.iter().map(|system| &system.api_key_env);
    let named = own.chain([&spec.requests.api_key_env]).flatten();
    output::hide(named.filter_map(|name| env::get(name)));
    if spec.cache_dir.is_none() {
        spec.cache_dir = stores::folder(None);
    }
    Ok(spec)
}

/// The spec of the flags alone.
pub(crate) fn flags(args: &RunArgs) -> Result<RunSpec, Failure> {
    let task = &args.task;
    let mut spec = RunSpec {
        systems: systems(args)?,
        sweeps: args.sweep.clone(),
        relay: args.relay.clone(),
        benchmarks: benchmarks(args),
        prompt: task.select.prompt.style,
        data: data(args)?,
        prompts: prompts(args)?,
        requests: requests(args)?,
        likelihoods: LikelihoodSpec {
            batch_size: task.batch_size,
            ..LikelihoodSpec::default()
        },
        scoring: scoring(args),
        limits: LimitSpec {
            max_workers: args.max_workers,
            rps: args.rps,
            tpm: args.tpm,
            shards_at_once: args.shard.shards_at_once,
            example_timeout: args.example_timeout,
            max_time: args.max_time,
            max_error_rate: args.max_error_rate,
            stop_when_decided: flag(args.stop_when_decided),
        },
        tap: tap(&args.tap)?,
        seeds: SeedSpec {
            options: args.seed,
            fewshot: args.seed,
            order: args.seed,
            generation: None,
        },
        python: task.select.prompt.python.spec(),
        engine: args.engine.clone(),
        cache_dir: args.cache_dir.clone(),
        output: OutputSpec {
            harness_path: task.output_path.clone(),
            log_samples: flag(task.log_samples),
            text: args.no_text.then_some(false),
            ..outputs::spec(&args.output, &args.output_file)?
        },
        ..RunSpec::default()
    };
    backend::translate(args, &mut spec)?;
    for (given, name) in [
        (task.device.is_some(), "--device"),
        (task.trust_remote_code, "--trust_remote_code"),
        (task.verbosity.is_some(), "--verbosity"),
    ] {
        if given {
            output::warning(&format!(
                "`{name}` has no effect: models are asked over HTTP, and code of datasets is \
                 never run"
            ));
        }
    }
    Ok(spec)
}

/// A switch can only turn something on; without it the run file decides.
fn flag(set: bool) -> Option<bool> {
    set.then_some(true)
}

/// What the tap is told.
fn tap(args: &RunTapArgs) -> Result<TapSpec, Failure> {
    let credential = args.tap_credential.as_deref();
    let encoding = args.tap_encoding.as_deref();
    Ok(TapSpec {
        upstream: args.upstream.clone(),
        arms: arms(&args.arms)?,
        listen: args.tap_listen.clone(),
        log: args.tap_log.clone(),
        credential: credential.map(|which| match which {
            "arm" => CredentialScope::Arm,
            _ => CredentialScope::Example,
        }),
        exclusive: flag(args.tap_exclusive),
        unattributed_limit: args.tap_unattributed,
        encoding: encoding.map(|encoding| match encoding {
            "passthrough" => UpstreamEncoding::Passthrough,
            "gzip" => UpstreamEncoding::Gzip,
            _ => UpstreamEncoding::Identity,
        }),
    })
}

/// The arms of `--arms`.
fn arms(typed: &[String]) -> Result<Vec<ArmSpec>, Failure> {
    let words = typed.iter().map(|word| word.trim());
    let arms: Result<Vec<ArmSpec>, _> = words.map(str::parse).collect();
    Ok(arms?)
}

/// Proxies, then built-in systems, then commands.
fn systems(args: &RunArgs) -> Result<Vec<SystemSpec>, Failure> {
    let reserved = usize::from(backend::names_endpoint(args));
    let mut names = args.name.iter().skip(reserved).cloned();
    let mut systems = Vec::new();
    for typed in &args.proxy {
        let mut system = proxy_args::parse(typed)?;
        // A proxy with a name of its own does not use up a `--name`.
        if system.name.is_none() {
            system.name = names.next();
        }
        systems.push(system);
    }
    for typed in &args.system {
        systems.push(SystemSpec {
            system: Some(typed.clone()),
            ..SystemSpec::default()
        });
    }
    for command in &args.command {
        systems.push(SystemSpec {
            command: Some(command.clone()),
            name: names.next(),
            version: args.system_version.clone(),
            ..SystemSpec::default()
        });
    }
    if let Some(name) = names.next() {
        return Err(Failure::bad_input(format!(
            "`--name {name}` has no `--proxy` or `--command` to name"
        ))
        .hint(
            "name a built-in system with `--system NAME=…`, and a system of a run file in the file",
        ));
    }
    Ok(systems)
}

fn benchmarks(args: &RunArgs) -> Vec<BenchmarkSpec> {
    let datasets = args.dataset.iter().map(|typed| BenchmarkSpec {
        dataset: Some(typed.clone()),
        ..BenchmarkSpec::default()
    });
    let tasks = args.task.select.tasks.iter().map(|typed| BenchmarkSpec {
        task: Some(typed.clone()),
        ..BenchmarkSpec::default()
    });
    datasets.chain(tasks).collect()
}

fn data(args: &RunArgs) -> Result<DataSpec, Failure> {
    let select = &args.task.select;
    let limit = match (select.limit, args.max_examples) {
        (Some(_), Some(_)) => {
            return Err(Failure::bad_input(
                "`--limit` and `--max-examples` cannot be used together",
            )
            .hint("they mean the same; leave one out"));
        }
        (Some(limit), None) => Some(number(limit)),
        (None, max) => max.map(|n| n as f64),
    };
    Ok(DataSpec {
        include_path: args.include_path.clone(),
        map: args.map.iter().flatten().cloned().collect(),
        limit,
        repeats: args.repeats,
        shard: args.shard.shard()?,
        skip_bad_lines: flag(args.skip_bad_lines),
        keep_order: flag(args.keep_order),
        ..select.prompt.data()
    })
}

/// A limit as a number; below 1 it is a share.
pub(crate) fn number(limit: Limit) -> f64 {
    match limit {
        Limit::Count(n) => n as f64,
        Limit::Share(share) => share,
    }
}

fn prompts(args: &RunArgs) -> Result<PromptSpec, Failure> {
    let mut generation = Map::new();
    for typed in &args.task.gen_kwargs {
        generation.extend(arguments::parse(typed)?);
    }
    let metadata = match &args.task.metadata {
        None => Map::new(),
        Some(text) => match serde_json::from_str(text) {
            Ok(Value::Object(given)) => given,
            _ => {
                return Err(Failure::bad_input("`--metadata` must be a JSON object")
                    .hint("for example `--metadata '{\"max_seq_lengths\": [4096]}'`"));
            }
        },
    };
    Ok(PromptSpec {
        generation,
        metadata,
        ..args.task.select.prompt.prompts()?
    })
}

fn requests(args: &RunArgs) -> Result<RequestSpec, Failure> {
    let extra_body = args.extra_body.as_deref().map(extra_body).transpose()?;
    Ok(RequestSpec {
        model: args.model.clone(),
        api: args.api,
        api_key_env: args.api_key_env.clone(),
        system_prompt: args.system_prompt.clone(),
        temperature: args.temperature,
        max_tokens: args.max_tokens,
        headers: proxy_args::headers(&args.header)?,
        layout: args.layout,
        extra_body,
        timeout: args.timeout,
        max_retries: args.max_retries,
        stream: flag(args.stream),
    })
}

fn extra_body(text: &str) -> Result<Map<String, Value>, Failure> {
    let bad = |what: String| {
        Failure::bad_input(format!("`--extra-body` must be a JSON object: {what}"))
            .hint("for example `--extra-body '{\"temperature\": 0}'`")
    };
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(bad("this is another kind of JSON value".into())),
        Err(error) => Err(bad(error.to_string())),
    }
}

fn scoring(args: &RunArgs) -> ScoringSpec {
    ScoringSpec {
        evaluators: (!args.evaluator.is_empty()).then(|| args.evaluator.clone()),
        score_field: args.score_field.clone(),
        threshold: args.threshold,
        baseline: args.baseline.clone(),
        margin: args.margin,
        judge_url: args.judge_url.clone(),
        judge_model: args.judge_model.clone(),
        tokenizer: args.tokenizer.clone(),
        text_fields: args.text_field.clone(),
        prices: args.prices.prices.clone(),
        metrics: None,
        bootstrap_iters: args.task.bootstrap_iters,
        pooled_stderr: flag(args.task.pooled_stderr),
        confirm_run_unsafe_code: flag(args.task.confirm_run_unsafe_code),
        allow_unsandboxed_code: flag(args.allow_unsandboxed_code),
        control: args.control.clone(),
        ..args.gates.spec()
    }
}

impl PromptArgs {
    /// The part of a spec that says how prompts are made.
    pub(crate) fn prompts(&self) -> Result<PromptSpec, Failure> {
        let applied = self.apply_chat_template.as_deref().map(str::to_lowercase);
        let apply_chat_template = match applied.as_deref() {
            None => None,
            Some("false") => Some(false),
            Some("true") => Some(true),
            Some(name) => {
                return Err(
                    Failure::bad_input(format!("unknown chat template `{name}`")).hint(
                        "leave out the name: the endpoint applies its own template to messages",
                    ),
                );
            }
        };
        Ok(PromptSpec {
            num_fewshot: self.num_fewshot,
            apply_chat_template,
            fewshot_as_multiturn: self.fewshot_as_multiturn,
            system_instruction: self.system_instruction.clone(),
            max_prompt_tokens: self.max_prompt_tokens,
            ..PromptSpec::default()
        })
    }

    /// The part of a spec that says which files records come from.
    pub(crate) fn data(&self) -> DataSpec {
        DataSpec {
            files: self.data.iter().cloned().collect(),
            copies: self.data_from.iter().cloned().collect(),
            ..DataSpec::default()
        }
    }

    /// The spec of commands that only show prompts.
    pub(crate) fn spec(&self, seed: Option<i64>, limit: Option<Limit>) -> Result<RunSpec, Failure> {
        Ok(RunSpec {
            prompt: self.style,
            data: DataSpec {
                limit: limit.map(number),
                ..self.data()
            },
            prompts: self.prompts()?,
            seeds: SeedSpec {
                options: seed,
                fewshot: seed,
                order: seed,
                generation: None,
            },
            python: self.python.spec(),
            ..RunSpec::default()
        })
    }
}

impl PythonArgs {
    /// The part of a spec about Python code.
    pub(crate) fn spec(&self) -> PythonSpec {
        PythonSpec {
            interpreter: self.interpreter.clone(),
            allowed: self.no_python.then_some(false),
        }
    }
}
