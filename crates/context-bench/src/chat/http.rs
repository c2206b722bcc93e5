//! The HTTP side of the client: connections, proxies, TLS, redirects.
//!
//! Nothing here retries.

use std::time::Duration;

use context_bench_http::{RootCertificates, client_builder, plain_reason, root_cause};
use reqwest::redirect::{Action, Attempt, Policy};

use super::connecting::Connecting;
use super::endpoint::Endpoint;

/// The longest wait for a connection.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an idle connection is kept. Common servers (uvicorn) close theirs
/// after five seconds; using one at that moment would cost a retry.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// Redirects within one origin before we call it a loop.
const MAX_REDIRECTS: usize = 5;

/// A connection pool for this endpoint, or why there cannot be one.
pub(super) fn build(
    endpoint: &Endpoint,
    connect_timeout: Duration,
    http_proxy: Option<&str>,
) -> Result<reqwest::Client, String> {
    let connecting = Connecting::new(connect_timeout);
    let build = |roots: RootCertificates| {
        let builder = client_builder(roots).map_err(|error| plain_reason(&error.to_string()))?;
        let builder = builder
            .pool_max_idle_per_host(usize::MAX)
            .pool_idle_timeout(POOL_IDLE)
            .connector_layer(connecting.clone())
            .redirect(Policy::custom(within_origin));
        let builder = match http_proxy {
            Some(proxy) => {
                let proxy = reqwest::Proxy::all(proxy).map_err(|error| root_cause(&error))?;
                builder.no_proxy().proxy(proxy)
            }
            None if endpoint.is_loopback() => builder.no_proxy(),
            None => builder,
        };
        builder.build().map_err(|error| root_cause(&error))
    };
    match endpoint.url().scheme() {
        "http" if endpoint.is_loopback() => build(RootCertificates::None),
        // A redirect or a proxy may lead to HTTPS; without, no certificates are needed.
        "http" => build(RootCertificates::System).or_else(|_| build(RootCertificates::None)),
        _ => build(RootCertificates::System),
    }
}

/// Follows only redirects that repeat the same request at the same place, so
/// that neither the key nor the examples go to a host that the user did not name.
fn within_origin(attempt: Attempt<'_>) -> Action {
    let same = attempt
        .previous()
        .last()
        .is_some_and(|previous| previous.origin() == attempt.url().origin());
    let repeats = matches!(attempt.status().as_u16(), 307 | 308);
    if same && repeats && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}
