//! From the systems of a spec to systems that can be asked.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::{Listing, Notice, PlanError, Planner, defaults, proxies};
use crate::chat::{Api, Endpoint, Secret, TIMEOUT, derive_name};
use crate::mask::{self, Mask};
use crate::plan::{
    ArmSpec, LikelihoodSpec, PlannedSystem, RecallLimits, RequestSpec, SystemSpec, Workers,
};
use crate::registry::{SystemContext, SystemRef};
use crate::runner::MaxWorkers;
use crate::system::{
    CommandSettings, CommandSystem, ControlSystem, Layout, OpenAiProxy, OpenAiProxySettings,
    Reader, System,
};
use crate::tap::RunTap;
use crate::task::{LikelihoodSettings, TaskModel};
use crate::tokens::TokenCounter;

/// Who answers for built-in systems without an endpoint, as results call it.
pub const BASELINE_READER: &str = "baseline-reader";

/// The systems of a run and the endpoints that they need.
#[derive(Default)]
pub struct Systems {
    /// The systems in their order.
    pub systems: Vec<Arc<dyn System>>,
    /// What was decided about each.
    pub planned: Vec<PlannedSystem>,
    /// Each with the numbers of the systems that need it.
    pub(super) endpoints: Vec<(Endpoint, Range<usize>)>,
    /// What is asked for where, each with the numbers of the systems that ask.
    pub(super) listings: Vec<(Listing, Range<usize>)>,
    without_likelihoods: Option<String>,
    /// The tap that systems share, if there is one.
    pub tap: Option<Arc<RunTap>>,
    /// What users should know of them.
    pub(super) notices: Vec<Notice>,
    /// What makes vectors for memories, where one needs that.
    pub(super) embedding_model: Option<String>,
    /// How much each memory may recall.
    pub(super) recall_limits: IndexMap<String, RecallLimits>,
    /// Whether a memory can serve one conversation only at a time.
    pub(super) one_at_a_time: bool,
}

impl Systems {
    /// The endpoint of the first system that has one.
    pub fn first_endpoint(&self) -> Option<&Endpoint> {
        self.endpoints.first().map(|(endpoint, _)| endpoint)
    }

    /// The first endpoint that gives no likelihoods.
    pub(super) fn first_without_likelihoods(&self) -> Option<&str> {
        self.without_likelihoods.as_deref()
    }

    /// The endpoints, each with the systems that need it.
    pub fn endpoints(&self) -> impl Iterator<Item = (&Endpoint, &[Arc<dyn System>])> {
        self.endpoints.iter().map(|(endpoint, users)| {
            let users = self.systems.get(users.clone());
            (endpoint, users.unwrap_or_default())
        })
    }

    /// Makes the last system a control: the same as another, with answers of its own.
    pub(super) fn control(&mut self, name: &str) {
        if let (Some(system), Some(planned)) = (self.systems.last_mut(), self.planned.last_mut()) {
            let control: Arc<dyn System> = Arc::new(ControlSystem::new(name, Arc::clone(system)));
            let settings = control.identity().map(|identity| identity.to_json());
            planned.settings = settings.unwrap_or(Value::Null);
            name.clone_into(&mut planned.name);
            *system = control;
        }
    }

    /// Who answers for each system: the model that it asks for, else what answers.
    pub(super) fn models(&self) -> IndexMap<String, String> {
        let who = |system: &PlannedSystem| who_answers(system).unwrap_or(system.name.clone());
        let systems = self.planned.iter();
        systems
            .map(|system| (system.name.clone(), who(system)))
            .collect()
    }

    pub(super) fn push(
        &mut self,
        system: Arc<dyn System>,
        kind: &str,
        asked: Option<SystemEndpoint>,
    ) {
        let (endpoint, model) = asked.map(|at| (at.endpoint, at.model)).unzip();
        let settings = system.identity().map(|identity| identity.to_json());
        self.planned.push(PlannedSystem {
            name: system.name().to_owned(),
            kind: kind.to_owned(),
            endpoint,
            model,
            arm: None,
            settings: settings.unwrap_or(Value::Null),
        });
        self.systems.push(system);
    }
}

