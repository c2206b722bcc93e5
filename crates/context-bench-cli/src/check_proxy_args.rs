//! Flags of `check-proxy`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use context_bench::tap::{ArmKind, ArmRole, ProxyApi};

use crate::args::seconds;

const EXAMPLES: &str = "\
Examples:
  context-bench check-proxy kompact
  context-bench check-proxy ./my-proxy.yaml --arm passthrough
  context-bench check-proxy http://127.0.0.1:7878 --listen 127.0.0.1:9000
  context-bench check-proxy http://127.0.0.1:4000 --listen 127.0.0.1:9000 \\
                            --header 'authorization: Bearer KEY-OF-THE-PROXY' --api anthropic

A proxy with a profile is started once for each arm and stopped again. One that already runs has
to have the address of --listen as its provider. Nothing is sent anywhere else.
docs/reference/check-proxy.md says what is asked and what has to hold.
Exit codes: 0 all that could be tested holds, 2 the proxy cannot be started or reached, 4
something does not hold.";

/// Flags of `check-proxy`.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckProxyArgs {
    /// The proxy: the name of a profile (headroom, kompact, litellm, llmtrim), the path of your
    /// own, or the address of one that already runs.
    #[arg(value_name = "PROXY")]
    pub(crate) proxy: String,
    /// Where the scripted provider listens, for a proxy that already runs.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// Arm to check: a passthrough fails if it changes a request, a transform if it changes
    /// none. Default: both with a profile; with an address neither is asked for.
    #[arg(long, value_name = "ARM")]
    pub(crate) arm: Option<Arm>,
    /// API to ask in; repeatable. Default: all of them.
    #[arg(long, value_name = "API")]
    pub(crate) api: Vec<Api>,
    /// Model to ask for, as [API=]NAME; repeatable. Default: gpt-4o-mini, claude-sonnet-4-5,
    /// gpt-3.5-turbo-instruct.
    #[arg(short = 'M', long, value_name = "MODEL")]
    pub(crate) model: Vec<String>,
    /// Header to send with every request, as `NAME: VALUE`; repeatable.
    #[arg(long, value_name = "HEADER")]
    pub(crate) header: Vec<String>,
    /// Seconds that an event of a stream may take through the proxy before it counts as held
    /// back.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "3")]
    pub(crate) patience: f64,
    /// Seconds within which the proxy has to hang up after its client did, or ten times as long
    /// as a usual call takes, if that is more.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "1")]
    pub(crate) hang_up_within: f64,
    /// Seed of the texts.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Format of the report.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: CheckFormat,
    /// Write the report to a file instead of stdout.
    #[arg(long, value_name = "PATH")]
    pub(crate) output_file: Option<PathBuf>,
    /// Do not show progress.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// An arm of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arm {
    Passthrough,
    Transform,
}

impl Arm {
    pub(crate) fn kind(self) -> ArmKind {
        match self {
            Self::Passthrough => ArmKind::Passthrough,
            Self::Transform => ArmKind::Transform,
        }
    }

    pub(crate) fn role(self) -> ArmRole {
        match self {
            Self::Passthrough => ArmRole::PassThrough,
            Self::Transform => ArmRole::Transform,
        }
    }
}

/// An API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Api {
    Openai,
    Anthropic,
    Responses,
    Completions,
    Gemini,
}

impl Api {
    pub(crate) fn api(self) -> ProxyApi {
        match self {
            Self::Openai => ProxyApi::Chat,
            Self::Anthropic => ProxyApi::Messages,
            Self::Responses => ProxyApi::Responses,
            Self::Completions => ProxyApi::Completions,
            Self::Gemini => ProxyApi::Gemini,
        }
    }
}

/// How the report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    Table,
    Markdown,
    Json,
}
