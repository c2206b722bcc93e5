//! Connections to an upstream, plain or over TLS.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use context_bench_http::{RootCertificates, TlsError, plain_reason, tls_config};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::{Host, Url};

use super::settings::Upstream;

/// How an upstream is reached.
#[derive(Debug)]
pub(crate) struct Address {
    host: Host<String>,
    port: u16,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl Address {
    /// Of an upstream. Certificates of the machine are loaded only where they are needed.
    pub(crate) fn of(upstream: &Upstream) -> Result<Self, AddressError> {
        let base = &upstream.base;
        let wrong = || AddressError::Invalid(shown(base));
        // It would be lost, and shown where addresses are shown.
        if !base.username().is_empty() || base.password().is_some() {
            return Err(AddressError::User(shown(base)));
        }
        let host = base.host().ok_or_else(wrong)?.to_owned();
        let port = base.port_or_known_default().ok_or_else(wrong)?;
        let tls = match base.scheme() {
            "http" => None,
            "https" => {
                let config = match &upstream.tls {
                    Some(config) => Arc::clone(config),
                    None => Arc::new(tls_config(RootCertificates::System)?),
                };
                let name = match &host {
                    Host::Domain(name) => {
                        ServerName::try_from(name.clone()).map_err(|_| wrong())?
                    }
                    Host::Ipv4(ip) => ServerName::from(std::net::IpAddr::from(*ip)),
                    Host::Ipv6(ip) => ServerName::from(std::net::IpAddr::from(*ip)),
                };
                Some((config, name))
            }
            _ => return Err(wrong()),
        };
        Ok(Self { host, port, tls })
    }

    /// A new connection.
    pub(crate) async fn connect(&self) -> Result<UpstreamStream, String> {
        let reason = |error: io::Error| plain_reason(&error.to_string());
        let stream = match &self.host {
            Host::Domain(name) => TcpStream::connect((name.as_str(), self.port)).await,
            Host::Ipv4(ip) => TcpStream::connect((*ip, self.port)).await,
            Host::Ipv6(ip) => TcpStream::connect((*ip, self.port)).await,
        };
        let stream = stream.map_err(reason)?;
        stream.set_nodelay(true).map_err(reason)?;
        let Some((config, name)) = &self.tls else {
            return Ok(UpstreamStream::Plain(stream));
        };
        let connector = TlsConnector::from(Arc::clone(config));
        let stream = connector
            .connect(name.clone(), stream)
            .await
            .map_err(reason)?;
        Ok(UpstreamStream::Tls(Box::new(stream)))
    }
}

/// Why calls cannot go there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AddressError {
    #[error("`{0}` is not an http or https address")]
    Invalid(String),
    #[error("`{0}` has a user or a password: give the key as the credential")]
    User(String),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// An address without the user and query that it may have.
fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    format!("{}://{host}{}", url.scheme(), url.path())
}

/// A connection to an upstream.
#[derive(Debug)]
pub(crate) enum UpstreamStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl UpstreamStream {
    /// Whether a connection that was kept can still be used: it is open and says nothing.
    pub(crate) async fn is_idle(&mut self) -> bool {
        let mut byte = [0];
        let mut buffer = ReadBuf::new(&mut byte);
        let polled = std::future::poll_fn(|context| {
            Poll::Ready(Pin::new(&mut *self).poll_read(context, &mut buffer))
        });
        polled.await.is_pending()
    }
}

impl AsyncRead for UpstreamStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for UpstreamStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