/// The model that answers for a system, or the baseline reader; `None` when only the
/// system itself knows.
pub(super) fn who_answers(system: &PlannedSystem) -> Option<String> {
    match &system.model {
        Some(model) if !model.is_empty() => Some(model.clone()),
        _ if system.is_answered_by_reader() => Some(BASELINE_READER.to_owned()),
        _ => None,
    }
}

/// Something that answers, and where it is asked.
#[derive(Clone)]
pub(super) struct Answerer {
    pub(super) system: Arc<dyn System>,
    pub(super) asked: Option<SystemEndpoint>,
}

/// Where a system is asked, and for which model.
#[derive(Clone)]
pub(super) struct SystemEndpoint {
    pub(super) endpoint: String,
    pub(super) model: String,
}

/// Whether an address may be asked for likelihoods: unless it is for chats alone.
pub fn gives_likelihoods(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    !path.trim_end_matches('/').ends_with("/chat/completions")
}

/// How an address is asked for likelihoods; `None` when it gives none, as every API but that
/// of completions.
pub fn likelihood_settings(
    spec: &LikelihoodSpec,
    api: Api,
    url: &str,
) -> Option<LikelihoodSettings> {
    let gives = api == Api::Openai && gives_likelihoods(url);
    let enabled = spec.enabled.unwrap_or(true) && gives;
    enabled.then(|| {
        let usual = LikelihoodSettings::default();
        LikelihoodSettings {
            batch_size: spec.batch_size.map_or(usual.batch_size, |n| n.max(1)),
            // One token is for what is generated.
            max_length: spec
                .max_length
                .map_or(usual.max_length, |n| n.saturating_sub(1).max(1)),
            prefix: spec.prefix.clone(),
        }
    })
}

