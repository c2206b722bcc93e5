//! Proxies whose calls pass a tap: what each is, which arms a run has, and what stands in
//! them. Nothing is started here.

use std::sync::Arc;

use super::{Notice, PlanError, Planner, Systems};
use crate::chat::{Api, Endpoint};
use crate::mask::Mask;
use crate::plan::{ArmSpec, RunSpec, SystemSpec};
use crate::proxy::{LaunchSettings, LaunchedHost, ProxyCatalog, ProxyProfile};
use crate::tap::{ProxyApi, RunTap};

/// Logs of proxies and what probes found are kept there, beside the store.
const FOLDER: &str = "proxies";

/// What a `proxy` of a spec is.
#[derive(Debug, Clone)]
pub(super) enum ProxyTarget {
    /// An endpoint that is there: asked itself or, with a tap, a proxy that already runs in
    /// front of it.
    Address,
    /// A proxy that is started.
    Profile(Arc<ProxyProfile>),
}

/// Whether an arm is to be measured.
pub(super) fn is_asked(spec: &RunSpec, arm: ArmSpec) -> bool {
    spec.tap.arms.is_empty() || spec.tap.arms.contains(&arm)
}

/// What can be said of a run with a tap by its spec alone.
pub(super) fn check(spec: &RunSpec) -> Result<(), PlanError> {
    if spec.tap.upstream.is_none() {
        return Ok(());
    }
    if spec.memory.is_some() {
        return Err(PlanError::new("calls of memories do not pass a tap")
            .with_hint("leave out `--upstream`"));
    }
    Ok(())
}

/// What every `proxy` of the spec is, `None` for other systems.
pub(super) fn targets(spec: &RunSpec) -> Result<Vec<Option<ProxyTarget>>, PlanError> {
    let named = spec
        .systems
        .iter()
        .filter_map(|system| system.proxy.as_deref());
    // Files of the user may be many: they are looked through only for something that is
    // not an address.
    let catalog = match named.clone().all(|proxy| proxy.contains("://")) {
        true => ProxyCatalog::default(),
        false => ProxyCatalog::new(&spec.data.include_path)?,
    };
    let target = |system: &SystemSpec| match &system.proxy {
        Some(proxy) => target(spec, proxy, &catalog).map(Some),
        None => Ok(None),
    };
    let targets: Vec<_> = spec.systems.iter().map(target).collect::<Result<_, _>>()?;
    for (at, (system, target)) in spec.systems.iter().zip(&targets).enumerate() {
        let is_started = matches!(target, Some(ProxyTarget::Profile(_)));
        if !system.args.is_empty() && !is_started {
            return Err(PlanError::new(format!(
                "`systems[{at}]` has `args`, which are for a proxy that is started"
            ))
            .with_hint("`--proxy NAME,args=…` starts one; `context-bench ls proxies` lists them"));
        }
    }
    Ok(targets)
}

fn target(spec: &RunSpec, proxy: &str, catalog: &ProxyCatalog) -> Result<ProxyTarget, PlanError> {
    let shown = Mask::Dots.setting(proxy);
    let found = catalog.find(proxy)?;
    match (found, &spec.tap.upstream) {
        (Some(profile), Some(_)) => Ok(ProxyTarget::Profile(profile)),
        (Some(_), None) => Err(PlanError::new(format!(
            "`--proxy {shown}` starts a proxy, and nothing says where it sends its calls"
        ))
        .with_hint(
            "add `--upstream URL`, the address of the provider, such as https://api.openai.com",
        )),
        (None, _) if !proxy.contains("://") && !looks_like_address(proxy) => {
            let hint = catalog.near(proxy);
            Err(PlanError::new(format!("there is no proxy `{shown}`")).with_hint(hint))
        }
        (None, _) => Ok(ProxyTarget::Address),
    }
}

/// Whether a text without a scheme was meant as an address: what is wrong with it is told
/// where addresses are read.
fn looks_like_address(proxy: &str) -> bool {
    proxy.trim().is_empty() || proxy == "localhost" || proxy.contains([':', '/', '.', '['])
}

