//! Connections are set up a few at a time, and the time that takes is set aside: it is
//! the network's and ours, not that of the system that answers.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::Semaphore;
use tower_layer::Layer;
use tower_service::Service;

use crate::stopwatch::setting_aside;

/// How many connections of a client are set up at the same time. Hundreds at once make
/// each other slow, and some servers refuse them.
const AT_ONCE: usize = 32;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Wraps what opens connections.
#[derive(Clone)]
pub(super) struct Connecting {
    permits: Arc<Semaphore>,
    timeout: Duration,
}

impl Connecting {
    /// Gives each connection so long from the moment when its turn has come.
    pub(super) fn new(timeout: Duration) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(AT_ONCE)),
            timeout,
        }
    }
}

impl<S> Layer<S> for Connecting {
    type Service = Connector<S>;

    fn layer(&self, inner: S) -> Connector<S> {
        Connector {
            inner,
            connecting: self.clone(),
        }
    }
}

/// Opens connections in turn.
#[derive(Clone)]
pub(super) struct Connector<S> {
    inner: S,
    connecting: Connecting,
}

impl<S, R> Service<R> for Connector<S>
where
    S: Service<R, Error = BoxError>,
    S::Future: Send + 'static,
    S::Response: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let opening = self.inner.call(request);
        let Connecting { permits, timeout } = self.connecting.clone();
        Box::pin(setting_aside(async move {
            // Nobody closes the semaphore.
            let _permit = permits.acquire_owned().await;
            let opened = tokio::time::timeout(timeout, opening).await;
            opened.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
        }))
    }
}