impl Planner<'_> {
    /// Makes all systems.
    pub(super) fn systems(&self, counter: &Arc<dyn TokenCounter>) -> Result<Systems, PlanError> {
        let spec = self.spec;
        let targets = proxies::targets(spec)?;
        let names = names(&proxies::named(&spec.systems, &targets))?;
        let mut built = Systems::default();
        let n_layers = spec
            .systems
            .iter()
            .filter(|one| one.system.is_some())
            .count();
        let mut answerer: Option<Answerer> = None;
        built.tap = self.run_tap()?;
        if let Some(tap) = built.tap.clone()
            && proxies::is_asked(spec, ArmSpec::Direct)
        {
            self.direct_arm(&mut built, &tap, &names)?;
        }
        for ((system, target), name) in spec.systems.iter().zip(&targets).zip(&names) {
            if let (Some(target), Some(tap)) = (target, built.tap.clone()) {
                self.proxy_arms(&mut built, &tap, system, target, name)?;
            } else if let Some(url) = &system.proxy {
                let requests = system.requests_over(&spec.requests);
                let made = self.endpoint(&mut built, url, name, &requests, 1)?;
                built.push(made.system, "endpoint", made.asked);
            } else if let Some(typed) = &system.system {
                let answerer = match &answerer {
                    Some(made) => made.clone(),
                    None => answerer
                        .insert(self.answerer(&mut built, n_layers)?)
                        .clone(),
                };
                let reference: SystemRef = typed.parse()?;
                let factory = self.around.registry.systems.get(&reference.name)?;
                let context = SystemContext {
                    name: Mask::Dots.text(system.name.as_ref().unwrap_or(&reference.label)),
                    answerer: answerer.system,
                    counter: Arc::clone(counter),
                };
                let layer = factory(reference.params, context)?;
                built.push(layer, "layer", answerer.asked);
            } else if let Some(command) = &system.command {
                let command = self.command(system, command, name)?;
                built.push(command, "command", None);
            } else if let Some(given) = &system.given {
                let brought = self.around.given.systems.get(given);
                let brought = brought.ok_or_else(|| {
                    PlanError::new(format!("no system named `{given}` was passed in"))
                        .with_hint("`given` is for programs; name a `proxy`, `system` or `command`")
                })?;
                let at = built.systems.len();
                built.ask_for(brought.listing.clone(), at..at + 1);
                let asked = brought.endpoint.as_ref().map(|endpoint| {
                    built.endpoints.push((endpoint.clone(), at..at + 1));
                    if !brought.gives_likelihoods {
                        built
                            .without_likelihoods
                            .get_or_insert(endpoint.to_string());
                    }
                    SystemEndpoint {
                        endpoint: endpoint.to_string(),
                        model: brought.model.clone().unwrap_or_default(),
                    }
                });
                built.push(Arc::clone(&brought.system), "given", asked);
                // A system without an endpoint also has someone who answers.
                if let Some(planned) = built.planned.last_mut() {
                    planned.model.clone_from(&brought.model);
                }
            }
        }
        if built.systems.is_empty() {
            return Err(PlanError::new("no system given").with_hint(
                "pass `--proxy URL`, `--system NAME` or `--command PROGRAM`, name `systems` in \
                 the run file, or try `context-bench demo`",
            ));
        }
        if spec.relay.is_some() && n_layers == 0 {
            return Err(PlanError::new(
                "`--relay` answers for built-in systems, but none is given",
            )
            .with_hint(
                "add `--system passthrough`, or use `--proxy` to test the endpoint itself",
            ));
        }
        Ok(built)
    }

    /// Who answers for built-in systems: the relay, else the baseline reader.
    pub(super) fn answerer(
        &self,
        built: &mut Systems,
        users: usize,
    ) -> Result<Answerer, PlanError> {
        match &self.spec.relay {
            Some(url) => self.endpoint(built, url, "relay", &self.spec.requests, users),
            None => Ok(Answerer {
                system: Arc::new(Reader),
                asked: None,
            }),
        }
    }

    /// How an endpoint is asked.
    pub(super) fn endpoint_settings(
        &self,
        url: &str,
        name: &str,
        requests: &RequestSpec,
    ) -> Result<OpenAiProxySettings, PlanError> {
        let model = requests.model.clone();
        let model = model.unwrap_or_else(|| defaults::DEFAULT_MODEL.to_owned());
        let mut generation = generation(requests);
        if let Some(seed) = self.spec.memory.as_ref().and_then(|memory| memory.seed) {
            generation.insert("seed".to_owned(), Value::from(seed));
        }
        Ok(OpenAiProxySettings {
            model,
            name: Some(name.to_owned()),
            api: requests.api.unwrap_or_default(),
            api_key: self.key(requests)?,
            system_prompt: requests.system_prompt.clone(),
            layout: requests.layout.unwrap_or_default(),
            timeout: timeout(requests),
            generation,
            usual_temperature: true,
            headers: requests.headers.clone().unwrap_or_default(),
            extra_body: self.extra_body(requests),
            max_retries: requests.max_retries.unwrap_or(defaults::MAX_RETRIES),
            stream: requests.stream.unwrap_or(false),
            pace: Some(Arc::clone(&self.pace)),
            ..OpenAiProxySettings::new(url)
        })
    }

    /// Makes the endpoint of the next `users` systems.
    fn endpoint(
        &self,
        built: &mut Systems,
        url: &str,
        name: &str,
        requests: &RequestSpec,
        users: usize,
    ) -> Result<Answerer, PlanError> {
        let users = built.systems.len()..built.systems.len() + users;
        let settings = self.endpoint_settings(url, name, requests)?;
        let model = settings.model.clone();
        built.ask_for(Listing::of(&settings), users.clone());
        let (system, endpoint): (Arc<dyn System>, Endpoint) = if self.has_tasks() {
            let likelihoods = likelihood_settings(&self.spec.likelihoods, settings.api, url);
            let gives = likelihoods.is_some();
            let model = TaskModel::new(settings, likelihoods)?;
            let endpoint = model.endpoint().clone();
            if !gives {
                built
                    .without_likelihoods
                    .get_or_insert(endpoint.to_string());
            }
            (Arc::new(model), endpoint)
        } else {
            let proxy = OpenAiProxy::with_settings(settings)?;
            let endpoint = proxy.endpoint().clone();
            (Arc::new(proxy), endpoint)
        };
        let address = endpoint.to_string();
        if requests.layout == Some(Layout::Tool) && !endpoint.is_chat() {
            return Err(PlanError::new(format!(
                "`--layout tool` needs an endpoint for chats, and `{address}` continues text"
            ))
            .with_hint("name the address that ends in `/chat/completions`, or its base URL"));
        }
        built.endpoints.push((endpoint, users));
        Ok(Answerer {
            system,
            asked: Some(SystemEndpoint {
                endpoint: address,
                model,
            }),
        })
    }

    /// What is merged into every body: first what is secret of the settings of generation,
    /// which examples do not hold.
    fn extra_body(&self, requests: &RequestSpec) -> Map<String, Value> {
        let generation = &self.spec.prompts.generation;
        let shown = Mask::Digest.map(generation);
        let secret = generation
            .iter()
            .filter(|(name, value)| shown.get(*name) != Some(*value));
        let mut body: Map<String, Value> = secret
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        body.extend(requests.extra_body.clone().unwrap_or_default());
        body
    }

    pub(super) fn has_tasks(&self) -> bool {
        self.spec.benchmarks.iter().any(|one| one.task.is_some())
    }

    fn command(
        &self,
        system: &SystemSpec,
        command: &str,
        name: &str,
    ) -> Result<Arc<dyn System>, PlanError> {
        let command = CommandSettings::parse(command)?;
        let settings = self.command_settings(system, command, name);
        Ok(Arc::new(CommandSystem::new(settings)?))
    }

    pub(super) fn command_settings(
        &self,
        system: &SystemSpec,
        command: CommandSettings,
        name: &str,
    ) -> CommandSettings {
        let requests = system.requests_over(&self.spec.requests);
        let workers = self.spec.limits.max_workers.unwrap_or(Workers::Number(1));
        let mut settings = command;
        settings.name = Some(name.to_owned());
        settings.processes = MaxWorkers::from(workers).most();
        settings.version.clone_from(&system.version);
        settings.timeout = timeout(&requests);
        // The child inherits them, and may well print them when it fails.
        let named = requests.api_key_env.as_deref();
        let usual = Api::ALL.map(Api::key_variable);
        let keys = named.into_iter().chain(usual);
        settings.secrets = keys
            .filter_map(|name| (self.around.variable)(name))
            .map(Secret::new)
            .collect();
        settings
    }

    /// The key, from the variable that is meant to hold it. Only a variable that was
    /// named must exist.
    pub(super) fn key(&self, requests: &RequestSpec) -> Result<Option<Secret>, PlanError> {
        key(requests, &self.around.variable)
    }
}

