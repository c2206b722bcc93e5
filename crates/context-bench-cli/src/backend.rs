//! `--model local-completions --model_args base_url=…`: endpoints in the words of
//! lm-evaluation-harness, as flags of ours.

use context_bench::MaxWorkers;
use context_bench::task::LikelihoodSettings;
use context_bench::task::tasks::arguments;
use serde_json::{Map, Value, json};

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output;

/// Names of `--model` that mean an endpoint.
const BACKENDS: &[(&str, Backend)] = &[
    ("local-completions", Backend::new(None, false)),
    ("local-chat-completions", Backend::new(None, true)),
    (
        "openai-completions",
        Backend::new(Some("https://api.openai.com/v1/completions"), false),
    ),
    (
        "openai-chat-completions",
        Backend::new(Some("https://api.openai.com/v1/chat/completions"), true),
    ),
];

/// Names of `--model` that run a model in the reference's own process.
const IN_PROCESS: &[&str] = &[
    "hf",
    "hf-auto",
    "huggingface",
    "vllm",
    "sglang",
    "gguf",
    "ggml",
    "mamba_ssm",
    "nemo_lm",
    "openvino",
    "neuronx",
    "steered",
    "dummy",
];

/// Arguments that mean something to the reference and nothing here.
const WITHOUT_EFFECT: &[&str] = &[
    "tokenizer",
    "tokenizer_backend",
    "tokenized_requests",
    "add_bos_token",
    "truncate",
    "verify_certificate",
    "ca_cert_path",
    "auth_token",
    "header",
    "max_images",
    "custom_prefix_token_id",
    "trust_remote_code",
    "revision",
    "dtype",
];

#[derive(Debug, Clone, Copy)]
struct Backend {
    url: Option<&'static str>,
    is_chat: bool,
}

impl Backend {
    const fn new(url: Option<&'static str>, is_chat: bool) -> Self {
        Self { url, is_chat }
    }
}

/// What tasks need to know of the model beside its endpoint.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskSettings {
    /// How likelihoods are asked for; none from an endpoint that is for chats alone.
    pub(crate) likelihoods: Option<LikelihoodSettings>,
    /// Settings of generation, when tasks do not say them.
    pub(crate) max_gen_toks: Option<u64>,
    /// Ends every answer, with the stops of its task.
    pub(crate) eos: Option<String>,
    /// Sent with every request.
    pub(crate) seed: Option<i64>,
    /// The name of `--model` as typed, when it is one of the reference's.
    pub(crate) backend: Option<String>,
    /// The arguments as typed.
    pub(crate) model_args: Map<String, Value>,
}

/// The flags with what `--model` and `--model-args` mean in place of them.
pub(crate) fn resolved(args: &RunArgs) -> Result<(RunArgs, TaskSettings), Failure> {
    let mut args = args.clone();
    let mut settings = TaskSettings::default();
    let mut likelihoods = LikelihoodSettings::default();
    if let Some(n) = args.task.batch_size {
        likelihoods.batch_size = n;
    }
    for typed in &args.task.model_args {
        settings.model_args.extend(arguments::parse(typed)?);
    }
    let backend = BACKENDS.iter().find(|(name, _)| *name == args.model);
    let mut given = settings.model_args.clone();
    if let Some((name, backend)) = backend {
        settings.backend = Some((*name).to_owned());
        name_endpoint(&mut args, name, *backend, &mut given)?;
        settings.seed = Some(integer(&mut given, "seed")?.unwrap_or(1234));
    } else if IN_PROCESS.contains(&args.model.as_str()) {
        return Err(Failure::bad_input(format!(
            "`--model {}` runs a model in its own process, which context-bench does not",
            args.model
        ))
        .hint(
            "serve the model, then `--model local-completions --model-args base_url=http://HOST/v1/completions,model=NAME`",
        ));
    }
    if let Some(n) = whole(&mut given, "batch_size")? {
        likelihoods.batch_size = n.max(1);
    }
    if let Some(n) = whole(&mut given, "max_length")? {
        // One token is for what is generated.
        likelihoods.max_length = n.saturating_sub(1).max(1);
    }
    likelihoods.prefix = text(&mut given, "prefix");
    settings.max_gen_toks = whole(&mut given, "max_gen_toks")?.map(|n| n as u64);
    settings.eos = text(&mut given, "eos_string");
    for name in WITHOUT_EFFECT {
        if given.shift_remove(*name).is_some() {
            output::warning(&format!("`{name}` of `--model-args` has no effect here"));
        }
    }
    if let Some(unknown) = given.keys().next() {
        return Err(
            Failure::bad_input(format!("`--model-args` has no argument `{unknown}`")).hint(
                "there are base_url, model, num_concurrent, max_retries, timeout, batch_size, \
                 max_length, max_gen_toks, eos_string, prefix and seed",
            ),
        );
    }
    let chat_only = |url: &String| {
        let path = url.split(['?', '#']).next().unwrap_or_default();
        path.trim_end_matches('/').ends_with("/chat/completions")
    };
    let is_chat = backend.is_some_and(|(_, backend)| backend.is_chat)
        || args.proxy.iter().chain(&args.relay).any(chat_only);
    settings.likelihoods = (!is_chat).then_some(likelihoods);
    Ok((args, settings))
}

