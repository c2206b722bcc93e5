//! Upstreams over TLS, with a certificate of our own.

use std::sync::Arc;

use context_bench_tap::record::EndState;
use context_bench_tap::{TapSettings, Upstream};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;
use url::Url;

use crate::support::{TestTap, body_of, chat};

/// Of `localhost`, for tests only; valid for a hundred years.
const CERTIFICATE: &[u8] = include_bytes!("localhost.crt");
const KEY: &[u8] = include_bytes!("localhost.key");

#[test]
fn calls_go_out_over_tls() {
    let provider = Arc::new(ring::default_provider());
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .unwrap();
    let port = listener.local_addr().unwrap().port();
    runtime.spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(server));
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut got = Vec::new();
            while !got.ends_with(b"{}") {
                if stream.read_buf(&mut got).await.unwrap_or(0) == 0 {
                    return;
                }
            }
            assert!(String::from_utf8_lossy(&got).contains(&format!("Host: localhost:{port}")));
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret";
            stream.write_all(answer).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    let base = Url::parse(&format!("https://localhost:{port}/v1")).unwrap();
    let client = |roots: RootCertStore| {
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Upstream {
            tls: Some(Arc::new(config)),
            ..Upstream::new(base.clone())
        }
    };
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let tap = TestTap::with(TapSettings::new(client(roots)));
    assert_eq!(body_of(&tap.send(&chat("x", "{}"))), b"secret");
    assert_eq!(tap.finish().1[0].end, EndState::Complete);
    // A certificate that nobody vouches for is refused.
    let tap = TestTap::with(TapSettings::new(client(RootCertStore::empty())));
    let answered = String::from_utf8(tap.send(&chat("x", "{}"))).unwrap();
    assert!(answered.starts_with("HTTP/1.1 502 "), "{answered}");
    assert_eq!(tap.finish().1[0].end, EndState::Unreachable);
}
