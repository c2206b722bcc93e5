//! What was seen, judged: which defects a proxy has, where, and what could not be told.

use std::collections::BTreeSet;
use std::time::Duration;

use super::client::ReplyEnd;
use super::evidence;
use super::exchange_changes::{Found, changes};
use super::probe::{Act, PROBES};
use super::report::{ApiReport, ArmKind, ArmReport, DEFECTS, Finding, Property, Verdict, meaning};
use super::run::{Course, Exchange, Seen};
use super::upstream::{CallEnd, UpstreamCall};
use super::{ProxyApi, ProxyCheckSettings};
use crate::figures::{ArmEngagement, Defect, Engagement, canonical_json};
use crate::record::Purpose;

/// What one probe says.
struct Outcome<'a> {
    seen: &'a Seen,
    judged: BTreeSet<Defect>,
    found: Vec<Found>,
    /// Why it says nothing, or less than it should.
    untested: Option<String>,
    engagement: Vec<Engagement>,
}

/// Judges everything that was seen.
pub(super) fn judge(settings: &ProxyCheckSettings, course: &Course) -> ArmReport {
    let canaries: BTreeSet<&str> = course
        .seen
        .iter()
        .flat_map(|seen| &seen.exchanges)
        .map(|exchange| exchange.canary.as_str())
        .collect();
    let outcomes: Vec<Outcome<'_>> = course
        .seen
        .iter()
        .map(|seen| outcome(settings, seen, &canaries))
        .collect();
    let engagement = ArmEngagement::of(
        outcomes
            .iter()
            .flat_map(|outcome| outcome.engagement.iter().copied()),
    );
    let properties = DEFECTS.map(|defect| property(defect, &outcomes, course));
    let exchanges = || course.seen.iter().flat_map(|seen| &seen.exchanges);
    let calls = exchanges().flat_map(|exchange| &exchange.calls);
    ArmReport {
        arm: settings.arm,
        requests: exchanges().count() + course.not_offered.len(),
        upstream_calls: calls.filter(|call| call.asks()).count(),
        apis: settings
            .apis
            .iter()
            .map(|api| api_report(*api, course))
            .collect(),
        purpose: purpose(settings.arm, engagement, &outcomes),
        engagement,
        properties: properties.into(),
    }
}

fn api_report(api: ProxyApi, course: &Course) -> ApiReport {
    let mut missing = course.not_offered.iter();
    let why = missing.find(|(known, _)| *known == api);
    ApiReport {
        api,
        not_offered: why.map(|(_, why)| why.clone()),
    }
}

