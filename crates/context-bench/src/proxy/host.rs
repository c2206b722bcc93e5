//! [`LaunchedHost`]: a proxy that is started for an arm of a run.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use context_bench_sandbox::Launcher;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::probe::{Probe, probe};
use super::process::{INHERITED, ProxyProcess, ProxyStart};
use super::program::InstalledProgram;
use super::{ProxyError, ProxyProfile};
use crate::chat::Secret;
use crate::digest;
use crate::error::Hint as _;
use crate::mask::Mask;
use crate::model::FailureKind;
use crate::system::SystemError;
use crate::tap::{ArmAddress, ArmHost, ArmRole, ProxyApi};

/// Gives the value of a variable.
type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// How a proxy is started for an arm.
#[derive(Debug, Clone)]
pub struct LaunchSettings {
    /// The proxy.
    pub profile: Arc<ProxyProfile>,
    /// The arm.
    pub role: ArmRole,
    /// What the arm is called, for the name of its log.
    pub name: String,
    /// The model that it is probed with.
    pub model: String,
    /// The API that it is asked in, and so probed in: proxies treat each in its own way.
    pub api: ProxyApi,
    /// Further arguments.
    pub args: Vec<String>,
    /// The program that can guard it, when it is not this one.
    pub launcher: Option<Launcher>,
    /// Where its log and what probes found are kept; without, neither is.
    pub folder: Option<PathBuf>,
    /// What no log may hold.
    pub secrets: Vec<Secret>,
}

/// A proxy that is started when its arm is first asked, and ended with it.
pub struct LaunchedHost {
    start: ProxyStart,
    name: String,
    model: String,
    api: ProxyApi,
    folder: Option<PathBuf>,
    /// Everything that can change an answer.
    identity: Value,
    process: Mutex<Option<Arc<ProxyProcess>>>,
    /// Why it could not be started: it is not tried again for every row.
    failed: Mutex<Option<ProxyError>>,
    facts: Mutex<Map<String, Value>>,
    /// Whether it is a further process of an arm: what is to be found out is known by then.
    is_repeat: bool,
}

impl std::fmt::Debug for LaunchedHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaunchedHost")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl LaunchedHost {
    /// A proxy that is not started yet. `variable` gives what it inherits.
    ///
    /// # Errors
    ///
    /// When its program is not installed.
    pub fn new(settings: LaunchSettings, variable: Variable<'_>) -> Result<Self, ProxyError> {
        let profile = settings.profile;
        let search_path = variable("PATH").unwrap_or_default();
        let program = InstalledProgram::find(&profile, &search_path)?;
        let named = profile.inherit.iter().map(String::as_str);
        let further: Vec<(String, String)> = named
            .filter_map(|name| Some((name.to_owned(), variable(name)?)))
            .collect();
        let usual = INHERITED.iter();
        let usual = usual.filter_map(|name| Some(((*name).to_owned(), variable(name)?)));
        let inherited = usual.chain(further.iter().cloned()).collect();
        let identity = identity(&profile, settings.role, &settings.args, &program, &further);
        Ok(Self {
            start: ProxyStart {
                role: settings.role,
                args: settings.args,
                program,
                inherited,
                launcher: settings.launcher,
                secrets: settings.secrets,
                profile,
            },
            name: settings.name,
            model: settings.model,
            api: settings.api,
            folder: settings.folder,
            identity,
            process: Mutex::new(None),
            failed: Mutex::new(None),
            facts: Mutex::new(Map::new()),
            is_repeat: false,
        })
    }

    /// The same proxy, not started yet.
    fn again(&self, repeat: u32) -> Self {
        Self {
            start: self.start.clone(),
            name: format!("{}-repeat-{repeat}", self.name),
            model: self.model.clone(),
            api: self.api,
            folder: self.folder.clone(),
            identity: self.identity.clone(),
            process: Mutex::new(None),
            failed: Mutex::new(None),
            facts: Mutex::new(Map::new()),
            is_repeat: true,
        }
    }

    fn running(&self) -> Option<Arc<ProxyProcess>> {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.clone()
    }

    fn tell(&self, key: &str, value: impl Into<Value>) {
        let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        facts.insert(key.to_owned(), value.into());
    }

    /// The file for the log of the process to come.
    fn log_file(&self) -> Option<PathBuf> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let fits = |c: char| c.is_alphanumeric() || ['-', '_', '.'].contains(&c);
        let name: String = self
            .name
            .chars()
            .map(|c| if fits(c) { c } else { '-' })
            .collect();
        let file = format!("{}-{}-{name}.log", now.as_millis(), std::process::id());
        self.folder.as_ref().map(|folder| folder.join(file))
    }

    /// What an earlier probe of the same proxy found, else what one finds now.
    async fn probed(&self) -> Result<Probe, String> {
        let about = json!([self.identity, self.api]).to_string();
        let digest = digest::hex(about.as_bytes());
        let file = self.folder.as_ref();
        let file = file.map(|folder| folder.join(format!("carriers-{}.json", &digest[..16])));
        if let Some(known) = file.as_deref().and_then(kept_probe) {
            return Ok(known);
        }
        let found = probe(&self.start, self.api, &self.model).await?;
        if let Some(file) = file {
            // The next run then probes again, nothing more.
            let _ = std::fs::write(file, json!(found).to_string());
        }
        Ok(found)
    }
}

