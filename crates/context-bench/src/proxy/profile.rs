//! [`ProxyProfile`]: how a proxy is started and pointed at the tap, as a data file.
//!
//! The comments of these types are the descriptions of the JSON Schema and of
//! `docs/reference/proxy-profiles.md`, so they are written for users. Reading and checking is
//! in `profile_file.rs`, what `{…}` stands for in `template.rs`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tap::ArmRole;

/// How a proxy is started and pointed at the tap.
///
/// Texts may hold `{port}` (where it is to listen), `{tap}` (the address of the tap for this
/// arm, without `/v1`), `{tap_origin}` and `{tap_path}` (its two halves), `{openai}`,
/// `{anthropic}` and `{gemini}` (what `upstream` says), `{folder}` (a private folder that is
/// removed at the end) and `{key}` (a key that is made up for this process).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProxyProfile {
    /// The name of the proxy, for `--proxy NAME`. Required.
    pub proxy: String,
    /// What it does, in one line.
    pub about: String,
    /// How it is installed, for the error when it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// The Python package that it is, whose installed version is part of what stored answers
    /// are found by. Without it the content of the program is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The versions that this profile was tried with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<String>,
    /// The program and its arguments; no shell is involved. Required. It must listen on
    /// 127.0.0.1 only.
    pub command: Vec<String>,
    /// Variables of its environment. It inherits only a few others (`PATH`, `HOME`, `LANG` and
    /// the like), and never a key.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub env: IndexMap<String, String>,
    /// Names of further variables that it inherits where they are set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inherit: Vec<String>,
    /// The port of a proxy that cannot be told one; default: a free one, as `{port}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Files that are written into `{folder}` before it starts: their text by their name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub files: IndexMap<String, String>,
    /// When it is ready.
    pub ready: ReadyCheck,
    /// Where it sends what it gets, for each API that it speaks.
    #[serde(skip_serializing_if = "Upstreams::is_empty")]
    pub upstream: Upstreams,
    /// The base address that clients are given; default `http://127.0.0.1:{port}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_base: Option<String>,
    /// The address of a proxy in the sense of HTTP, through which clients send their calls to
    /// `client_base`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_proxy: Option<String>,
    /// Headers that clients send with every call.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub client_headers: IndexMap<String, String>,
    /// What differs between its arms.
    #[serde(skip_serializing_if = "ProxyArms::is_empty")]
    pub arms: ProxyArms,
    /// The header that keeps conversations apart; it gets another value for each example.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_header: Option<String>,
    /// What of a client's call is known to reach the provider. The run finds out itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carriers: Option<Carriers>,
    /// Whether it answers repeats itself, started like this; default false.
    pub own_cache: bool,
    /// How often it repeats a call that failed, started like this; default 0.
    pub own_retries: u32,
    /// How many calls a minute it lets through, started like this; default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_rate_limit: Option<u32>,
    /// Models by the name that clients give them, with the name that goes out.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub model_map: IndexMap<String, String>,
    /// Whether one call can change what happens to later ones; default false.
    pub stateful: bool,
    /// A command that prints its version, kept with the run where `package` does not tell it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub version_command: Vec<String>,
    /// The address of a document about what it did, kept with the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stats_url: Option<String>,
    /// Whether it may reach other hosts; default false: `HTTPS_PROXY` leads nowhere, so that
    /// calls around the tap fail.
    pub allow_egress: bool,
}

/// When a proxy is ready. It is never asked with a prompt: that can change how it behaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReadyCheck {
    /// An address that is fetched until it answers, such as `http://127.0.0.1:{port}/health`;
    /// with `tcp://` it is enough that somebody listens. Required.
    pub url: String,
    /// The status that it answers with; default 200.
    pub status: u16,
    /// Seconds that this may take; default 180.
    pub timeout: f64,
}

impl Default for ReadyCheck {
    fn default() -> Self {
        Self {
            url: String::new(),
            status: 200,
            timeout: 180.0,
        }
    }
}

/// Where a proxy sends what it gets. Some want `/v1` at the end and some do not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Upstreams {
    /// For calls in the format of OpenAI, such as `{tap}` or `{tap}/v1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openai: Option<String>,
    /// For calls in the format of Anthropic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anthropic: Option<String>,
    /// For calls in the format of Gemini.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gemini: Option<String>,
}

impl Upstreams {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What differs between the arms of a proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProxyArms {
    /// The arm that is to change nothing, `NAME:passthrough`.
    #[serde(skip_serializing_if = "ArmSettings::is_empty")]
    pub passthrough: ArmSettings,
    /// The arm that does what the proxy is for, `NAME`.
    #[serde(skip_serializing_if = "ArmSettings::is_empty")]
    pub transform: ArmSettings,
}

impl ProxyArms {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How one arm of a proxy is started and asked, on top of the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ArmSettings {
    /// Further arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Further variables.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub env: IndexMap<String, String>,
    /// Headers that clients send with every call.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub headers: IndexMap<String, String>,
}

impl ArmSettings {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What of a client's call reaches the provider, by which calls can be told apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Carriers {
    /// The key of the client.
    pub credential: bool,
    /// The header `x-cb-call`.
    pub header: bool,
    /// The query `?cb=`.
    pub query: bool,
    /// The member `user` of the body.
    pub user: bool,
    /// The member `metadata` of the body.
    pub metadata: bool,
}

impl ProxyProfile {
    /// What is special about one of its arms.
    pub(super) fn arm(&self, role: ArmRole) -> &ArmSettings {
        match role {
            ArmRole::PassThrough => &self.arms.passthrough,
            ArmRole::Transform | ArmRole::Direct => &self.arms.transform,
        }
    }

    /// The base address of clients, before `{…}` is filled in.
    pub(super) fn client_base(&self) -> &str {
        let usual = "http://127.0.0.1:{port}";
        self.client_base.as_deref().unwrap_or(usual)
    }
}