fn property(defect: Defect, outcomes: &[Outcome<'_>], course: &Course) -> Property {
    let judged = outcomes
        .iter()
        .filter(|outcome| outcome.judged.contains(&defect));
    let judged = judged.count();
    let mut findings = Vec::new();
    for outcome in outcomes {
        let found = outcome.found.iter();
        let found = found.filter(|found| found.defect == defect && !found.is_engagement);
        findings.extend(found.map(|found| Finding {
            api: outcome.seen.api,
            probe: outcome.seen.probe.name,
            what: found.what.clone(),
            evidence: found.evidence.clone(),
        }));
    }
    let is_meant = |outcome: &&Outcome<'_>| outcome.seen.probe.judges.contains(&defect);
    let untested: Vec<String> = outcomes
        .iter()
        .filter(is_meant)
        .filter_map(|outcome| {
            let why = outcome.untested.as_ref()?;
            Some(format!(
                "{}, {}: {why}",
                outcome.seen.api.name(),
                outcome.seen.probe.name
            ))
        })
        .collect();
    let verdict = if !findings.is_empty() {
        Verdict::DoesNotHold
    } else if judged > 0 {
        Verdict::Holds
    } else if let Some(first) = untested.first() {
        Verdict::NotTested { why: first.clone() }
    } else {
        let probes = || PROBES.iter().filter(|probe| probe.judges.contains(&defect));
        let missing: Vec<&str> = course
            .not_offered
            .iter()
            .filter(|(api, _)| probes().any(|probe| probe.apis.contains(api)))
            .map(|(_, why)| why.as_str())
            .collect();
        let why = match missing.is_empty() {
            true => "no API that was asked has a form for it".to_owned(),
            false => missing.join("; "),
        };
        Verdict::NotApplicable { why }
    };
    Property {
        defect: Some(defect),
        means: meaning(defect),
        verdict,
        judged,
        findings,
        untested,
    }
}

/// Whether an arm does what it is for.
fn purpose(arm: ArmKind, engagement: ArmEngagement, outcomes: &[Outcome<'_>]) -> Property {
    let mut findings = Vec::new();
    if arm == ArmKind::Passthrough {
        for outcome in outcomes {
            let changed = outcome.found.iter().filter(|found| found.is_engagement);
            findings.extend(changed.map(|found| Finding {
                api: outcome.seen.api,
                probe: outcome.seen.probe.name,
                what: found.what.clone(),
                evidence: found.evidence.clone(),
            }));
        }
    }
    let (means, verdict) = match arm {
        ArmKind::Passthrough => (
            "a pass-through changes no request",
            match (engagement.compared, engagement.is_transparent()) {
                (0, _) => untold("no request reached the provider"),
                (_, true) => Verdict::Holds,
                (_, false) => Verdict::DoesNotHold,
            },
        ),
        ArmKind::Transform => (
            "a transform changes requests",
            match (engagement.compared, engagement.is_not_engaged()) {
                (0, _) => untold("no request reached the provider"),
                (_, false) => Verdict::Holds,
                (_, true) => Verdict::DoesNotHold,
            },
        ),
        ArmKind::Unknown => (
            "the arm does what it is for",
            Verdict::NotApplicable {
                why: "nobody said what it is for".to_owned(),
            },
        ),
    };
    Property {
        defect: None,
        means,
        verdict,
        judged: engagement.compared as usize,
        findings,
        untested: Vec::new(),
    }
}

fn untold(why: &str) -> Verdict {
    Verdict::NotTested {
        why: why.to_owned(),
    }
}

fn outcome<'a>(
    settings: &ProxyCheckSettings,
    seen: &'a Seen,
    canaries: &BTreeSet<&str>,
) -> Outcome<'a> {
    let mut outcome = Outcome {
        seen,
        judged: BTreeSet::new(),
        found: Vec::new(),
        untested: None,
        engagement: Vec::new(),
    };
    let is_group = matches!(seen.probe.act, Act::Together(_));
    for (at, exchange) in seen.exchanges.iter().enumerate() {
        let asked = exchange.calls.iter().any(UpstreamCall::asks);
        if !asked && !is_group {
            match exchange.reply.is_success() {
                true => {
                    outcome.judged.insert(Defect::LocalAnswer);
                    outcome.found.push(local_answer(&seen.exchanges, at));
                }
                false => outcome.untested = Some(own_error(exchange)),
            }
            continue;
        }
        if !asked && !exchange.reply.is_success() {
            outcome.untested = Some(own_error(exchange));
            continue;
        }
        if !is_group {
            outcome.found.extend(retries(exchange));
        }
        outcome.found.extend(cross_talk(exchange, canaries));
        match seen.probe.act {
            Act::HangUpAtOutput | Act::HangUpWaiting => {
                outcome
                    .found
                    .extend(not_cancelled(exchange, seen.hang_up_within));
            }
            Act::Once | Act::Twice | Act::Together(_) => {}
        }
        let changes = changes(seen, exchange, settings);
        outcome.judged.extend(&changes.judged);
        match changes.is_unreadable {
            true => outcome.untested = Some("the answer cannot be read".to_owned()),
            false => outcome.judged.extend(seen.probe.judges),
        }
        outcome.engagement.extend(changes.engagement);
        outcome.found.extend(changes.found);
    }
    // One of a kind says enough: a conversation of several turns shows the same again.
    let mut known = BTreeSet::new();
    outcome
        .found
        .retain(|found| known.insert((found.defect, found.is_engagement, found.what.clone())));
    outcome
}

/// What the proxy said by itself instead of asking.
fn own_error(exchange: &Exchange) -> String {
    let reply = &exchange.reply;
    match (&reply.end, reply.status) {
        (_, Some(status)) => {
            let content = reply.content().unwrap_or_default();
            let text = String::from_utf8_lossy(&content);
            let text: String = text.chars().take(160).collect();
            format!("the proxy answered {status} by itself: {}", text.trim())
        }
        (ReplyEnd::Unreachable(reason), _) => format!("the proxy cannot be reached: {reason}"),
        (ReplyEnd::Broken(reason), _) => format!("the proxy did not answer: {reason}"),
        (ReplyEnd::TimedOut, _) => "the proxy did not answer in time".to_owned(),
        _ => "nothing reached the provider".to_owned(),
    }
}

fn local_answer(exchanges: &[Exchange], at: usize) -> Found {
    let ask = |number: usize| format!("request {number}: the client asks");
    let said = |number: usize| format!("request {number}: the provider answers");
    let local =
        |number: usize| format!("request {number}: the proxy answers, the provider is not asked");
    let numbers = || 1..=exchanges.len();
    let before: Vec<String> = numbers()
        .flat_map(|number| [ask(number), said(number)])
        .collect();
    let answered = |number: usize| {
        let exchange = &exchanges[number - 1];
        match exchange.calls.iter().any(UpstreamCall::asks) {
            true => said(number),
            false => local(number),
        }
    };
    let after: Vec<String> = numbers()
        .flat_map(|number| [ask(number), answered(number)])
        .collect();
    let what = match at {
        0 => "the answer is the proxy's own".to_owned(),
        _ => "the same request again got an answer of the proxy's own".to_owned(),
    };
    Found::new(Defect::LocalAnswer, what, evidence::course(&before, &after))
}

