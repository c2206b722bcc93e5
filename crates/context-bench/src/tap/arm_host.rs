//! [`ArmHost`]: what stands between the client and the tap in one arm: nothing, a proxy that
//! somebody else runs, or one that is started for the run.

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::chat::Endpoint;
use crate::model::ArmRole;
use crate::system::SystemError;

/// Where the client of an arm sends its calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArmAddress {
    /// The base address of the API, as for any endpoint.
    pub base_url: String,
    /// The HTTP proxy that calls go through, for a system under test that is one.
    pub http_proxy: Option<String>,
    /// Headers of every call.
    pub headers: IndexMap<String, String>,
    /// The header that keeps conversations apart in the proxy; it gets a value of its own for
    /// every example.
    pub session_header: Option<String>,
}

impl ArmAddress {
    /// An address without anything beside it.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            ..Self::default()
        }
    }
}

/// What stands between the client and the tap in one arm.
///
/// It is started once, before the first call of the arm, and only if there is one: nothing is
/// started when every answer comes from the store.
#[async_trait]
pub trait ArmHost: Send + Sync {
    /// What the arm is for.
    fn role(&self) -> ArmRole;

    /// Everything about it that can change an answer. It becomes part of the key of stored
    /// answers; it holds no secret, and nothing that differs from start to start.
    fn identity(&self) -> Value;

    /// Models by the name that the client gives them, with the name that goes out: a declared
    /// change is no defect.
    fn renamed_models(&self) -> IndexMap<String, String> {
        IndexMap::new()
    }

    /// Starts it in front of the tap, whose base address for this arm is given (without
    /// `/v1`). Returns when calls can be made.
    ///
    /// # Errors
    ///
    /// When it cannot be started, with what it said itself.
    async fn start(&self, tap_base_url: &str) -> Result<ArmAddress, SystemError>;

    /// Another one like it, for one of several attempts at every example (`repeat`, from 1), where
    /// one call can change what becomes of later ones: repeats must not share that. None where
    /// one serves them all.
    fn of_repeat(&self, repeat: u32) -> Option<Arc<dyn ArmHost>> {
        let _ = repeat;
        None
    }

    /// Stops it, if it was started. Dropping it has the same effect, only without the wait.
    async fn stop(&self) {}

    /// Why no call can be made any more, if that is so: what was started has ended. Calls that
    /// fail then fail for this reason, and no more are made.
    fn problem(&self) -> Option<SystemError> {
        None
    }

    /// Where its process listens, if it is one of this machine. Nobody listens there any more
    /// from the moment it ends, which may be long before [`ArmHost::problem`] knows.
    fn listens_at(&self) -> Option<SocketAddr> {
        None
    }

    /// What is worth keeping with the run, once it has started: version, effective
    /// configuration, what of its carriers survived.
    fn facts(&self) -> Map<String, Value> {
        Map::new()
    }
}

/// Nothing: the client calls the tap itself, so that all arms share what the tap costs.
#[derive(Debug, Clone, Copy, Default)]
pub struct DirectHost;

#[async_trait]
impl ArmHost for DirectHost {
    fn role(&self) -> ArmRole {
        ArmRole::Direct
    }

    fn identity(&self) -> Value {
        json!({"host": "direct"})
    }

    async fn start(&self, tap_base_url: &str) -> Result<ArmAddress, SystemError> {
        Ok(ArmAddress::new(tap_base_url))
    }
}

/// A proxy that already runs. Its user has pointed it at the tap, which therefore has a fixed
/// address.
#[derive(Debug, Clone)]
pub struct RunningHost {
    endpoint: Endpoint,
    address: ArmAddress,
    role: ArmRole,
}

impl RunningHost {
    /// A proxy at this address, which transforms requests.
    ///
    /// # Errors
    ///
    /// When the address is no address of an endpoint.
    pub fn new(base_url: impl Into<String>) -> Result<Self, crate::chat::EndpointError> {
        let address = ArmAddress::new(base_url);
        Ok(Self {
            endpoint: Endpoint::parse(&address.base_url)?,
            address,
            role: ArmRole::Transform,
        })
    }

    /// The same for another purpose.
    #[must_use]
    pub fn with_role(mut self, role: ArmRole) -> Self {
        self.role = role;
        self
    }
}

#[async_trait]
impl ArmHost for RunningHost {
    fn role(&self) -> ArmRole {
        self.role
    }

    fn identity(&self) -> Value {
        json!({"host": "running", "role": self.role, "url": self.endpoint.identity()})
    }

    async fn start(&self, _: &str) -> Result<ArmAddress, SystemError> {
        Ok(self.address.clone())
    }

    fn facts(&self) -> Map<String, Value> {
        Map::from_iter([("url".to_owned(), json!(self.endpoint.to_string()))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hosts_say_where_calls_go() {
        let tap = "http://127.0.0.1:9/a/direct";
        let direct = DirectHost;
        assert_eq!(direct.start(tap).await, Ok(ArmAddress::new(tap)));
        assert_eq!(direct.role(), ArmRole::Direct);
        let running = RunningHost::new("http://u:pw@localhost:7878").expect("an address");
        let address = running.start(tap).await.expect("an address");
        assert_eq!(address.base_url, "http://u:pw@localhost:7878");
        let shown = format!("{} {:?}", running.identity(), running.facts());
        assert!(
            shown.contains("localhost:7878") && !shown.contains("pw"),
            "{shown}"
        );
        let other = running.clone().with_role(ArmRole::PassThrough);
        assert_ne!(other.identity(), running.identity());
        assert!(RunningHost::new("localhost:1").is_err());
    }
}
