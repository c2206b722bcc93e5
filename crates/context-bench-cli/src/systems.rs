//! From `--proxy`, `--system` and `--command` to systems, in that order.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use context_bench::System;
use context_bench::chat::{Endpoint, Pace, Secret, derive_name};
use context_bench::evaluator::LlmJudgeSettings;
use context_bench::registry::{Registry, SystemContext, SystemRef};
use context_bench::system::{
    CommandSettings, CommandSystem, OpenAiProxy, OpenAiProxySettings, Reader,
};
use context_bench::task::TaskModel;
use context_bench::tokens::TokenCounter;
use serde_json::{Map, Value};

use crate::args::RunArgs;
use crate::backend::TaskSettings;
use crate::env;
use crate::failure::Failure;

/// The systems of a run and the endpoints that they need.
pub(crate) struct Systems {
    pub(crate) systems: Vec<Arc<dyn System>>,
    /// Each with the numbers of the systems that need it.
    endpoints: Vec<(Endpoint, Range<usize>)>,
    pace: Arc<Pace>,
    /// How models are asked about tasks, when there are any.
    tasks: Option<TaskSettings>,
}

/// Makes all systems.
pub(crate) fn build(
    args: &RunArgs,
    registry: &Registry,
    counter: &Arc<dyn TokenCounter>,
    pace: Arc<Pace>,
    tasks: Option<&TaskSettings>,
) -> Result<Systems, Failure> {
    let extra_body = extra_body(args)?;
    let mut built = Systems {
        systems: Vec::new(),
        endpoints: Vec::new(),
        pace,
        tasks: tasks.cloned(),
    };
    let names = names(args);
    for (url, name) in args.proxy.iter().zip(&names) {
        let proxy = built.endpoint(args, url, name, &extra_body, 1)?;
        built.systems.push(proxy);
    }
    if !args.system.is_empty() {
        let answerer: Arc<dyn System> = match &args.relay {
            Some(url) => built.endpoint(args, url, "relay", &extra_body, args.system.len())?,
            None => Arc::new(Reader),
        };
        for typed in &args.system {
            let reference: SystemRef = typed.parse()?;
            let factory = registry.systems.get(&reference.name)?;
            let context = SystemContext {
                name: reference.label,
                answerer: Arc::clone(&answerer),
                counter: Arc::clone(counter),
            };
            built.systems.push(factory(reference.params, context)?);
        }
    }
    for (command, name) in args.command.iter().zip(&names[args.proxy.len()..]) {
        let mut settings = CommandSettings::parse(command)?;
        settings.name = Some(name.clone());
        settings.processes = args.max_workers.most();
        settings.version.clone_from(&args.system_version);
        settings.timeout = Duration::from_secs_f64(args.timeout);
        // The child inherits them, and may well print them when it fails.
        let keys = [args.api_key_env.as_str(), env::OPENAI_API_KEY];
        settings.secrets = keys
            .into_iter()
            .filter_map(env::get)
            .map(Secret::new)
            .collect();
        built.systems.push(Arc::new(CommandSystem::new(settings)?));
    }
    if built.systems.is_empty() {
        return Err(Failure::bad_input("no system given").hint(
            "pass `--proxy URL`, `--system NAME` or `--command PROGRAM`, or try `context-bench demo`",
        ));
    }
    if args.relay.is_some() && args.system.is_empty() {
        return Err(Failure::bad_input(
            "`--relay` answers for built-in systems, but none is given",
        )
        .hint("add `--system passthrough`, or use `--proxy` to test the endpoint itself"));
    }
    Ok(built)
}

/// The pace that all endpoints of a run share.
pub(crate) fn pace(args: &RunArgs) -> Arc<Pace> {
    Arc::new(Pace::new(args.rps, args.tpm))
}

/// How judges are asked: with the flags of the run. Without `--judge-url` there
/// is no address, and `llm_judge` must name one.
pub(crate) fn judge_settings(
    args: &RunArgs,
    pace: &Arc<Pace>,
) -> Result<LlmJudgeSettings, Failure> {
    Ok(LlmJudgeSettings {
        model: args.judge_model.clone(),
        api_key: key(args)?,
        max_in_flight: args.max_workers.most(),
        max_retries: args.max_retries,
        pace: Some(Arc::clone(pace)),
        ..LlmJudgeSettings::new(args.judge_url.as_deref().unwrap_or_default())
    })
}

impl Systems {
    /// The endpoint of the first system that has one.
    pub(crate) fn first_endpoint(&self) -> Option<&Endpoint> {
        self.endpoints.first().map(|(endpoint, _)| endpoint)
    }