fn name_endpoint(
    args: &mut RunArgs,
    name: &str,
    backend: Backend,
    given: &mut Map<String, Value>,
) -> Result<(), Failure> {
    let url = text(given, "base_url").or_else(|| backend.url.map(str::to_owned));
    let Some(url) = url else {
        return Err(
            Failure::bad_input(format!("`--model {name}` needs an address")).hint(
                "add `--model-args base_url=http://localhost:8000/v1/completions,model=NAME`",
            ),
        );
    };
    if !args.proxy.is_empty() {
        return Err(Failure::bad_input(format!(
            "both `--proxy` and `--model {name}` name an endpoint"
        ))
        .hint("keep one of them"));
    }
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let path = path.trim_end_matches('/');
    // A base URL is completed as the backend asks.
    let url = match (path.ends_with("/completions"), backend.is_chat) {
        (true, _) | (false, true) => url,
        (false, false) if path.ends_with("/v1") => format!("{path}/completions"),
        (false, false) => format!("{path}/v1/completions"),
    };
    args.proxy = vec![url];
    let model = text(given, "model").or_else(|| text(given, "pretrained"));
    args.model = model.ok_or_else(|| {
        Failure::bad_input(format!("`--model {name}` needs the name of a model"))
            .hint("add `model=NAME` to `--model-args`")
    })?;
    if let Some(n) = whole(given, "num_concurrent")? {
        args.max_workers = MaxWorkers::Fixed(n.max(1));
    }
    if let Some(n) = whole(given, "max_retries")? {
        // Their number counts the first attempt.
        args.max_retries = u32::try_from(n.saturating_sub(1)).unwrap_or(u32::MAX);
    }
    args.timeout = match given.shift_remove("timeout") {
        None => 300.0,
        Some(value) => value
            .as_f64()
            .filter(|seconds| *seconds > 0.0)
            .ok_or_else(|| {
                Failure::bad_input(format!(
                    "`timeout` must be a number of seconds, found `{value}`"
                ))
            })?,
    };
    let is_chat_without_messages =
        backend.is_chat && args.task.select.prompt.apply_chat_template.is_none();
    if is_chat_without_messages {
        return Err(Failure::bad_input(format!(
            "`--model {name}` takes messages, and prompts are plain text"
        ))
        .hint(
            "add `--apply-chat-template`, or use `--proxy URL` to send a prompt as one message",
        ));
    }
    Ok(())
}

fn text(given: &mut Map<String, Value>, name: &str) -> Option<String> {
    match given.shift_remove(name)? {
        Value::String(text) => Some(text),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

fn integer(given: &mut Map<String, Value>, name: &str) -> Result<Option<i64>, Failure> {
    match given.shift_remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_i64() {
            Some(n) => Ok(Some(n)),
            None => Err(Failure::bad_input(format!(
                "`{name}` of `--model-args` must be a whole number, found `{value}`"
            ))),
        },
    }
}

fn whole(given: &mut Map<String, Value>, name: &str) -> Result<Option<usize>, Failure> {
    if name == "batch_size" && given.get(name) == Some(&json!("auto")) {
        given.shift_remove(name);
        return Ok(None);
    }
    match integer(given, name)? {
        None => Ok(None),
        Some(n) => usize::try_from(n).map(Some).map_err(|_| {
            Failure::bad_input(format!("`{name}` of `--model-args` must not be below 0"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    fn of(line: &str) -> Result<(RunArgs, TaskSettings), Failure> {
        let line = format!("context-bench --tasks t {line}");
        resolved(&crate::args::Cli::parse_from(line.split(' ')).run)
    }

    #[test]
    fn backends_become_endpoints() {
        let (args, settings) = of(
            "--model local-completions --model_args base_url=http://h:1/v1/completions,model=m,\
             num_concurrent=8,max_retries=3,max_length=4096,tokenizer_backend=huggingface",
        )
        .expect("valid");
        assert_eq!(args.proxy, ["http://h:1/v1/completions"]);
        assert_eq!((args.model.as_str(), args.max_workers.most()), ("m", 8));
        assert_eq!((args.max_retries, args.timeout), (2, 300.0));
        let likelihoods = settings.likelihoods.expect("plain text");
        assert_eq!((likelihoods.max_length, likelihoods.batch_size), (4095, 1));
        assert_eq!(settings.seed, Some(1234));
        let (args, _) =
            of("--model local-completions -a base_url=http://h,model=m").expect("valid");
        assert_eq!(args.proxy, ["http://h/v1/completions"]);
    }

    #[test]
    fn endpoints_for_chats_give_no_likelihoods() {
        let chat = "--model local-chat-completions --model_args base_url=http://h,model=m";
        let error = of(chat).expect_err("no messages");
        assert!(
            error
                .hint
                .expect("advice")
                .contains("--apply-chat-template")
        );
        let (_, settings) = of(&format!("{chat} --apply_chat_template")).expect("valid");
        assert!(settings.likelihoods.is_none());
        let (_, settings) = of("--proxy http://h/v1/chat/completions").expect("valid");
        assert!(settings.likelihoods.is_none());
        let (_, settings) = of("--proxy http://h/v1 --batch_size 4").expect("valid");
        assert_eq!(settings.likelihoods.expect("any").batch_size, 4);
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (line, expected) in [
            (
                "--model hf --model_args pretrained=gpt2",
                "in its own process",
            ),
            ("--model local-completions", "needs an address"),
            (
                "--model local-completions -a base_url=http://h",
                "needs the name of a model",
            ),
            (
                "--model local-completions -a base_url=http://h,model=m --proxy http://i",
                "both",
            ),
            ("--proxy http://h -a nope=1", "no argument `nope`"),
            ("--proxy http://h -a max_length=x", "whole number"),
        ] {
            let error = of(line).expect_err(line);
            assert!(error.what.contains(expected), "{line}: {}", error.what);
        }
    }
}
