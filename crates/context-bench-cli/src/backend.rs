//! The endpoint flags of lm-evaluation-harness (`--model local-completions --model_args
//! base_url=…`), translated into our settings.

use context_bench::plan::{RunSpec, SystemSpec, Workers};
use context_bench::task::tasks::arguments;
use context_bench_error::suggest::quoted_list;
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

/// Names of `--model` with which lm-evaluation-harness runs a model in its own process.
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

/// Model arguments about the endpoint of a backend.
const OF_ENDPOINT: &[&str] = &[
    "base_url",
    "model",
    "num_concurrent",
    "max_retries",
    "timeout",
];

/// Model arguments that lm-evaluation-harness uses and this program ignores.
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

/// Whether `--model` may be a backend of lm-evaluation-harness.
fn may_name_backend(args: &RunArgs) -> bool {
    !args.task.select.tasks.is_empty() || !args.task.model_args.is_empty()
}

/// Whether `--model` is a backend, and so an endpoint that takes the first `--name`.
pub(crate) fn names_endpoint(args: &RunArgs) -> bool {
    let model = args.model.as_deref().unwrap_or_default();
    may_name_backend(args) && BACKENDS.iter().any(|(name, _)| *name == model)
}

/// Adds what `--model` and `--model-args` of lm-evaluation-harness mean to a spec.
pub(crate) fn translate(args: &RunArgs, spec: &mut RunSpec) -> Result<(), Failure> {
    let task = &args.task;
    if !may_name_backend(args) {
        return Ok(());
    }
    for typed in &task.model_args {
        spec.harness.model_args.extend(arguments::parse(typed)?);
    }
    let typed = args.model.as_deref().unwrap_or_default();
    let backend = BACKENDS.iter().find(|(name, _)| *name == typed);
    let mut given = spec.harness.model_args.clone();
    if let Some((name, backend)) = backend {
        spec.harness.model = Some((*name).to_owned());
        let called = args.name.first().cloned();
        name_endpoint(spec, name, *backend, called, &mut given)?;
        spec.seeds.generation = Some(integer(&mut given, "seed")?.unwrap_or(1234));
    } else if IN_PROCESS.contains(&typed) {
        return Err(Failure::bad_input(format!(
            "`--model {typed}` would run a model in this process, which context-bench cannot do"
        ))
        .hint(
            "serve the model, then pass `--model local-completions --model-args base_url=http://HOST/v1/completions,model=NAME`",
        ));
    }
    if let Some(n) = whole(&mut given, "batch_size")? {
        spec.likelihoods.batch_size = Some(n.max(1));
    }
    if let Some(n) = whole(&mut given, "max_length")? {
        spec.likelihoods.max_length = Some(n);
    }
    if let Some(prefix) = text(&mut given, "prefix") {
        spec.likelihoods.prefix = Some(prefix);
    }
    if let Some(n) = whole(&mut given, "max_gen_toks")? {
        spec.prompts.max_gen_toks = Some(n as u64);
    }
    if let Some(eos) = text(&mut given, "eos_string") {
        spec.prompts.eos = Some(eos);
    }
    for name in WITHOUT_EFFECT {
        if given.shift_remove(*name).is_some() {
            output::warning(&format!("`{name}` of `--model-args` has no effect here"));
        }
    }
    if backend.is_none()
        && let Some(of_endpoint) = OF_ENDPOINT.iter().find(|name| given.contains_key(**name))
    {
        let names: Vec<&str> = BACKENDS.iter().map(|(name, _)| *name).collect();
        let what = format!(
            "`{of_endpoint}` of `--model-args` needs a backend in `--model`, and `{typed}` is not one"
        );
        return Err(Failure::bad_input(what).hint(format!(
            "the backends are {}; any other endpoint: `--proxy NAME=URL`",
            quoted_list(&names, "and")
        )));
    }
    if let Some(unknown) = given.keys().next() {
        return Err(
            Failure::bad_input(format!("`--model-args` has no argument `{unknown}`")).hint(
                "the arguments are base_url, model, num_concurrent, max_retries, timeout, \
                 batch_size, max_length, max_gen_toks, eos_string, prefix and seed",
            ),
        );
    }
    if backend.is_some_and(|(_, backend)| backend.is_chat) {
        spec.likelihoods.enabled = Some(false);
    }
    Ok(())
}