/// Calls beyond the first that ask the same, or come after one that failed.
fn retries(exchange: &Exchange) -> Option<Found> {
    let asks: Vec<&UpstreamCall> = exchange.calls.iter().filter(|call| call.asks()).collect();
    let first = asks.first()?;
    let canonical = |call: &UpstreamCall| canonical_json(&call.body).ok();
    let again = asks.iter().enumerate().skip(1).filter(|(at, call)| {
        let earlier = &asks[..*at];
        earlier
            .iter()
            .any(|one| one.has_failed() || canonical(one) == canonical(call))
    });
    let again = again.count();
    let tunnels = exchange.calls.iter();
    let tunnels = tunnels.filter(|call| call.purpose == Purpose::TlsAttempt);
    let tunnels = tunnels.count();
    if again + tunnels == 0 {
        return None;
    }
    let line = |call: &UpstreamCall| match call.purpose {
        Purpose::TlsAttempt => format!("the proxy asks {} over TLS", call.target),
        _ => match (call.end, call.status) {
            (CallEnd::BrokenOff, _) => "the provider breaks off".to_owned(),
            (_, 0) => "the provider is silent".to_owned(),
            (_, status) => format!("the provider answers {status}"),
        },
    };
    let ask = "the client asks".to_owned();
    let before = vec![ask.clone(), line(first)];
    let mut after = vec![ask];
    for call in &exchange.calls {
        let later = Duration::from_nanos(call.arrived.saturating_sub(first.arrived));
        after.push(match later.is_zero() {
            true => line(call),
            false => format!("{} ({:.1} s later)", line(call), later.as_secs_f64()),
        });
    }
    let what = match tunnels {
        0 => format!("1 request became {} calls", asks.len()),
        _ => format!(
            "1 request became {} calls and {tunnels} over TLS",
            asks.len()
        ),
    };
    Some(Found::new(
        Defect::HiddenRetry,
        what,
        evidence::course(&before, &after),
    ))
}

/// Words of other conversations in what this one sent, or in its answer.
fn cross_talk(exchange: &Exchange, canaries: &BTreeSet<&str>) -> Vec<Found> {
    let others = |text: &[u8]| -> Vec<String> {
        let others = canaries.iter().filter(|word| **word != exchange.canary);
        others
            .filter(|word| memchr::memmem::find(text, word.as_bytes()).is_some())
            .map(|word| (*word).to_owned())
            .collect()
    };
    let mut found = Vec::new();
    let mut wrong = |what: &str, words: Vec<String>, text: &[u8]| {
        let before = vec![format!("conversation about {}", exchange.canary)];
        let mut after = before.clone();
        after.extend(words.iter().map(|word| {
            format!(
                "text of the conversation about {word}: {}",
                around(text, word)
            )
        }));
        found.push(Found::new(
            Defect::CrossTalk,
            what.to_owned(),
            evidence::course(&before, &after),
        ));
    };
    for call in exchange.calls.iter().filter(|call| call.asks()) {
        let words = others(&call.body);
        if !words.is_empty() {
            wrong("text of another conversation went out", words, &call.body);
        }
    }
    let content = exchange.reply.content().unwrap_or_default();
    let words = others(&content);
    if !words.is_empty() {
        wrong("the answer is to another conversation", words, &content);
    }
    found
}

/// Some text on both sides of a word.
fn around(text: &[u8], word: &str) -> String {
    let Some(at) = memchr::memmem::find(text, word.as_bytes()) else {
        return String::new();
    };
    let start = at.saturating_sub(60);
    let end = (at + word.len() + 60).min(text.len());
    String::from_utf8_lossy(&text[start..end]).into_owned()
}

/// Calls that went on after the client had hung up.
fn not_cancelled(exchange: &Exchange, within: Duration) -> Option<Found> {
    let hung_up = exchange.reply.ended_at;
    let within_ns = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
    let asks = exchange.calls.iter().filter(|call| call.asks());
    let late: Vec<Option<u64>> = asks
        .filter(|call| call.end != CallEnd::Complete && call.end != CallEnd::BrokenOff)
        .map(|call| call.ended.map(|ended| ended.saturating_sub(hung_up)))
        .filter(|after| after.is_none_or(|after| after > within_ns))
        .collect();
    let slowest = late.first()?;
    let before = vec![
        "the provider begins to answer".to_owned(),
        "the client hangs up".to_owned(),
        format!("the proxy hangs up within {:.1} s", within.as_secs_f64()),
    ];
    let last = match slowest {
        Some(after) => format!(
            "the proxy hangs up {:.1} s later",
            Duration::from_nanos(*after).as_secs_f64()
        ),
        None => "the proxy does not hang up as long as it is watched".to_owned(),
    };
    let mut after = before.clone();
    after[2] = last.clone();
    let what = format!("after the client hung up: {last}");
    Some(Found::new(
        Defect::Cancellation,
        what,
        evidence::course(&before, &after),
    ))
}