fn kept_probe(file: &Path) -> Option<Probe> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

/// Everything about an arm of a proxy that can change an answer.
fn identity(
    profile: &ProxyProfile,
    role: ArmRole,
    args: &[String],
    program: &InstalledProgram,
    inherited: &[(String, String)],
) -> Value {
    let arm = profile.arm(role);
    let words = profile.command.iter().skip(1).chain(&arm.args).chain(args);
    let words: Vec<String> = words.cloned().collect();
    let variables = profile.env.iter().chain(&arm.env);
    let variables: IndexMap<&String, &String> = variables.collect();
    let inherited: IndexMap<&String, String> = inherited
        .iter()
        .map(|(name, value)| (name, digest::hex(value.as_bytes())))
        .collect();
    let effective = json!({
        "args": Mask::Digest.words(&words),
        "env": variables,
        "inherited": inherited,
        "files": profile.files,
        "upstream": profile.upstream,
        "client_headers": profile.client_headers,
        "headers": arm.headers,
        "session_header": profile.session_header,
        "model_map": profile.model_map,
        "allow_egress": profile.allow_egress,
    });
    let mut identity = Map::from_iter([
        ("host".to_owned(), json!("launched")),
        ("proxy".to_owned(), json!(profile.proxy)),
        ("role".to_owned(), json!(role)),
        (
            "configuration".to_owned(),
            json!(digest::hex(effective.to_string().as_bytes())),
        ),
    ]);
    identity.extend(program.identity());
    Value::Object(identity)
}

impl From<ProxyError> for SystemError {
    fn from(error: ProxyError) -> Self {
        let message = match error.hint() {
            Some(hint) => format!("{error}\nhint: {hint}"),
            None => error.to_string(),
        };
        Self::new(FailureKind::Process, message)
    }
}

#[async_trait]
impl ArmHost for LaunchedHost {
    fn role(&self) -> ArmRole {
        self.start.role
    }

    fn identity(&self) -> Value {
        self.identity.clone()
    }

    fn renamed_models(&self) -> IndexMap<String, String> {
        self.start.profile.model_map.clone()
    }

    async fn start(&self, tap_base_url: &str) -> Result<ArmAddress, SystemError> {
        let failed = || self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = failed().clone() {
            return Err(error.into());
        }
        let log = self.log_file();
        let started = async {
            let process = self.start.start(tap_base_url, log.as_deref()).await?;
            let process = Arc::new(process);
            let mut running = self.process.lock().unwrap_or_else(PoisonError::into_inner);
            *running = Some(Arc::clone(&process));
            Ok::<_, ProxyError>(process)
        };
        if self.is_repeat {
            let process = started.await;
            let process = process.inspect_err(|error| *failed() = Some(error.clone()))?;
            return Ok(process.address.clone());
        }
        let (process, probed, version) =
            tokio::join!(started, self.probed(), self.start.told_version());
        let process = process.inspect_err(|error| *failed() = Some(error.clone()))?;
        let profile = &self.start.profile;
        let words = profile.command.iter();
        let words = words
            .chain(&profile.arm(self.start.role).args)
            .chain(&self.start.args);
        let words: Vec<String> = words.cloned().collect();
        self.tell("proxy", profile.proxy.as_str());
        self.tell("command", Mask::Dots.words(&words));
        self.tell("configuration", self.identity["configuration"].clone());
        self.tell("version", self.start.program.version.clone());
        if let Some(told) = version {
            self.tell("version_told", told);
        }
        match probed {
            Ok(found) => self.tell("carriers", json!(found)),
            Err(reason) => self.tell("carriers", json!({"error": Mask::Dots.text(&reason)})),
        }
        if let Some(page) = &process.ready_page {
            self.tell("ready", Mask::Dots.value(page));
        }
        if let Some(name) = process.log.path().and_then(Path::file_name) {
            self.tell("log", name.to_string_lossy().into_owned());
        }
        Ok(process.address.clone())
    }

    /// A process of its own for every repeat of a proxy that keeps state. Two cannot listen at
    /// one port.
    fn of_repeat(&self, repeat: u32) -> Option<Arc<dyn ArmHost>> {
        let profile = &self.start.profile;
        let is_wanted = profile.stateful && profile.port.is_none();
        is_wanted.then(|| Arc::new(self.again(repeat)) as Arc<dyn ArmHost>)
    }

    async fn stop(&self) {
        let running = {
            let mut running = self.process.lock().unwrap_or_else(PoisonError::into_inner);
            running.take()
        };
        if let Some(process) = running {
            if let Some(stats) = process.stats().await {
                self.tell("stats", Mask::Dots.value(&stats));
            }
            process.end();
        }
    }

    fn problem(&self) -> Option<SystemError> {
        self.running()?.problem().map(Into::into)
    }

    fn listens_at(&self) -> Option<SocketAddr> {
        let port = self.running()?.port;
        Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }

    fn facts(&self) -> Map<String, Value> {
        self.facts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