fn name_endpoint(
    spec: &mut RunSpec,
    name: &str,
    backend: Backend,
    called: Option<String>,
    given: &mut Map<String, Value>,
) -> Result<(), Failure> {
    let url = text(given, "base_url").or_else(|| backend.url.map(str::to_owned));
    let Some(url) = url else {
        return Err(
            Failure::bad_input(format!("`--model {name}` needs a `base_url`")).hint(
                "add `--model-args base_url=http://localhost:8000/v1/completions,model=NAME`",
            ),
        );
    };
    if spec.systems.iter().any(|system| system.proxy.is_some()) {
        return Err(Failure::bad_input(format!(
            "`--proxy` and `--model {name}` both name an endpoint"
        ))
        .hint("leave one of them out"));
    }
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let path = path.trim_end_matches('/');
    // A base URL gets the path of the completions API; chat paths are added when asking.
    let url = match (path.ends_with("/completions"), backend.is_chat) {
        (true, _) | (false, true) => url,
        (false, false) if path.ends_with("/v1") => format!("{path}/completions"),
        (false, false) => format!("{path}/v1/completions"),
    };
    // The endpoint comes before other systems, as a `--proxy` would.
    let endpoint = SystemSpec {
        proxy: Some(url),
        name: called,
        ..SystemSpec::default()
    };
    spec.systems.insert(0, endpoint);
    let model = text(given, "model").or_else(|| text(given, "pretrained"));
    spec.requests.model = Some(model.ok_or_else(|| {
        Failure::bad_input(format!("`--model {name}` needs the name of a model"))
            .hint("add `model=NAME` to `--model-args`")
    })?);
    if let Some(n) = whole(given, "num_concurrent")? {
        spec.limits.max_workers = Some(Workers::Number(n.max(1)));
    }
    if let Some(n) = whole(given, "max_retries")? {
        // lm-evaluation-harness counts the first attempt as well.
        spec.requests.max_retries = Some(u32::try_from(n.saturating_sub(1)).unwrap_or(u32::MAX));
    }
    spec.requests.timeout = Some(match given.shift_remove("timeout") {
        None => 300.0,
        Some(value) => value
            .as_f64()
            .filter(|seconds| *seconds > 0.0)
            .ok_or_else(|| {
                Failure::bad_input(format!(
                    "`timeout` of `--model-args` must be a number of seconds, not `{value}`"
                ))
            })?,
    });
    let is_chat_without_messages = backend.is_chat && spec.prompts.apply_chat_template.is_none();
    if is_chat_without_messages {
        return Err(Failure::bad_input(format!(
            "`--model {name}` takes chat messages, but the prompts are plain text"
        ))
        .hint(
            "add `--apply-chat-template`, or use `--proxy URL` to send each prompt as one message",
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
                "`{name}` of `--model-args` must be a whole number, not `{value}`"
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
            Failure::bad_input(format!("`{name}` of `--model-args` must not be negative"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    fn of(line: &str) -> Result<RunSpec, Failure> {
        let line = format!("context-bench --tasks t {line}");
        crate::spec_args::flags(&crate::args::Cli::parse_from(line.split(' ')).run)
    }

    #[test]
    fn backends_become_endpoints() {
        let spec = of(
            "--model local-completions --model_args base_url=http://h:1/v1/completions,model=m,\
             num_concurrent=8,max_retries=3,max_length=4096,tokenizer_backend=huggingface",
        )
        .expect("valid");
        let proxy = |spec: &RunSpec| spec.systems[0].proxy.clone().expect("an endpoint");
        assert_eq!(proxy(&spec), "http://h:1/v1/completions");
        assert_eq!(spec.requests.model.as_deref(), Some("m"));
        assert_eq!(spec.limits.max_workers, Some(Workers::Number(8)));
        assert_eq!(spec.requests.max_retries, Some(2));
        assert_eq!(spec.requests.timeout, Some(300.0));
        assert_eq!(spec.likelihoods.max_length, Some(4096));
        assert_eq!(spec.seeds.generation, Some(1234));
        let spec = of("--model local-completions -a base_url=http://h,model=m").expect("valid");
        assert_eq!(proxy(&spec), "http://h/v1/completions");
    }

    #[test]
    fn arguments_of_an_endpoint_need_a_backend() {
        let error = of("--model azure-chat --model_args base_url=http://h,model=m")
            .expect_err("not a backend");
        let text = error.what;
        assert!(
            text.contains("`base_url`") && text.contains("`azure-chat` is not one"),
            "{text}"
        );
    }

    #[test]
    fn chat_endpoints_give_no_likelihoods() {
        let chat = "--model local-chat-completions --model_args base_url=http://h,model=m";
        let error = of(chat).expect_err("no messages");
        assert!(
            error
                .hint
                .expect("a hint")
                .contains("--apply-chat-template")
        );
        let spec = of(&format!("{chat} --apply_chat_template")).expect("valid");
        assert_eq!(spec.likelihoods.enabled, Some(false));
        let spec = of("--proxy http://h/v1 --batch_size 4").expect("valid");
        assert_eq!(spec.likelihoods.batch_size, Some(4));
        assert_eq!(spec.likelihoods.enabled, None);
    }

    #[test]
    fn bad_combinations_are_errors() {
        for (line, expected) in [
            ("--model hf --model_args pretrained=gpt2", "in this process"),
            ("--model local-completions", "needs a `base_url`"),
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
