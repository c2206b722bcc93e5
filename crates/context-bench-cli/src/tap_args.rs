//! The arguments of `tap`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

use crate::list_args::ListFormat;

/// Relay the calls of any client to a provider and keep what passed.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TapArgs {
    /// Address that calls go to, with or without /v1.
    #[arg(long, value_name = "URL", required_unless_present = "summary")]
    pub(crate) upstream: Option<String>,
    /// Address to listen on, as HOST:PORT or a port of this machine; default: a free port of
    /// 127.0.0.1.
    #[arg(long, value_name = "ADDRESS", value_parser = listen)]
    pub(crate) listen: Option<SocketAddr>,
    /// File for the calls with their bodies, as JSON lines without keys. It must not exist.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Environment variable that holds the provider's key, which replaces the client's; default:
    /// the client's own key is passed on.
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) api_key_env: Option<String>,
    /// Name of a client to tell apart: it gets an address of its own, and the summary counts
    /// its calls apart; repeatable.
    #[arg(long, value_name = "NAME", value_parser = arm)]
    pub(crate) arm: Vec<String>,
    /// Show every call on stderr, also where that is no terminal.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Sum up a log that is there, and relay nothing.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["upstream", "listen", "log", "api_key_env", "arm", "verbose"])]
    pub(crate) summary: Option<PathBuf>,
    /// Format of the summary.
    #[arg(
        short,
        long,
        value_enum,
        value_name = "FORMAT",
        default_value = "table"
    )]
    pub(crate) output: ListFormat,
}

const EXAMPLES: &str = "\
Examples:
  context-bench tap --upstream https://api.anthropic.com --log run.jsonl
  context-bench tap --upstream https://api.openai.com --api-key-env OPENAI_API_KEY \\
                    --listen 8790 --arm direct --arm compressed --log run.jsonl
  context-bench tap --summary run.jsonl

Ctrl-C ends it after the calls in flight, a second one at once.

Exit codes: 0 everything was relayed and kept, 2 bad input, 3 the log lacks calls (as on a full
disk; they were relayed all the same), 130 calls in flight were broken off.";

/// An address to listen on; a port alone is one of this machine.
fn listen(text: &str) -> Result<SocketAddr, String> {
    let local = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let port = text.strip_prefix("localhost:").or(text.strip_prefix(':'));
    match port.unwrap_or(text).parse() {
        Ok(port) => Ok(local(port)),
        Err(_) => text.parse().map_err(|_| {
            "write HOST:PORT with a number as host, such as 127.0.0.1:8790".to_owned()
        }),
    }
}

/// A name that can stand in a path.
fn arm(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("letters, digits, dashes, dots and underscores only".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_be_short() {
        for (text, expected) in [
            ("8790", "127.0.0.1:8790"),
            (":8790", "127.0.0.1:8790"),
            ("localhost:0", "127.0.0.1:0"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            let read = listen(text).map(|address| address.to_string());
            assert_eq!(read.as_deref(), Ok(expected), "{text}");
        }
        for text in ["", "99999", "somewhere:80", "127.0.0.1"] {
            assert!(listen(text).is_err(), "{text}");
        }
        for (text, is_good) in [
            ("direct", true),
            ("a.b-c_1", true),
            ("a/b", false),
            ("", false),
        ] {
            assert_eq!(arm(text).is_ok(), is_good, "{text}");
        }
    }
}
