//! [`TappedSystem`]: an endpoint whose calls are seen from both sides: by the client that makes
//! them, and by the tap behind whatever stands in between.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use context_bench_tap::attribution::SyntheticCredential;
use context_bench_tap::figures::DeclaredChanges;
use serde_json::{Value, json};
use tokio::sync::{OnceCell, Semaphore};

use super::arm_host::{ArmAddress, ArmHost};
use super::probe::ExampleProbe;
use super::run_tap::{CredentialScope, RunTap};
use crate::chat::ClientError;
use crate::model::{Example, FailureKind, Identity, Output, Turn};
use crate::stopwatch::pausing;
use crate::system::{
    CallProbe, Conversation, OpenAiProxySettings, Posting, Replies, System, SystemError,
};

/// How long after its end everything still belongs to a call, where an arm makes one at a time.
pub(super) const EXCLUSIVE_GRACE: Duration = Duration::from_millis(250);

/// How long a host that breaks off and still listens may take to end.
const LAST_MOMENT: Duration = Duration::from_millis(500);
/// How long it may take until the end of one is known that does not listen any more. A machine
/// that is short of time takes seconds to tell.
const LAST_WORDS: Duration = Duration::from_secs(60);

/// Raised whenever answers may differ although client and host are the same.
const VERSION: u32 = 1;

/// Makes the client of an arm, once it is known where it sends its calls.
pub type MakeClient =
    Box<dyn Fn(OpenAiProxySettings) -> Result<Arc<dyn System>, ClientError> + Send + Sync>;

/// What the rows of an arm share.
pub(super) struct TappedArm {
    pub(super) tap: Arc<RunTap>,
    /// The word that stands for it in paths.
    pub(super) path: Arc<str>,
    pub(super) declared: DeclaredChanges,
    /// Of any of its hosts: what is asked of it is the same for all.
    address: OnceLock<ArmAddress>,
    credential: OnceLock<SyntheticCredential>,
}

/// What serves one of several attempts at every example.
struct RepeatHost {
    host: Arc<dyn ArmHost>,
    client: OnceCell<Arc<dyn System>>,
    has_begun: AtomicBool,
}

impl RepeatHost {
    fn new(host: Arc<dyn ArmHost>) -> Arc<Self> {
        Arc::new(Self {
            host,
            client: OnceCell::new(),
            has_begun: AtomicBool::new(false),
        })
    }
}

impl TappedArm {
    /// Whether the host has a key of its own for clients, so that theirs would not do.
    pub(super) fn has_own_key(&self) -> bool {
        let is_key = |name: &String| {
            ["authorization", "x-api-key"].contains(&name.to_ascii_lowercase().as_str())
        };
        let address = self.address.get();
        address.is_some_and(|address| address.headers.keys().any(is_key))
    }

    pub(super) fn session_header(&self) -> Option<&str> {
        self.address.get()?.session_header.as_deref()
    }
}

/// An endpoint whose calls are seen from both sides.
pub struct TappedSystem {
    arm: Arc<TappedArm>,
    /// As if there were nothing in between: what is asked does not depend on the arm.
    plain: Arc<dyn System>,
    settings: OpenAiProxySettings,
    make: MakeClient,
    /// What serves the first attempt at every example, and all others where state does not
    /// matter.
    first: Arc<RepeatHost>,
    /// What serves the others, by their number.
    others: Mutex<HashMap<u32, Arc<RepeatHost>>>,
    identity: Value,
    one_at_a_time: Option<Arc<Semaphore>>,
}

impl TappedSystem {
    /// What its identity begins with.
    pub const KIND: &'static str = "tapped";

    /// An arm of a run: a client with these settings, through this host, to the tap. The base
    /// URL of the settings is that of the upstream; their key is not used, since only the tap
    /// has one.
    ///
    /// # Errors
    ///
    /// When no client can be made with these settings.
    pub fn new(
        tap: &Arc<RunTap>,
        host: Arc<dyn ArmHost>,
        settings: OpenAiProxySettings,
        make: MakeClient,
    ) -> Result<Self, ClientError> {
        let mut settings = settings;
        settings.api_key = None;
        let plain = make(settings.clone())?;
        let models = host.renamed_models();
        let arm = TappedArm {
            path: tap.add_arm(plain.name(), Arc::clone(&host)).into(),
            declared: DeclaredChanges {
                models: models.into_iter().collect(),
            },
            tap: Arc::clone(tap),
            address: OnceLock::new(),
            credential: OnceLock::new(),
        };
        let one_at_a_time = tap.settings().is_exclusive;
        Ok(Self {
            arm: Arc::new(arm),
            plain,
            settings,
            make,
            identity: host.identity(),
            first: RepeatHost::new(host),
            others: Mutex::default(),
            one_at_a_time: one_at_a_time.then(|| Arc::new(Semaphore::new(1))),
        })
    }

