//! [`RunTap`]: the one tap of a run, shared by its arms. It starts with the first call that
//! needs it and ends with the run; the real key is known to it alone.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use context_bench_tap::attribution::{AttributionRules, SyntheticCredential};
use context_bench_tap::record::{CallsInFlight, LogWriter, Scrubber, TapClock};
use context_bench_tap::{Tap, TapEncoding, TapSettings, Upstream};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;
use url::Url;

use super::arm_host::ArmHost;
use super::ledger::{LedgerSink, RunLedger};
use crate::chat::{Endpoint, EndpointError, Secret};
use crate::error::Hint as _;
use crate::model::{ArmRole, ArmWire, FailureKind};
use crate::system::SystemError;

/// How long the calls of a row are waited for once the client has its answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long calls in flight get when the run ends.
const GRACE: Duration = Duration::from_secs(2);
/// The share of unattributed calls above which figures of single rows are withheld.
pub const UNATTRIBUTED_LIMIT: f64 = 0.01;

/// What shares a synthetic credential.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialScope {
    /// Every example has its own: the surest way to tell calls apart. It also splits whatever
    /// the proxy keeps for each key, such as rate limits.
    #[default]
    Example,
    /// All calls of an arm have the same.
    Arm,
}

/// What becomes of `accept-encoding` on the way to the provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamEncoding {
    /// Answers are asked for as they are.
    #[default]
    Identity,
    /// What the proxy asks for.
    Passthrough,
    /// gzip.
    Gzip,
}

impl From<UpstreamEncoding> for TapEncoding {
    fn from(encoding: UpstreamEncoding) -> Self {
        match encoding {
            UpstreamEncoding::Identity => Self::Identity,
            UpstreamEncoding::Passthrough => Self::Passthrough,
            UpstreamEncoding::Gzip => Self::Gzip,
        }
    }
}

/// What the tap of a run is told.
#[derive(Debug, Clone)]
pub struct RunTapSettings {
    /// Where calls go.
    pub upstream: Endpoint,
    /// The address as it was written: what calls are sent to.
    upstream_url: Url,
    /// The real key; without one whatever the proxy sends is passed on.
    pub api_key: Option<Secret>,
    /// Where the tap listens; a free port of loopback unless set.
    pub listen: Option<SocketAddr>,
    /// A file for everything that passes, as JSON lines.
    pub log: Option<PathBuf>,
    /// What shares a synthetic credential.
    pub credential: CredentialScope,
    /// Whether each arm makes one call at a time, so that calls are known by their time.
    pub is_exclusive: bool,
    /// The share of unattributed calls above which figures of single rows are withheld.
    pub unattributed_limit: f64,
    /// What becomes of `accept-encoding`.
    pub encoding: UpstreamEncoding,
}

impl RunTapSettings {
    /// The usual settings for an upstream.
    ///
    /// # Errors
    ///
    /// When the address is none.
    pub fn new(upstream: &str) -> Result<Self, EndpointError> {
        let base = base_of(upstream);
        let endpoint = Endpoint::parse(base)?;
        // What is an endpoint is a URL.
        let url = Url::parse(base).unwrap_or_else(|_| endpoint.url().clone());
        Ok(Self {
            upstream_url: url,
            upstream: endpoint,
            api_key: None,
            listen: None,
            log: None,
            credential: CredentialScope::default(),
            is_exclusive: false,
            unattributed_limit: UNATTRIBUTED_LIMIT,
            encoding: UpstreamEncoding::default(),
        })
    }
}

/// An address without what names a route of an API.
fn base_of(written: &str) -> &str {
    let base = written.trim().trim_end_matches('/');
    let routes = [
        "/chat/completions",
        "/completions",
        "/responses",
        "/messages",
    ];
    let found = routes.iter().find_map(|route| base.strip_suffix(route));
    found.unwrap_or(base)
}

/// A tap that has started, and what stays of it once it has ended.
pub(super) struct Running {
    pub(super) clock: TapClock,
    pub(super) in_flight: Arc<CallsInFlight>,
    pub(super) scrubber: Arc<Scrubber>,
    address: SocketAddr,
    tap: Mutex<Option<Tap>>,
}

impl Running {
    /// The base address for the proxy of an arm, without `/v1`.
    pub(super) fn base_url(&self, arm: &str) -> String {
        format!("http://{}/a/{arm}", self.address)
    }

    fn take(&self) -> Option<Tap> {
        let mut tap = self.tap.lock().unwrap_or_else(PoisonError::into_inner);
        tap.take()
    }
}

/// An arm of a run.
struct RunArm {
    path: String,
    host: Arc<dyn ArmHost>,
    /// Those of further attempts at every example.
    of_repeats: Vec<Arc<dyn ArmHost>>,
    name: String,
}

/// What a tap saw of a run, once it is over.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunWire {
    /// By the name of the system.
    pub arms: IndexMap<String, ArmWire>,
    /// What is to be known of the tap itself.
    pub tap: Map<String, Value>,
}

