//! The HTTP side of the client: connections, proxies, TLS, redirects.
//!
//! HTTP/1.1 only: with HTTP/2 all requests to a host would share one connection,
//! whose stream limit becomes the limit of a run. Nothing here retries.

use std::time::Duration;

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

/// A connection pool for this endpoint.
pub(super) fn build(
    endpoint: &Endpoint,
    connect_timeout: Duration,
) -> Result<reqwest::Client, reqwest::Error> {
    // An error means that a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let connecting = Connecting::new(connect_timeout);
    let builder = || {
        let builder = reqwest::Client::builder()
            .http1_only()
            .pool_max_idle_per_host(usize::MAX)
            .pool_idle_timeout(POOL_IDLE)
            .tcp_nodelay(true)
            .connector_layer(connecting.clone())
            .redirect(Policy::custom(within_origin))
            .user_agent(concat!("context-bench/", env!("CARGO_PKG_VERSION")));
        if endpoint.is_loopback() {
            builder.no_proxy()
        } else {
            builder
        }
    };
    let without_roots = || builder().tls_certs_only([]).build();
    match endpoint.url().scheme() {
        // Loading root certificates takes time and fails where there are none,
        // as in many containers; without TLS they are not needed.
        "http" if endpoint.is_loopback() => without_roots(),
        "http" => builder().build().or_else(|_| without_roots()),
        _ => builder().build(),
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

/// The innermost reason of an error, such as `connection refused`; the layers
/// around it only repeat that a request failed.
pub(super) fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    plain_reason(&cause.to_string())
}

/// `Connection refused (os error 111)` as `connection refused`.
pub(super) fn plain_reason(text: &str) -> String {
    // What rustls says when plain HTTP answers its greeting.
    if text.contains("InvalidContentType") {
        return "the server does not speak HTTPS".to_owned();
    }
    let text = text.split(" (os error ").next().unwrap_or(text);
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        // Abbreviations such as `DNS` keep their case.
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::plain_reason;

    #[test]
    fn reasons_are_plain() {
        for (text, expected) in [
            ("Connection refused (os error 111)", "connection refused"),
            ("DNS failed", "DNS failed"),
            (
                "connection closed before message completed",
                "connection closed before message completed",
            ),
            ("", ""),
        ] {
            assert_eq!(plain_reason(text), expected);
        }
    }
}