    /// What serves this attempt at every example.
    fn of_repeat(&self, repeat: u32) -> Arc<RepeatHost> {
        if repeat == 0 {
            return Arc::clone(&self.first);
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let made = others.entry(repeat).or_insert_with(|| {
            let Some(host) = self.first.host.of_repeat(repeat) else {
                return Arc::clone(&self.first);
            };
            self.arm.tap.add_repeat(&self.arm.path, Arc::clone(&host));
            RepeatHost::new(host)
        });
        Arc::clone(made)
    }

    /// The client, once tap and host have started. Their start is not latency.
    async fn client(&self, of: &RepeatHost) -> Result<Arc<dyn System>, SystemError> {
        if let Some(client) = of.client.get() {
            return match of.host.problem() {
                Some(problem) => Err(problem),
                None => Ok(Arc::clone(client)),
            };
        }
        let started = of.client.get_or_try_init(|| self.start(&*of.host));
        pausing(started).await.map(Arc::clone)
    }

    async fn start(&self, host: &dyn ArmHost) -> Result<Arc<dyn System>, SystemError> {
        let running = self.arm.tap.start().await?;
        let base = running.base_url(&self.arm.path);
        let address = host.start(&base).await?;
        let mut settings = self.settings.clone();
        // The route that was asked for stands in the address of the upstream.
        settings.base_url = with_route(&address.base_url, &self.settings.base_url);
        settings.http_proxy.clone_from(&address.http_proxy);
        settings.is_tapped = true;
        settings.name = Some(self.plain.name().to_owned());
        for (name, value) in &address.headers {
            settings.headers.insert(name.clone(), value.clone());
        }
        let client = (self.make)(settings).map_err(|error| {
            let message = format!("cannot call `{}`: {error}", self.plain.name());
            SystemError::new(FailureKind::Other, message)
        })?;
        // Those of further processes ask the same of a client.
        let _ = self.arm.address.set(address);
        Ok(client)
    }

    /// Why a call failed: that the host has ended says more than what the client saw of it,
    /// which may be a moment earlier. Without that, the first rows of a proxy that died would
    /// look like a wrong address, and the rest would not be begun.
    async fn reason(&self, of: &RepeatHost, error: SystemError) -> SystemError {
        let is_broken = matches!(
            error.failure.kind,
            FailureKind::Connection | FailureKind::BadReply
        );
        let begun = tokio::time::Instant::now();
        loop {
            if let Some(problem) = of.host.problem() {
                return SystemError {
                    call: error.call,
                    ..problem
                };
            }
            let patience = match is_broken && is_deaf(&*of.host).await {
                true => LAST_WORDS,
                false => LAST_MOMENT,
            };
            if !is_broken || begun.elapsed() > patience {
                return error;
            }
            pausing(tokio::time::sleep(LAST_MOMENT / 20)).await;
        }
    }

    /// Waits for its turn, where the arm makes one call at a time.
    async fn turn(&self) -> Option<Turns> {
        let turns = self.one_at_a_time.as_ref()?;
        let permit = pausing(Arc::clone(turns).acquire_owned()).await.ok()?;
        Some(Turns(Some(permit)))
    }
}

/// Whether a host is a process of this machine that does not listen any more.
async fn is_deaf(host: &dyn ArmHost) -> bool {
    let Some(address) = host.listens_at() else {
        return false;
    };
    let connected = pausing(tokio::net::TcpStream::connect(address)).await;
    connected.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
}

/// The right to make a call; it is given back a while after, so that what a proxy does at once
/// after its answer is not put on the next call.
struct Turns(Option<tokio::sync::OwnedSemaphorePermit>);

impl Drop for Turns {
    fn drop(&mut self) {
        let permit = self.0.take();
        // Without a runtime the run is over.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(EXCLUSIVE_GRACE).await;
                drop(permit);
            });
        }
    }
}

