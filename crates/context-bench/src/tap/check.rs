//! The check of proxies for an arm that is started like those of a run.

use std::collections::BTreeMap;

use context_bench_tap::check::{
    ArmKind, ArmReport, OnProbe, ProxyAddress, ProxyCheck, ProxyCheckError, ProxyCheckSettings,
};
use url::Url;

use super::{ArmAddress, ArmHost, ArmRole};
use crate::error::Hint;
use crate::system::SystemError;

/// Why an arm cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum ArmCheckError {
    /// The check itself cannot be made.
    #[error(transparent)]
    Check(#[from] ProxyCheckError),
    /// The proxy cannot be started.
    #[error("{0}")]
    Start(SystemError),
    /// What it was started as is no address.
    #[error("`{0}` is not an address that a proxy can be asked at")]
    Address(String),
}

impl Hint for ArmCheckError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Check(error) => error.hint(),
            // What it says has its hint already.
            Self::Start(_) => None,
            Self::Address(_) => Some("give it as http://HOST:PORT".to_owned()),
        }
    }
}

/// What a role is judged by.
pub fn arm_kind(role: ArmRole) -> ArmKind {
    match role {
        ArmRole::PassThrough | ArmRole::Direct => ArmKind::Passthrough,
        ArmRole::Transform => ArmKind::Transform,
    }
}

/// Starts an arm in front of a scripted upstream, asks it, and stops it again.
///
/// # Errors
///
/// When nobody can listen, or the proxy cannot be started or reached.
pub async fn check_arm(
    host: &dyn ArmHost,
    mut settings: ProxyCheckSettings,
    on_probe: OnProbe,
) -> Result<ArmReport, ArmCheckError> {
    let renamed: BTreeMap<String, String> = host.renamed_models().into_iter().collect();
    settings.declared.models.extend(renamed);
    let check = ProxyCheck::start(settings).await?;
    let address = host.start(&check.upstream_url()).await;
    let address = address.map_err(ArmCheckError::Start)?;
    let checked = ask(&check, &address, on_probe).await;
    host.stop().await;
    checked
}

/// Checks a proxy that already runs and has the address that is listened on as its provider.
///
/// # Errors
///
/// When nobody can listen there, or the proxy cannot be reached.
pub async fn check_address(
    address: &ArmAddress,
    settings: ProxyCheckSettings,
    on_probe: OnProbe,
) -> Result<ArmReport, ArmCheckError> {
    let check = ProxyCheck::start(settings).await?;
    ask(&check, address, on_probe).await
}

async fn ask(
    check: &ProxyCheck,
    address: &ArmAddress,
    on_probe: OnProbe,
) -> Result<ArmReport, ArmCheckError> {
    let address = proxy_address(address)?;
    Ok(check.run(&address, on_probe).await?)
}

fn proxy_address(address: &ArmAddress) -> Result<ProxyAddress, ArmCheckError> {
    let parsed = |text: &str| {
        Url::parse(text)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| ArmCheckError::Address(text.to_owned()))
    };
    Ok(ProxyAddress {
        base_url: parsed(&address.base_url)?,
        http_proxy: address.http_proxy.as_deref().map(parsed).transpose()?,
        headers: address
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        session_header: address.session_header.clone(),
    })
}