/// The key for judges, which are asked as chat completions whatever the systems speak.
pub(super) fn judge_key(
    requests: &RequestSpec,
    variable: &super::surroundings::Variable,
) -> Result<Option<Secret>, PlanError> {
    let requests = RequestSpec {
        api: None,
        ..requests.clone()
    };
    key(&requests, variable)
}

fn key(
    requests: &RequestSpec,
    variable: &super::surroundings::Variable,
) -> Result<Option<Secret>, PlanError> {
    let usual = requests.api.unwrap_or_default().key_variable();
    let name = requests.api_key_env.as_deref().unwrap_or(usual);
    match variable(name) {
        Some(key) => Ok(Some(Secret::new(key))),
        None if name == usual => Ok(None),
        // Often it is the key itself, which must not be shown.
        None if !mask::names_variable(name) => Err(PlanError::new(
            "`--api-key-env` takes the name of a variable, and what it was given is none",
        )
        .with_hint(
            "export the key in a variable, such as MY_KEY, and pass `--api-key-env MY_KEY`",
        )),
        None => Err(PlanError::new(format!(
            "the variable `{name}` that `--api-key-env` names is not set"
        ))
        .with_hint("export the key in that variable before the run")),
    }
}

/// What was chosen about how answers are generated.
fn generation(requests: &RequestSpec) -> Map<String, Value> {
    let mut chosen = Map::new();
    let heat = requests.temperature.map(Value::from);
    chosen.extend(heat.map(|heat| ("temperature".to_owned(), heat)));
    let most = requests.max_tokens.map(Value::from);
    chosen.extend(most.map(|most| ("max_tokens".to_owned(), most)));
    chosen
}