/// The systems with the names of their profiles, where the user gave none.
pub(super) fn named(systems: &[SystemSpec], targets: &[Option<ProxyTarget>]) -> Vec<SystemSpec> {
    let named = systems.iter().zip(targets).map(|(system, target)| {
        let mut system = system.clone();
        if let Some(ProxyTarget::Profile(profile)) = target {
            system.name.get_or_insert(profile.proxy.clone());
        }
        system
    });
    named.collect()
}

impl Planner<'_> {
    /// Adds the arms of a proxy in front of the tap.
    pub(super) fn proxy_arms(
        &self,
        built: &mut Systems,
        tap: &Arc<RunTap>,
        system: &SystemSpec,
        target: &ProxyTarget,
        name: &str,
    ) -> Result<(), PlanError> {
        let requests = system.requests_over(&self.spec.requests);
        let is_asked = |arm: &ArmSpec| is_asked(self.spec, *arm);
        match target {
            ProxyTarget::Address => {
                let url = system.proxy.as_deref().unwrap_or_default();
                // One process is one arm: what it does unless it is said to do nothing.
                let arms = [ArmSpec::Transform, ArmSpec::Passthrough];
                if let Some(arm) = arms.into_iter().find(is_asked) {
                    self.running_arm(built, tap, url, name, arm.role(), &requests)?;
                }
            }
            ProxyTarget::Profile(profile) => {
                let arms = [ArmSpec::Passthrough, ArmSpec::Transform];
                for arm in arms.into_iter().filter(is_asked) {
                    self.launched_arm(built, tap, system, profile, name, arm)?;
                }
                self.note_state(built, profile);
            }
        }
        Ok(())
    }

    /// Adds an arm whose proxy is started when it is first asked.
    fn launched_arm(
        &self,
        built: &mut Systems,
        tap: &Arc<RunTap>,
        system: &SystemSpec,
        profile: &Arc<ProxyProfile>,
        name: &str,
        arm: ArmSpec,
    ) -> Result<(), PlanError> {
        let requests = system.requests_over(&self.spec.requests);
        let name = match arm {
            ArmSpec::Passthrough => format!("{name}:{}", arm.as_str()),
            ArmSpec::Direct | ArmSpec::Transform => name.to_owned(),
        };
        let upstream = self.spec.tap.upstream.as_deref().unwrap_or_default();
        let settings = self.endpoint_settings(upstream, &name, &requests)?;
        let launch = LaunchSettings {
            profile: Arc::clone(profile),
            role: arm.role(),
            name,
            model: settings.model.clone(),
            api: match settings.api {
                Api::Openai => ProxyApi::Chat,
                Api::Responses => ProxyApi::Responses,
                Api::Anthropic => ProxyApi::Messages,
            },
            args: system.args.clone(),
            launcher: self.around.launcher.clone(),
            folder: self.kept_folder().map(|store| store.join(FOLDER)),
            secrets: self.key(&requests)?.into_iter().collect(),
        };
        let variable = |name: &str| (self.around.variable)(name);
        let host = LaunchedHost::new(launch, &variable)?;
        let at = built.systems.len();
        let endpoint = Endpoint::of(settings.api, upstream)?;
        built.endpoints.push((endpoint, at..at + 1));
        let proxy = Some(profile.proxy.clone());
        self.arm(built, tap, Arc::new(host), proxy, settings)
    }

    /// Says that repeats share the state of one process, where each cannot have its own.
    fn note_state(&self, built: &mut Systems, profile: &ProxyProfile) {
        let repeats = self.spec.data.repeats.unwrap_or(1);
        if let Some(port) = profile.port.filter(|_| profile.stateful && repeats > 1) {
            let what = format!(
                "`{}` keeps state between calls, and its one process at port {port} answers all \
                 repeats",
                profile.proxy
            );
            let notice = Notice::new(what);
            built.notices.push(notice.with_hint(
                "leave `port` out of its profile, and every repeat has a process of its own",
            ));
        }
    }
}