/// The one tap of a run. Dropping it ends it.
pub struct RunTap {
    settings: RunTapSettings,
    pub(super) ledger: Arc<RunLedger>,
    arms: Mutex<Vec<RunArm>>,
    started: OnceCell<Running>,
    calls: AtomicU64,
    /// What the ids of this run's calls begin with.
    prefix: String,
}

impl RunTap {
    /// A tap that has not started yet.
    pub fn new(settings: RunTapSettings) -> Arc<Self> {
        let rules = AttributionRules {
            is_exclusive: settings.is_exclusive,
            ..AttributionRules::default()
        };
        // Without random numbers ids are still told apart by their number.
        let prefix = SyntheticCredential::new().map(|one| one.id()[..8].to_owned());
        Arc::new(Self {
            settings,
            ledger: Arc::new(RunLedger::new(rules)),
            arms: Mutex::default(),
            started: OnceCell::new(),
            calls: AtomicU64::new(0),
            prefix: prefix.unwrap_or_else(|_| "call".to_owned()),
        })
    }

    /// What it was told.
    pub fn settings(&self) -> &RunTapSettings {
        &self.settings
    }

    /// Adds an arm and returns the word that stands for it in paths.
    pub(super) fn add_arm(&self, name: &str, host: Arc<dyn ArmHost>) -> String {
        let mut arms = self.arms.lock().unwrap_or_else(PoisonError::into_inner);
        let plain = path_word(name);
        let is_taken = |word: &str| arms.iter().any(|arm| arm.path == word);
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        let mut words = std::iter::once(plain.clone()).chain(numbered);
        let path = words.find(|word| !is_taken(word)).unwrap_or(plain);
        self.ledger.add(&path, name, host.role());
        arms.push(RunArm {
            path: path.clone(),
            host,
            of_repeats: Vec::new(),
            name: name.to_owned(),
        });
        // Calls without the word of an arm can only be those of the one proxy whose user
        // left it out.
        let mut proxies = arms.iter().filter(|arm| arm.host.role() != ArmRole::Direct);
        let only = match (proxies.next(), proxies.next()) {
            (Some(only), None) => Some(only.path.clone()),
            _ => None,
        };
        self.ledger.set_nameless(only);
        path
    }

    /// Adds a host of an arm, for one of several attempts at every example. It is stopped with
    /// the run.
    pub(super) fn add_repeat(&self, path: &str, host: Arc<dyn ArmHost>) {
        let mut arms = self.arms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(arm) = arms.iter_mut().find(|arm| arm.path == path) {
            arm.of_repeats.push(host);
        }
    }

    /// Where a proxy that is not started by the run must send its calls, if the tap has a
    /// fixed address.
    pub fn fixed_base_url(&self, name: &str) -> Option<String> {
        let arms = self.arms.lock().unwrap_or_else(PoisonError::into_inner);
        let arm = arms.iter().find(|arm| arm.name == name)?;
        let listen = self.settings.listen.filter(|listen| listen.port() != 0)?;
        Some(format!("http://{listen}/a/{}", arm.path))
    }

    /// The running tap; it is started by whoever asks first.
    pub(super) async fn start(&self) -> Result<&Running, SystemError> {
        self.started.get_or_try_init(|| self.begin()).await
    }

    /// The tap, if it runs.
    pub(super) fn running(&self) -> Option<&Running> {
        self.started.get()
    }

    async fn begin(&self) -> Result<Running, SystemError> {
        let cannot = |what: String, hint: Option<String>| {
            let hint = hint.map(|hint| format!(" (hint: {hint})"));
            let message = format!("the tap cannot start: {what}{}", hint.unwrap_or_default());
            SystemError::new(FailureKind::Other, message)
        };
        let mut upstream = Upstream::new(self.settings.upstream_url.clone());
        if let Some(key) = self.settings.api_key.as_ref().filter(|key| !key.is_empty()) {
            upstream = upstream.with_credential(key.expose());
        }
        let mut settings = TapSettings::new(upstream);
        if let Some(listen) = self.settings.listen {
            settings.listen = listen;
        }
        settings.encoding = self.settings.encoding.into();
        settings.grace = GRACE;
        settings.threads = relay_threads();
        let log = match &self.settings.log {
            Some(path) => {
                let log = LogWriter::create(path);
                Some(log.map_err(|error| cannot(error.to_string(), error.hint()))?)
            }
            None => None,
        };
        let sink = LedgerSink::new(Arc::clone(&self.ledger), log);
        let started = Tap::start(settings, Box::new(sink)).await;
        let tap = started.map_err(|error| cannot(error.to_string(), error.hint()))?;
        Ok(Running {
            clock: tap.clock(),
            in_flight: tap.in_flight(),
            scrubber: tap.scrubber(),
            address: tap.address(),
            tap: Mutex::new(Some(tap)),
        })
    }

    /// The id of the next client call.
    pub(super) fn next_id(&self) -> Arc<str> {
        let number = self.calls.fetch_add(1, Relaxed);
        format!("{}-{number}", self.prefix).into()
    }

    /// How long the calls of a row are waited for.
    pub(super) fn patience(&self) -> Duration {
        PATIENCE
    }