    /// The endpoints, each with the systems that need it.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = (&Endpoint, &[Arc<dyn System>])> {
        self.endpoints.iter().map(|(endpoint, users)| {
            let users = self.systems.get(users.clone());
            (endpoint, users.unwrap_or_default())
        })
    }

    /// Makes the endpoint of the next `users` systems.
    fn endpoint(
        &mut self,
        args: &RunArgs,
        url: &str,
        name: &str,
        extra_body: &Map<String, Value>,
        users: usize,
    ) -> Result<Arc<dyn System>, Failure> {
        let users = self.systems.len()..self.systems.len() + users;
        let settings = OpenAiProxySettings {
            model: args.model.clone(),
            name: Some(name.to_owned()),
            api_key: key(args)?,
            system_prompt: args.system_prompt.clone(),
            timeout: Duration::from_secs_f64(args.timeout),
            extra_body: extra_body.clone(),
            max_retries: args.max_retries,
            stream: args.stream,
            pace: Some(Arc::clone(&self.pace)),
            ..OpenAiProxySettings::new(url)
        };
        if let Some(tasks) = &self.tasks {
            let model = TaskModel::new(settings, tasks.likelihoods.clone())?;
            self.endpoints.push((model.endpoint().clone(), users));
            return Ok(Arc::new(model));
        }
        let proxy = OpenAiProxy::with_settings(settings)?;
        self.endpoints.push((proxy.endpoint().clone(), users));
        Ok(Arc::new(proxy))
    }
}

/// The key, from the variable that is meant to hold it. Only a variable that
/// was named on the command line must exist.
fn key(args: &RunArgs) -> Result<Option<Secret>, Failure> {
    match env::get(&args.api_key_env) {
        Some(key) => Ok(Some(Secret::new(key))),
        None if args.api_key_env == env::OPENAI_API_KEY => Ok(None),
        None => Err(Failure::bad_input(format!(
            "the variable `{}` that `--api-key-env` names is not set",
            args.api_key_env
        ))
        .hint("export the key in that variable before the run")),
    }
}

fn extra_body(args: &RunArgs) -> Result<Map<String, Value>, Failure> {
    let Some(text) = &args.extra_body else {
        return Ok(Map::new());
    };
    let bad = |what: String| {
        Failure::bad_input(format!("`--extra-body` must be a JSON object: {what}"))
            .hint("for example --extra-body '{\"temperature\": 0}'")
    };
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(bad("found another JSON value".into())),
        Err(error) => Err(bad(error.to_string())),
    }
}

/// The names of all proxies, then of all commands: given ones first, then
/// derived ones, made different by port or number where they are equal.
fn names(args: &RunArgs) -> Vec<String> {
    let given = args.name.iter().cloned().map(Some);
    let given = given.chain(std::iter::repeat(None));
    let proxies = args
        .proxy
        .iter()
        .map(|url| (derive_name(url), with_port(url)));
    let commands = args.command.iter().map(|command| {
        let name = program_name(command);
        (name.clone(), name)
    });
    let wanted: Vec<(Option<String>, (String, String))> =
        given.zip(proxies.chain(commands)).collect();
    let mut uses: HashMap<String, usize> = HashMap::new();
    for (given, (short, _)) in &wanted {
        *uses
            .entry(given.as_ref().unwrap_or(short).clone())
            .or_default() += 1;
    }
    let mut unique: Vec<String> = Vec::new();
    for (given, (short, long)) in wanted {
        let name = match given {
            Some(given) => given,
            None if uses[&short] > 1 => long,
            None => short,
        };
        // A name with a number may be what the user called another system.
        let free = |name: &String| !unique.contains(name);
        let numbered = (2..).map(|n| format!("{name}#{n}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let name = names.find(free).unwrap_or(name);
        unique.push(name);
    }
    unique
}

fn with_port(url: &str) -> String {
    match Endpoint::parse(url) {
        Ok(endpoint) => endpoint.authority(),
        Err(_) => url.to_owned(),
    }
}

/// The file name of the last word that looks like a program or script:
/// `python my_system.py` is `my_system.py`.
fn program_name(command: &str) -> String {
    let words = command
        .split_whitespace()
        .filter(|word| !word.starts_with('-'));
    let file = |word: &str| word.rsplit(['/', '\\']).next().unwrap_or(word).to_owned();
    let words: Vec<String> = words
        .map(|word| file(word.trim_matches(['"', '\''])))
        .collect();
    let script = words.iter().take(2).find(|word| word.contains('.'));
    script
        .or(words.first())
        .cloned()
        .unwrap_or_else(|| command.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    fn named(line: &[&str]) -> Vec<String> {
        let line = std::iter::once("context-bench").chain(line.iter().copied());
        names(&crate::args::Cli::parse_from(line).run)
    }

    #[test]
    fn names_are_given_or_derived_and_always_different() {
        for (line, expected) in [
            (vec!["--proxy", "http://localhost:7878"], vec!["localhost"]),
            (
                vec!["--proxy", "http://h:1", "--proxy", "http://h:2"],
                vec!["h:1", "h:2"],
            ),
            (
                vec!["--proxy", "http://h:1", "--proxy", "http://h:1"],
                vec!["h:1", "h:1#2"],
            ),
            (
                vec![
                    "--proxy",
                    "http://h:1",
                    "--proxy",
                    "http://i",
                    "--name",
                    "mine",
                ],
                vec!["mine", "i"],
            ),
            (
                vec!["--command", "python3 -u tools/my_system.py --fast x.y"],
                vec!["my_system.py"],
            ),
            (
                vec![
                    "--proxy",
                    "http://h",
                    "--command",
                    "./run",
                    "--name",
                    "a",
                    "--name",
                    "b",
                ],
                vec!["a", "b"],
            ),
        ] {
            assert_eq!(named(&line), expected, "{line:?}");
        }
    }
}