/// The address of a host with the route that the user named for the upstream, if any.
fn with_route(base: &str, upstream: &str) -> String {
    let upstream = upstream.split(['?', '#']).next().unwrap_or_default();
    let upstream = upstream.trim_end_matches('/');
    let is_named = |route: &&&str| upstream.ends_with(**route);
    let routes = [
        "/chat/completions",
        "/completions",
        "/responses",
        "/messages",
    ];
    let base = base.trim_end_matches('/');
    match routes.iter().find(is_named) {
        Some(route) if !base.ends_with(route) => match base.ends_with("/v1") {
            true => format!("{base}{route}"),
            false => format!("{base}/v1{route}"),
        },
        _ => base.to_owned(),
    }
}

#[async_trait]
impl System for TappedSystem {
    fn name(&self) -> &str {
        self.plain.name()
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        let _turn = self.turn().await;
        let of = self.of_repeat(example.repeat());
        let answered = self.client(&of).await?.process(example).await;
        match answered {
            Ok(answered) => Ok(answered),
            Err(error) => Err(self.reason(&of, error).await),
        }
    }

    fn identity(&self) -> Option<Identity> {
        let settings = json!({
            "client": self.plain.identity()?.to_json(),
            "host": self.identity,
            "encoding": self.arm.tap.settings().encoding,
            // Proxies limit and cache by key.
            "credential": self.arm.tap.settings().credential,
        });
        Some(Identity::new(Self::KIND, VERSION, settings))
    }

    fn prompt(&self, example: &Example) -> Option<Vec<String>> {
        self.plain.prompt(example)
    }

    fn requests(&self, example: &Example) -> Option<Vec<Posting>> {
        self.plain.requests(example)
    }

    async fn ready(&self) -> Result<(), SystemError> {
        self.client(&self.first).await.map(drop)
    }

    fn counts_tokens(&self) -> bool {
        self.plain.counts_tokens()
    }

    fn as_conversation(&self) -> Option<&dyn Conversation> {
        self.plain
            .as_conversation()
            .map(|_| self as &dyn Conversation)
    }

    fn observe(&self, example: &Example) -> Option<Arc<dyn CallProbe>> {
        let new = || SyntheticCredential::new().ok();
        let credential = match self.arm.tap.settings().credential {
            CredentialScope::Example => new()?,
            CredentialScope::Arm => {
                let known = self.arm.credential.get();
                match known {
                    Some(known) => known.clone(),
                    None => {
                        let made = new()?;
                        self.arm.credential.get_or_init(|| made).clone()
                    }
                }
            }
        };
        let id = example.get("id").map(|id| match id.as_str() {
            Some(id) => Arc::from(id),
            None => Arc::from(id.to_string()),
        });
        let of = self.of_repeat(example.repeat());
        let is_cold = !of.has_begun.swap(true, Relaxed);
        let probe = ExampleProbe::new(
            Arc::clone(&self.arm),
            credential,
            id.unwrap_or_default(),
            is_cold,
        );
        Some(Arc::new(probe))
    }
}

#[async_trait]
impl Conversation for TappedSystem {
    async fn process_conversation(&self, turns: &[Turn]) -> Result<Replies, SystemError> {
        let _turn = self.turn().await;
        let client = self.client(&self.first).await?;
        let answered = talker(&*client)?.process_conversation(turns).await;
        match answered {
            Ok(answered) => Ok(answered),
            Err(error) => Err(self.reason(&self.first, error).await),
        }
    }

    async fn answer_conversation(
        &self,
        example: &Example,
        turns: &[Turn],
    ) -> Result<Replies, SystemError> {
        let _turn = self.turn().await;
        let of = self.of_repeat(example.repeat());
        let client = self.client(&of).await?;
        let answered = talker(&*client)?.answer_conversation(example, turns).await;
        match answered {
            Ok(answered) => Ok(answered),
            Err(error) => Err(self.reason(&of, error).await),
        }
    }
}

fn talker(client: &dyn System) -> Result<&dyn Conversation, SystemError> {
    let talker = client.as_conversation();
    talker.ok_or_else(|| SystemError::from("the client holds no conversations"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_of_the_upstream_are_asked_for_at_the_host() {
        for (base, upstream, expected) in [
            ("http://p:1", "http://h/v1", "http://p:1"),
            (
                "http://p:1/",
                "http://h/v1/messages",
                "http://p:1/v1/messages",
            ),
            (
                "http://p:1/v1",
                "http://h/v1/chat/completions/",
                "http://p:1/v1/chat/completions",
            ),
        ] {
            assert_eq!(with_route(base, upstream), expected);
        }
    }
}