    /// How the tap was set, for the provenance of results.
    pub fn provenance(&self) -> Map<String, Value> {
        let settings = &self.settings;
        let arms = self.arms.lock().unwrap_or_else(PoisonError::into_inner);
        let roles: Map<String, Value> = arms
            .iter()
            .map(|arm| (arm.name.clone(), json!(arm.host.role())))
            .collect();
        let mut said = Map::new();
        said.insert("upstream".into(), json!(settings.upstream.to_string()));
        said.insert("credential".into(), json!(settings.credential));
        said.insert("exclusive".into(), json!(settings.is_exclusive));
        let limit = settings.unattributed_limit;
        said.insert("unattributed_limit".into(), json!(limit));
        said.insert("encoding".into(), json!(settings.encoding));
        said.insert("arms".into(), Value::Object(roles));
        said
    }

    /// Ends what it started: proxies first, then the tap. What is still in flight gets a
    /// moment. Then everything is counted.
    pub async fn finish(&self) -> RunWire {
        let hosts: Vec<(String, Vec<Arc<dyn ArmHost>>)> = {
            let arms = self.arms.lock().unwrap_or_else(PoisonError::into_inner);
            let of_arm = |arm: &RunArm| {
                let hosts = std::iter::once(&arm.host).chain(&arm.of_repeats);
                (arm.name.clone(), hosts.map(Arc::clone).collect())
            };
            arms.iter().map(of_arm).collect()
        };
        for host in hosts.iter().flat_map(|(_, hosts)| hosts) {
            host.stop().await;
        }
        let facts: IndexMap<String, Map<String, Value>> = hosts
            .iter()
            .map(|(name, hosts)| (name.clone(), facts_of(hosts)))
            .collect();
        let mut tap = Map::new();
        let running = self.running().and_then(Running::take);
        if let Some(running) = running {
            let report = running.finish().await;
            tap.insert("calls".into(), json!(report.calls));
            if report.held_back > 0 {
                tap.insert("held_back".into(), json!(report.held_back));
            }
            if report.not_kept > 0 {
                tap.insert("not_kept".into(), json!(report.not_kept));
                tap.insert("not_kept_reason".into(), json!(report.first_failure));
            }
        }
        let (mut arms, strays) = self.ledger.finish();
        if strays > 0 {
            tap.insert("unknown_arm_calls".into(), json!(strays));
        }
        for (name, arm) in &mut arms {
            arm.facts = facts.get(name).cloned().unwrap_or_default();
            arm.withheld = arm.unattributed_share() > self.settings.unattributed_limit;
        }
        RunWire { arms, tap }
    }
}

/// What is kept of the hosts of an arm: all of the first, and how many there were.
fn facts_of(hosts: &[Arc<dyn ArmHost>]) -> Map<String, Value> {
    let mut facts = hosts.first().map(|host| host.facts()).unwrap_or_default();
    if hosts.len() > 1 {
        facts.insert("processes".into(), json!(hosts.len()));
    }
    facts
}

/// On how many threads the tap of a run relays: one for four cores. One alone passes on tens of
/// thousands of short calls a second and takes least from the client; where many cores make many
/// calls, answers that come at once should not wait for each other.
fn relay_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    (cores / 4).max(1)
}

/// A name as a word of a path: lower-case letters, digits and dashes.
fn path_word(name: &str) -> String {
    let plain = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter.to_ascii_lowercase(),
        false => '-',
    };
    let word: String = name.chars().map(plain).collect();
    let word = word.trim_matches('-');
    match word.is_empty() {
        true => "arm".to_owned(),
        false => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tap::{DirectHost, RunningHost};

    #[test]
    fn arms_have_words_for_paths_that_differ() {
        let mut settings = RunTapSettings::new("http://h:1/v1/chat/completions").expect("a URL");
        assert_eq!(settings.upstream_url.as_str(), "http://h:1/v1");
        settings.listen = Some(([127, 0, 0, 1], 4700).into());
        let tap = RunTap::new(settings);
        let running = || Arc::new(RunningHost::new("http://p:1").expect("a URL"));
        assert_eq!(tap.add_arm("direct", Arc::new(DirectHost)), "direct");
        assert_eq!(tap.add_arm("My Proxy!", running()), "my-proxy");
        assert_eq!(tap.add_arm("my proxy", running()), "my-proxy-2");
        assert_eq!(tap.add_arm("é", running()), "arm");
        let base = tap.fixed_base_url("my proxy");
        assert_eq!(base.as_deref(), Some("http://127.0.0.1:4700/a/my-proxy-2"));
    }

    #[test]
    fn upstreams_are_written_with_and_without_a_route() {
        for (written, base) in [
            ("https://api.example.com", "https://api.example.com/"),
            ("https://api.example.com/v1/", "https://api.example.com/v1"),
            ("http://h/x/v1/messages", "http://h/x/v1"),
        ] {
            let settings = RunTapSettings::new(written).expect(written);
            assert_eq!(settings.upstream_url.as_str(), base);
        }
    }
}
