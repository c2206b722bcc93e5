//! A first knock: does anything listen at an endpoint?
//!
//! It opens a connection and closes it again; no request is sent, so nothing is
//! billed. A typo then costs a moment and not a run full of retries.

use std::time::Duration;

use super::Endpoint;
use crate::error::Hint;

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(4);

impl Endpoint {
    /// Connects to the host and hangs up.
    ///
    /// # Errors
    ///
    /// When the name cannot be resolved, nothing listens, or no answer comes in time.
    pub async fn check_reachable(&self) -> Result<(), Unreachable> {
        let unreachable = |reason: String| Unreachable {
            url: self.to_string(),
            reason,
        };
        let host = self.url().host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = self.url().port_or_known_default().unwrap_or(80);
        let connecting = tokio::net::TcpStream::connect((host, port));
        match tokio::time::timeout(PATIENCE, connecting).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(unreachable(context_bench_http::plain_reason(
                &error.to_string(),
            ))),
            Err(_) => Err(unreachable(format!(
                "no answer within {} s",
                PATIENCE.as_secs()
            ))),
        }
    }

    /// Host and port as written in the URL; a default port is left out.
    pub fn authority(&self) -> String {
        let host = self.url().host_str().unwrap_or_default();
        match self.url().port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }
}

/// Nothing can be reached at an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot connect to `{url}`: {reason}")]
#[non_exhaustive]
pub struct Unreachable {
    /// The address, without credentials.
    pub url: String,
    /// Why not.
    pub reason: String,
}

impl Hint for Unreachable {
    fn hint(&self) -> Option<String> {
        Some("check that the endpoint is running and that host and port are right".into())
    }
}
