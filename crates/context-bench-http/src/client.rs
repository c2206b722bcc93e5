//! The set-up that all clients share: HTTP/1.1, TLS, the name under which we call.

use std::sync::Arc;

use reqwest::ClientBuilder;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// Whose certificates a client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootCertificates {
    /// Those that the machine trusts.
    System,
    /// None: for plain HTTP. Loading the machine's certificates takes time and fails where
    /// there are none, as in many containers.
    None,
}

/// Why TLS cannot be set up, such as a machine without root certificates.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TlsError(String);

/// A builder of clients that speak HTTP/1.1.
///
/// With HTTP/2 all requests to a host would share one connection, whose limit of streams
/// would become the limit of a run.
///
/// # Errors
///
/// When the certificates of the machine are wanted and it has none.
pub fn client_builder(roots: RootCertificates) -> Result<ClientBuilder, TlsError> {
    let tls = tls_config(roots)?;
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .http1_only()
        .tcp_nodelay(true)
        .user_agent(concat!("context-bench/", env!("CARGO_PKG_VERSION"))))
}

/// TLS for HTTP/1.1 with a provider of its own. reqwest would take the default of the process
/// and panic when there is none, and installing one is for the program to do, not for a library.
///
/// # Errors
///
/// When the certificates of the machine are wanted and it has none.
pub fn tls_config(roots: RootCertificates) -> Result<ClientConfig, TlsError> {
    configured(roots).map_err(|error| TlsError(error.to_string()))
}

fn configured(roots: RootCertificates) -> Result<ClientConfig, rustls::Error> {
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(ring::default_provider()));
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(rustls::ALL_VERSIONS)?;
    let builder = match roots {
        RootCertificates::System => {
            let verifier: Arc<dyn ServerCertVerifier> = Arc::new(Verifier::new(provider)?);
            builder
                .dangerous()
                .with_custom_certificate_verifier(verifier)
        }
        RootCertificates::None => builder.with_root_certificates(RootCertStore::empty()),
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_leaves_the_process_without_a_default_provider() {
        let client = client_builder(RootCertificates::None).expect("no certificates needed");
        client.build().expect("a client");
        // Where the machine has certificates, they are loaded; either way nothing is installed.
        let _ = client_builder(RootCertificates::System).map(ClientBuilder::build);
        assert!(CryptoProvider::get_default().is_none());
    }
}
