//! What a tap is told: where calls go, with which key, and what it may change on the way.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use url::Url;

use super::tap::TapError;
use crate::wire::{UsageShape, WireFormat};

/// A key that nobody gets to see.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential(String);

impl Credential {
    /// A key of a provider.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    pub(crate) fn key(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Credential(…)")
    }
}

/// Whose API a call speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// OpenAI and the many that are compatible with it.
    Openai,
    /// Anthropic.
    Anthropic,
    /// Google.
    Gemini,
}

impl Vendor {
    /// Of an API; what is unknown goes where most calls go.
    pub(crate) fn of(format: WireFormat) -> Option<Self> {
        match format {
            WireFormat::AnthropicMessages => Some(Self::Anthropic),
            WireFormat::Gemini => Some(Self::Gemini),
            WireFormat::Unknown => None,
            _ => Some(Self::Openai),
        }
    }
}

/// Where calls go.
#[derive(Clone)]
pub struct Upstream {
    /// The base address. `https://api.example.com` and `https://api.example.com/v1` mean the
    /// same: what the path of a call and the address share stands there once.
    pub base: Url,
    /// The real key, which takes the place of whatever the client sent. Without one the
    /// client's own passes.
    pub credential: Option<Credential>,
    /// How this provider counts, where its API does not tell.
    pub usage: Option<UsageShape>,
    /// TLS of its own, such as a certificate that the machine does not know.
    pub tls: Option<Arc<ClientConfig>>,
}

// An address may hold a password.
impl fmt::Debug for Upstream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Upstream")
            .field("host", &self.base.host_str())
            .field("path", &self.base.path())
            .field("credential", &self.credential)
            .finish_non_exhaustive()
    }
}

impl Upstream {
    /// An upstream by its base address as users write it.
    ///
    /// # Errors
    ///
    /// When that is not an `http` or `https` URL with a host.
    pub fn parse(text: &str) -> Result<Self, TapError> {
        let text = text.trim();
        // What is wrong may hold a password, so it is not repeated.
        let wrong = |what: &str| TapError::Upstream(what.to_owned());
        let base = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
        if !["http", "https"].contains(&base.scheme()) {
            return Err(wrong("neither http nor https"));
        }
        if base.host_str().is_none_or(str::is_empty) {
            return Err(wrong("no host"));
        }
        Ok(Self::new(base))
    }

    /// An upstream that the client's own key is passed to.
    pub fn new(base: Url) -> Self {
        Self {
            base,
            credential: None,
            usage: None,
            tls: None,
        }
    }

    /// The same with a key that the client never sees.
    #[must_use]
    pub fn with_credential(mut self, key: impl Into<String>) -> Self {
        self.credential = Some(Credential::new(key));
        self
    }
}

/// What becomes of `accept-encoding`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TapEncoding {
    /// Answers are asked for as they are: compression hides the first token of a stream until
    /// a block ends.
    #[default]
    Identity,
    /// What the proxy asks for.
    Passthrough,
    /// gzip, to see what the proxy makes of it.
    Gzip,
}

/// What a tap is told.
#[derive(Debug, Clone)]
pub struct TapSettings {
    /// Where it listens; a free port of loopback unless told otherwise.
    pub listen: SocketAddr,
    /// Where calls go.
    pub upstream: Upstream,
    /// Where calls of one vendor's API go instead.
    pub by_vendor: Vec<(Vendor, Upstream)>,
    /// What becomes of `accept-encoding`.
    pub encoding: TapEncoding,
    /// How long a connection may take to come about.
    pub connect_timeout: Duration,
    /// How long an upstream may be silent.
    pub silence_timeout: Duration,
    /// How long calls in flight get when the tap ends.
    pub grace: Duration,
    /// How many bytes of bodies may be in memory, over all calls: what is beyond goes to files.
    /// Half of it is for calls that wait to be recorded; when they take more, new calls wait.
    pub body_memory: usize,
    /// Further secrets that must not reach a file.
    pub secrets: Vec<Credential>,
    /// On how many threads of its own it relays; 0 for those of the runtime that it is started on.
    pub threads: usize,
}

impl TapSettings {
    /// The usual settings for an upstream.
    pub fn new(upstream: Upstream) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            upstream,
            by_vendor: Vec::new(),
            encoding: TapEncoding::default(),
            connect_timeout: Duration::from_secs(30),
            silence_timeout: Duration::from_secs(600),
            grace: Duration::from_secs(5),
            body_memory: 128 * 1024 * 1024,
            secrets: Vec::new(),
            threads: 0,
        }
    }

    /// Every upstream; the first is the one that most calls go to.
    pub(crate) fn upstreams(&self) -> impl Iterator<Item = &Upstream> {
        let others = self.by_vendor.iter().map(|(_, upstream)| upstream);
        std::iter::once(&self.upstream).chain(others)
    }

    /// Which of [`TapSettings::upstreams`] a call goes to.
    pub(crate) fn upstream_of(&self, format: WireFormat) -> usize {
        let vendor = Vendor::of(format);
        let mut vendors = self.by_vendor.iter();
        let own = vendors.position(|(known, _)| Some(*known) == vendor);
        own.map_or(0, |at| at + 1)
    }
}
