//! `check-proxy`: what a proxy does beside its work.

use std::sync::Arc;
use std::time::Duration;

use context_bench::mask::Mask;
use context_bench::proxy::{LaunchSettings, LaunchedHost, ProxyCatalog, ProxyProfile};
use context_bench::report::ProxyCheckReport;
use context_bench::tap::{
    ArmAddress, ArmHost as _, ArmKind, ArmReport, OnProbe, ProbeProgress, ProxyApi,
    ProxyCheckSettings, Verdict, check_address, check_arm,
};
use context_bench_error::Hint;
use serde_json::Map;

use super::run::runtime;
use crate::check_proxy_args::{Arm, CheckFormat, CheckProxyArgs};
use crate::env;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Sink};
use crate::proxy_args;

pub(crate) fn main(args: &CheckProxyArgs) -> Result<Exit, Failure> {
    let settings = settings(args);
    let sink = Sink::open(args.output_file.as_deref())?;
    let runtime = runtime()?;
    let checked = runtime.block_on(async {
        tokio::select! {
            checked = check(args, &settings) => checked.map(Some),
            _ = tokio::signal::ctrl_c() => Ok(None),
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    let Some(report) = checked? else {
        return Ok(Exit::Interrupted);
    };
    show(args, &report, sink)?;
    if let Some(why) = report.arms.iter().find_map(nothing_told) {
        return Err(Failure::bad_input(format!(
            "nothing could be tested: {why}"
        )));
    }
    Ok(match report.passed() {
        true => Exit::Done,
        false => Exit::ThresholdMissed,
    })
}

fn settings(args: &CheckProxyArgs) -> ProxyCheckSettings {
    let mut settings = ProxyCheckSettings {
        arm: args.arm.map_or(ArmKind::Unknown, |arm| arm.kind()),
        seed: args.seed,
        patience: Duration::from_secs_f64(args.patience),
        hang_up_within: Duration::from_secs_f64(args.hang_up_within),
        ..ProxyCheckSettings::default()
    };
    // Who waits longer for a piece waits longer for the whole.
    settings.timeout = settings.timeout.max(settings.patience * 4);
    if let Some(listen) = args.listen {
        settings.listen = listen;
    }
    if !args.api.is_empty() {
        settings.apis = ProxyApi::ALL
            .into_iter()
            .filter(|api| args.api.iter().any(|asked| asked.api() == *api))
            .collect();
    }
    for typed in &args.model {
        let named = typed.split_once('=').and_then(|(api, model)| {
            let api = ProxyApi::ALL
                .into_iter()
                .find(|known| known.name() == api)?;
            Some((api, model))
        });
        match named {
            Some((api, model)) => {
                settings.models.insert(api, model.to_owned());
            }
            None => {
                for api in ProxyApi::ALL {
                    settings.models.entry(api).or_insert_with(|| typed.clone());
                }
            }
        }
    }
    settings
}

async fn check(
    args: &CheckProxyArgs,
    settings: &ProxyCheckSettings,
) -> Result<ProxyCheckReport, Failure> {
    let catalog = ProxyCatalog::new(&[])?;
    match catalog.find(&args.proxy)? {
        Some(profile) => check_profile(args, settings, &profile).await,
        None if args.proxy.contains("://") => check_running(args, settings).await,
        None => {
            let what = format!("there is no profile `{}`", args.proxy);
            let near = catalog.near(&args.proxy);
            Err(Failure::bad_input(what)
                .hint(format!("{near}; one that already runs is http://HOST:PORT")))
        }
    }
}

/// Starts a proxy for each arm.
async fn check_profile(
    args: &CheckProxyArgs,
    settings: &ProxyCheckSettings,
    profile: &Arc<ProxyProfile>,
) -> Result<ProxyCheckReport, Failure> {
    let only_running = [
        ("--listen", args.listen.is_some()),
        ("--header", !args.header.is_empty()),
    ];
    if let Some((flag, _)) = only_running.iter().find(|(_, is_given)| *is_given) {
        let what = format!("`{flag}` is for a proxy that already runs");
        return Err(Failure::bad_input(what)
            .hint("what a proxy with a profile is given stands in its profile"));
    }
    let mut report = ProxyCheckReport {
        proxy: profile.proxy.clone(),
        facts: Map::new(),
        arms: Vec::new(),
    };
    let asked = args.api.first().map_or(ProxyApi::Chat, |asked| asked.api());
    for arm in args
        .arm
        .map_or(vec![Arm::Passthrough, Arm::Transform], |arm| vec![arm])
    {
        let launch = LaunchSettings {
            profile: Arc::clone(profile),
            role: arm.role(),
            name: profile.proxy.clone(),
            model: asked.default_model().to_owned(),
            api: asked,
            args: Vec::new(),
            launcher: None,
            folder: None,
            secrets: Vec::new(),
        };
        let host =
            LaunchedHost::new(launch, &|name| env::get(name)).map_err(|error| failure(&error))?;
        if !args.quiet {
            output::note(&format!(
                "starting {}, arm {}",
                profile.proxy,
                arm.kind().name()
            ));
        }
        let mut settings = ProxyCheckSettings {
            arm: arm.kind(),
            ..settings.clone()
        };
        if args.api.is_empty() {
            settings.apis.retain(|api| is_pointed_at_tap(profile, *api));
        }
        let checked = check_arm(&host, settings, progress(args.quiet)).await;
        report.arms.push(checked.map_err(|error| failure(&error))?);
        report.facts = host.facts();
    }
    Ok(report)
}

/// Whether what a proxy is asked in an API comes to the scripted provider. A router sends Gemini's
/// calls to wherever a model with that name is, unless its profile says otherwise.
fn is_pointed_at_tap(profile: &ProxyProfile, api: ProxyApi) -> bool {
    api != ProxyApi::Gemini || profile.upstream.gemini.is_some()
}

async fn check_running(
    args: &CheckProxyArgs,
    settings: &ProxyCheckSettings,
) -> Result<ProxyCheckReport, Failure> {
    if args.listen.is_none() {
        return Err(Failure::bad_input(
            "`--listen` is missing: a proxy that already runs has to have its address as its \
             provider",
        )
        .hint("for example `--listen 127.0.0.1:9000`, and start the proxy with that address"));
    }
    let mut address = ArmAddress::new(args.proxy.clone());
    address.headers = proxy_args::headers(&args.header)?.unwrap_or_default();
    output::hide(address.headers.values().cloned());
    let arm = check_address(&address, settings.clone(), progress(args.quiet)).await;
    Ok(ProxyCheckReport {
        proxy: Mask::Dots.text(&shown(&args.proxy)),
        facts: Map::new(),
        arms: vec![arm.map_err(|error| failure(&error))?],
    })
}

/// An address without the user that it may have.
fn shown(address: &str) -> String {
    match (address.find("://"), address.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => {
            format!("{}{}", &address[..scheme + 3], &address[at + 1..])
        }
        _ => address.to_owned(),
    }
}

fn failure(error: &(impl std::error::Error + Hint)) -> Failure {
    let failure = Failure::bad_input(error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn progress(quiet: bool) -> OnProbe {
    Arc::new(move |at: ProbeProgress| {
        if !quiet {
            output::note(&format!(
                "{} of {}: {}, {}",
                at.done + 1,
                at.planned,
                at.api.name(),
                at.probe
            ));
        }
    })
}

/// Why nothing is known about an arm, if nothing is.
fn nothing_told(arm: &ArmReport) -> Option<String> {
    let is_told = |verdict: &Verdict| matches!(verdict, Verdict::Holds | Verdict::DoesNotHold);
    if arm
        .properties
        .iter()
        .any(|property| is_told(&property.verdict))
    {
        return None;
    }
    let mut verdicts = arm.properties.iter().map(|property| &property.verdict);
    let why = verdicts.find_map(|verdict| match verdict {
        Verdict::NotTested { why } | Verdict::NotApplicable { why } => Some(why.clone()),
        _ => None,
    });
    Some(why.unwrap_or_default())
}

fn show(args: &CheckProxyArgs, report: &ProxyCheckReport, sink: Sink) -> Result<(), Failure> {
    let text = match (args.output, &args.output_file) {
        (CheckFormat::Table, None) => return output::lines(&report.lines(output::width().into())),
        (CheckFormat::Json, None) => return output::json(&report.to_json()),
        (CheckFormat::Markdown, None) => return output::stdout(&report.to_markdown()),
        (CheckFormat::Table, Some(_)) => {
            let lines = report.lines(100).into_iter();
            lines.map(|line| line.text + "\n").collect()
        }
        (CheckFormat::Json, Some(_)) => format!("{:#}\n", report.to_json()),
        (CheckFormat::Markdown, Some(_)) => report.to_markdown(),
    };
    sink.write(|out| out.write_all(text.as_bytes()))
        .map_err(|error| Failure::bad_input(format!("cannot write the report: {error}")))
}