fn timeout(requests: &RequestSpec) -> Duration {
    requests.timeout.map_or(TIMEOUT, Duration::from_secs_f64)
}

/// The names of all systems: given ones first, then derived ones, made different by
/// port or number where they are equal. Built-in systems name themselves.
pub(super) fn names(systems: &[SystemSpec]) -> Result<Vec<String>, PlanError> {
    let mut wanted: Vec<(Option<String>, (String, String))> = Vec::new();
    for (i, system) in systems.iter().enumerate() {
        let kinds = [
            &system.proxy,
            &system.system,
            &system.command,
            &system.given,
        ];
        if kinds.iter().filter(|kind| kind.is_some()).count() != 1 {
            return Err(PlanError::new(format!(
                "`systems[{i}]` must have exactly one of `proxy`, `system` and `command`"
            ))
            .with_hint("write an entry for each system"));
        }
        let derived = if let Some(url) = &system.proxy {
            (derive_name(url), with_port(url))
        } else if let Some(command) = &system.command {
            let name = program_name(&Mask::Dots.setting(command));
            (name.clone(), name)
        } else {
            // Not made different: two of the same are a mistake that is told.
            wanted.push((Some(String::new()), Default::default()));
            continue;
        };
        let given = system.name.as_deref();
        wanted.push((given.map(|name| Mask::Dots.text(name)), derived));
    }
    let mut uses: HashMap<String, usize> = HashMap::new();
    for (given, (short, _)) in &wanted {
        *uses
            .entry(given.as_ref().unwrap_or(short).clone())
            .or_default() += 1;
    }
    let mut unique: Vec<String> = Vec::new();
    for (given, (short, long)) in wanted {
        let name = match given {
            Some(given) if given.is_empty() => {
                unique.push(given);
                continue;
            }
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
    Ok(unique)
}

fn with_port(url: &str) -> String {
    let mut read = Api::ALL.iter().map(|api| Endpoint::of(*api, url));
    match read.find_map(Result::ok) {
        Some(endpoint) => endpoint.authority(),
        None => url.to_owned(),
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

    fn proxy(url: &str, name: Option<&str>) -> SystemSpec {
        SystemSpec {
            proxy: Some(url.into()),
            name: name.map(str::to_owned),
            ..SystemSpec::default()
        }
    }

    fn command(command: &str, name: Option<&str>) -> SystemSpec {
        SystemSpec {
            command: Some(command.into()),
            name: name.map(str::to_owned),
            ..SystemSpec::default()
        }
    }

    #[test]
    fn names_are_given_or_derived_and_always_different() {
        for (systems, expected) in [
            (
                vec![proxy("http://localhost:7878", None)],
                vec!["localhost"],
            ),
            (
                vec![proxy("http://h:1", None), proxy("http://h:2", None)],
                vec!["h:1", "h:2"],
            ),
            (
                vec![proxy("http://h:1", None), proxy("http://h:1", None)],
                vec!["h:1", "h:1#2"],
            ),
            (
                vec![proxy("http://h:1", Some("mine")), proxy("http://i", None)],
                vec!["mine", "i"],
            ),
            (
                vec![command("python3 -u tools/my_system.py --fast x.y", None)],
                vec!["my_system.py"],
            ),
            (
                vec![proxy("http://h", Some("a")), command("./run", Some("b"))],
                vec!["a", "b"],
            ),
        ] {
            assert_eq!(
                names(&systems),
                Ok(expected.into_iter().map(str::to_owned).collect())
            );
        }
        let both = SystemSpec {
            command: Some("x".into()),
            ..proxy("http://h", None)
        };
        assert!(names(&[both]).is_err());
        assert!(names(&[SystemSpec::default()]).is_err());
    }
}
