//! The check of proxies: whether one that should only relay, or only transform texts, leaves
//! everything else alone.
//!
//! ```text
//! probe ──> proxy under test ──> scripted upstream
//! ```
//!
//! The client of the probes and the upstream are both ours and share a clock, so that what went
//! in can be set against what came out, in both directions. It costs nothing and needs no
//! network: nobody is asked but the proxy.
//!
//! | Module | What it holds |
//! |---|---|
//! | `probe`, `conversation`, `material` | what is asked |
//! | `script`, `answer`, `upstream`, `connection` | what the upstream does |
//! | `client`, `run` | asking, and keeping what was seen |
//! | `judge`, `evidence`, `report` | what that says about the proxy |

mod answer;
mod api;
mod client;
mod connection;
mod conversation;
mod evidence;
mod exchange_changes;
mod gemini;
mod judge;
mod material;
mod probe;
mod report;
mod run;
mod script;
mod upstream;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use context_bench_error::Hint;
use url::Url;

pub use api::ProxyApi;
pub use report::{ApiReport, ArmKind, ArmReport, Evidence, Finding, Property, Side, Verdict};

use self::judge::judge;
use self::run::Run;
use self::upstream::ScriptedUpstream;
use crate::figures::DeclaredChanges;

/// Where a proxy is asked.
#[derive(Debug, Clone)]
pub struct ProxyAddress {
    /// Its base address, with or without `/v1`.
    pub base_url: Url,
    /// The forward proxy that calls go through, for a proxy that is one.
    pub http_proxy: Option<Url>,
    /// Headers of every call, which take the place of what a probe would send.
    pub headers: Vec<(String, String)>,
    /// The header that keeps conversations apart in the proxy.
    pub session_header: Option<String>,
}

impl ProxyAddress {
    /// An address without anything beside it.
    pub fn new(base_url: Url) -> Self {
        Self {
            base_url,
            http_proxy: None,
            headers: Vec::new(),
            session_header: None,
        }
    }
}

/// How a proxy is checked.
#[derive(Debug, Clone)]
pub struct ProxyCheckSettings {
    /// What the arm is for.
    pub arm: ArmKind,
    /// Where the scripted upstream listens; a free port of loopback unless set.
    pub listen: SocketAddr,
    /// The APIs that are asked; all of them unless set.
    pub apis: Vec<ProxyApi>,
    /// Models to ask for instead of [`ProxyApi::default_model`].
    pub models: BTreeMap<ProxyApi, String>,
    /// Changes that the proxy declares.
    pub declared: DeclaredChanges,
    /// Decides the texts.
    pub seed: u64,
    /// How long the upstream waits for a client that is to have an event; 3 seconds unless set.
    pub patience: Duration,
    /// How long an answer may take; 60 seconds unless set.
    pub timeout: Duration,
    /// How soon the upstream has to be hung up on after the client hung up; 1 second unless set,
    /// and on slow machines ten times as long as a usual call takes, if that is more.
    pub hang_up_within: Duration,
}

impl Default for ProxyCheckSettings {
    fn default() -> Self {
        Self {
            arm: ArmKind::Unknown,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            apis: ProxyApi::ALL.to_vec(),
            models: BTreeMap::new(),
            declared: DeclaredChanges::default(),
            seed: 0,
            patience: Duration::from_secs(3),
            timeout: Duration::from_secs(60),
            hang_up_within: Duration::from_secs(1),
        }
    }
}

impl ProxyCheckSettings {
    fn model(&self, api: ProxyApi) -> &str {
        let named = self.models.get(&api).map(String::as_str);
        named.unwrap_or(api.default_model())
    }
}

/// How far a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeProgress {
    /// The API that is asked.
    pub api: ProxyApi,
    /// The probe that begins.
    pub probe: &'static str,
    /// How many probes are done.
    pub done: usize,
    /// How many there are, if the proxy has every API.
    pub planned: usize,
}

/// Is told of every probe.
pub type OnProbe = Arc<dyn Fn(ProbeProgress) + Send + Sync>;

/// Why a check cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ProxyCheckError {
    /// The upstream cannot listen.
    #[error("cannot listen on `{address}`: {reason}")]
    Listen {
        /// Where it was to listen.
        address: SocketAddr,
        /// What the system says.
        reason: std::io::Error,
    },
    /// Nobody answers there.
    #[error("the proxy at `{address}` cannot be reached: {reason}")]
    Unreachable {
        /// Where it was asked.
        address: String,
        /// What the system says.
        reason: String,
    },
    /// It answers, and nothing reaches the upstream.
    #[error("the proxy at `{address}` answers, but nothing reaches `{upstream}`")]
    Elsewhere {
        /// Where it was asked.
        address: String,
        /// What it should have as its provider.
        upstream: String,
    },
}

impl Hint for ProxyCheckError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Listen { .. } => {
                "something else listens there, or it is no address of this machine".to_owned()
            }
            Self::Unreachable { .. } => "start it, and give its address with its port".to_owned(),
            Self::Elsewhere { upstream, .. } => {
                format!("start it with `{upstream}` as its provider")
            }
        })
    }
}

/// A check of one arm: the upstream is there as soon as this is, so that a proxy can be started
/// with its address.
#[derive(Debug)]
pub struct ProxyCheck {
    settings: ProxyCheckSettings,
    upstream: ScriptedUpstream,
}

impl ProxyCheck {
    /// Starts the upstream.
    ///
    /// # Errors
    ///
    /// When it cannot listen.
    pub async fn start(settings: ProxyCheckSettings) -> Result<Self, ProxyCheckError> {
        let address = settings.listen;
        let upstream = ScriptedUpstream::start(address, settings.patience).await;
        let upstream = upstream.map_err(|reason| ProxyCheckError::Listen { address, reason })?;
        Ok(Self { settings, upstream })
    }

    /// The address that the proxy has to have as its provider, without `/v1`.
    pub fn upstream_url(&self) -> String {
        format!("http://{}", self.upstream.address())
    }

    /// Asks the proxy and says what it did. Dropping the future ends what is under way.
    ///
    /// # Errors
    ///
    /// When the proxy cannot be reached at all. Whatever goes wrong later is part of the report.
    pub async fn run(
        &self,
        proxy: &ProxyAddress,
        on_probe: OnProbe,
    ) -> Result<ArmReport, ProxyCheckError> {
        let course = Run::new(&self.upstream, proxy, &self.settings, &on_probe)
            .all()
            .await;
        let mut shown = proxy.http_proxy.as_ref().unwrap_or(&proxy.base_url).clone();
        // Whatever is before the host may be a password; without a host there is none.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        let address = shown.to_string();
        if let Some(reason) = course.unreachable {
            return Err(ProxyCheckError::Unreachable { address, reason });
        }
        if course.is_elsewhere {
            let upstream = self.upstream_url();
            return Err(ProxyCheckError::Elsewhere { address, upstream });
        }
        Ok(judge(&self.settings, &course))
    }
}
