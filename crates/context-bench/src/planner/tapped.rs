//! Arms behind a tap: the provider itself, and proxies in front of it.

use std::net::SocketAddr;
use std::sync::Arc;

use super::systems::{SystemEndpoint, Systems, likelihood_settings};
use super::{Listing, Notice, PlanError, Planner};
use crate::chat::Endpoint;
use crate::mask::Mask;
use crate::model::ArmRole;
use crate::plan::{PlannedArm, RequestSpec};
use crate::system::{OpenAiProxy, OpenAiProxySettings, System};
use crate::tap::{
    ArmHost, DirectHost, MakeClient, RunTap, RunTapSettings, RunningHost, TappedSystem,
};
use crate::task::TaskModel;

/// Where the tap listens if a proxy that already runs must know it.
const LISTEN: &str = "127.0.0.1:4711";
/// What the arm without a proxy is called.
const DIRECT: &str = "direct";

impl Planner<'_> {
    /// The tap of the run, if it has one.
    pub(super) fn run_tap(&self) -> Result<Option<Arc<RunTap>>, PlanError> {
        let spec = &self.spec.tap;
        let Some(upstream) = &spec.upstream else {
            let settings = [
                ("arms", !spec.arms.is_empty()),
                ("listen", spec.listen.is_some()),
                ("log", spec.log.is_some()),
                ("credential", spec.credential.is_some()),
                ("exclusive", spec.exclusive.is_some()),
                ("unattributed_limit", spec.unattributed_limit.is_some()),
                ("encoding", spec.encoding.is_some()),
            ];
            return match settings.iter().find(|(_, is_set)| *is_set) {
                None => Ok(None),
                Some((name, _)) => Err(PlanError::new(format!(
                    "`tap.{name}` has no effect without an upstream"
                ))
                .with_hint("name the provider with `--upstream URL`")),
            };
        };
        let mut settings = RunTapSettings::new(upstream)?;
        settings.api_key = self.key(&self.direct_requests())?;
        let proxies = self
            .spec
            .systems
            .iter()
            .filter_map(|one| one.proxy.as_deref());
        let is_running = proxies.clone().any(|proxy| proxy.contains("://"));
        let listen = spec.listen.as_deref();
        settings.listen = match listen.or(is_running.then_some(LISTEN)) {
            Some(typed) => Some(address(typed)?),
            None => None,
        };
        settings.log.clone_from(&spec.log);
        settings.credential = spec.credential.unwrap_or_default();
        settings.is_exclusive = spec.exclusive.unwrap_or(false);
        settings.encoding = spec.encoding.unwrap_or_default();
        if let Some(limit) = spec.unattributed_limit {
            if !(0.0..=1.0).contains(&limit) {
                return Err(PlanError::new(
                    "`tap.unattributed_limit` must be a share between 0 and 1",
                )
                .with_hint("0.01 allows one call in a hundred to be nobody's"));
            }
            settings.unattributed_limit = limit;
        }
        Ok(Some(RunTap::new(settings)))
    }

    /// How the provider is asked without a proxy: as the first proxy is, so that the two can be
    /// compared, but without headers that are meant for it alone.
    fn direct_requests(&self) -> RequestSpec {
        let general = &self.spec.requests;
        let mut systems = self.spec.systems.iter();
        match systems.find(|system| system.proxy.is_some()) {
            Some(first) => RequestSpec {
                headers: general.headers.clone(),
                ..first.requests_over(general)
            },
            None => general.clone(),
        }
    }

    /// Adds the arm without a proxy.
    pub(super) fn direct_arm(
        &self,
        built: &mut Systems,
        tap: &Arc<RunTap>,
        names: &[String],
    ) -> Result<(), PlanError> {
        let is_taken = |name: &str| names.iter().any(|known| known == name);
        let numbered = (2..).map(|number| format!("{DIRECT}#{number}"));
        let mut free = std::iter::once(DIRECT.to_owned()).chain(numbered);
        let name = free.find(|name| !is_taken(name));
        let name = name.unwrap_or_else(|| DIRECT.to_owned());
        let upstream = self.spec.tap.upstream.as_deref().unwrap_or_default();
        let settings = self.endpoint_settings(upstream, &name, &self.direct_requests())?;
        let at = built.systems.len();
        built.ask_for(Listing::of(&settings), at..at + 1);
        let endpoint = Endpoint::of(settings.api, upstream)?;
        built.endpoints.push((endpoint, at..at + 1));
        self.arm(built, tap, Arc::new(DirectHost), None, settings)
    }

    /// Adds a proxy that already runs and was pointed at the tap.
    pub(super) fn running_arm(
        &self,
        built: &mut Systems,
        tap: &Arc<RunTap>,
        url: &str,
        name: &str,
        role: ArmRole,
        requests: &RequestSpec,
    ) -> Result<(), PlanError> {
        let host = RunningHost::new(url)?.with_role(role);
        let upstream = self.spec.tap.upstream.as_deref().unwrap_or_default();
        let settings = self.endpoint_settings(upstream, name, requests)?;
        let at = built.systems.len();
        let endpoint = Endpoint::of(settings.api, url)?;
        built.endpoints.push((endpoint, at..at + 1));
        let proxy = Some(Mask::Dots.setting(url));
        self.arm(built, tap, Arc::new(host), proxy, settings)?;
        if let Some(base) = tap.fixed_base_url(name) {
            let what = format!("`{name}` must send its calls to the tap, at {base}");
            let notice = Notice::new(what).with_hint(
                "set that as the address of the provider in its own configuration; \
                 `--tap-listen HOST:PORT` chooses another",
            );
            built.notices.push(notice);
        }
        Ok(())
    }

    /// Adds an arm: a client with these settings, through this host, to the tap.
    pub(super) fn arm(
        &self,
        built: &mut Systems,
        tap: &Arc<RunTap>,
        host: Arc<dyn ArmHost>,
        proxy: Option<String>,
        settings: OpenAiProxySettings,
    ) -> Result<(), PlanError> {
        let (api, base) = (settings.api, &settings.base_url);
        let likelihoods = likelihood_settings(&self.spec.likelihoods, api, base);
        let has_tasks = self.has_tasks();
        let make: MakeClient = Box::new(move |settings| {
            Ok(match has_tasks {
                true => Arc::new(TaskModel::new(settings, likelihoods.clone())?) as Arc<dyn System>,
                false => Arc::new(OpenAiProxy::with_settings(settings)?),
            })
        });
        let asked = SystemEndpoint {
            endpoint: Endpoint::of(api, base)?.to_string(),
            model: settings.model.clone(),
        };
        let arm = PlannedArm {
            role: host.role(),
            proxy,
            host: host.identity(),
        };
        let system = TappedSystem::new(tap, host, settings, make)?;
        built.push(Arc::new(system), "endpoint", Some(asked));
        if let Some(planned) = built.planned.last_mut() {
            planned.arm = Some(arm);
        }
        Ok(())
    }
}

fn address(typed: &str) -> Result<SocketAddr, PlanError> {
    let local = typed.strip_prefix("localhost:");
    let local = local.map(|port| format!("127.0.0.1:{port}"));
    let address = local.as_deref().unwrap_or(typed).parse();
    address.map_err(|_| {
        PlanError::new(format!(
            "`tap.listen`: `{typed}` is no address to listen on"
        ))
        .with_hint(format!(
            "write `HOST:PORT` with an IP address, such as `{LISTEN}`"
        ))
    })
}
