//! [`ProxyCheckReport`]: what a check found about a proxy, for people and programs.

use std::fmt::Write as _;

use context_bench_tap::check::{ArmKind, ArmReport, Finding, Property, Verdict};
use serde_json::{Map, Value, json};

use super::difference::{LineKind, ReportLine, difference};
use super::footer::wrapped;
use crate::text::visible::visible_line;

/// How many findings of a defect and an API are told beside the one that is shown.
const TOLD: usize = 5;

/// What a check found about a proxy.
#[derive(Debug, Clone)]
pub struct ProxyCheckReport {
    /// What the proxy is called: its profile, or its address.
    pub proxy: String,
    /// What is known about how it was started, such as its version.
    pub facts: Map<String, Value>,
    /// Its arms.
    pub arms: Vec<ArmReport>,
}

impl ProxyCheckReport {
    /// Whether nothing was found that does not hold.
    pub fn passed(&self) -> bool {
        self.arms.iter().all(ArmReport::passed)
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let arms: Vec<Value> = self
            .arms
            .iter()
            .map(|arm| {
                // Text keys only, so this cannot fail.
                let mut value = serde_json::to_value(arm).unwrap_or_default();
                value["passed"] = arm.passed().into();
                value
            })
            .collect();
        json!({"proxy": self.proxy, "passed": self.passed(), "facts": self.facts, "arms": arms})
    }

    /// The report for a terminal of so many columns.
    pub fn lines(&self, width: usize) -> Vec<ReportLine> {
        let mut lines = Vec::new();
        for arm in &self.arms {
            if !lines.is_empty() {
                lines.push(plain(""));
            }
            self.arm_lines(arm, width, &mut lines);
        }
        lines
    }

    fn title(&self, arm: &ArmReport) -> String {
        let version = self.facts.get("version").and_then(Value::as_str);
        let version = version.map_or(String::new(), |version| format!(" {version}"));
        let name = visible_line(&self.proxy);
        match arm.arm {
            ArmKind::Unknown => format!("proxy {name}{version}"),
            kind => format!("proxy {name}{version}, arm {}", kind.name()),
        }
    }

    fn arm_lines(&self, arm: &ArmReport, width: usize, lines: &mut Vec<ReportLine>) {
        lines.push(ReportLine::new(LineKind::Heading, self.title(arm)));
        let mut tell = |text: String| {
            let text = wrapped(&text, width.saturating_sub(2));
            lines.extend(text.lines().map(|line| plain(format!("  {line}"))));
        };
        for text in arm_facts(arm) {
            tell(text);
        }
        lines.push(plain(""));
        for property in all(arm) {
            let (word, kind) = word(&property.verdict);
            let text = format!("  {:<4} {word:<15} {}", code(property), property.means);
            lines.push(ReportLine::new(kind, text));
            let below = match &property.verdict {
                Verdict::DoesNotHold => places(property),
                Verdict::NotApplicable { why } | Verdict::NotTested { why } => why.clone(),
                Verdict::Holds => continue,
            };
            if !below.is_empty() {
                let below = wrapped(&visible_line(&below), width.saturating_sub(25));
                let below = below.lines().map(str::trim_start);
                lines.extend(below.map(|line| plain(format!("{:23}{line}", ""))));
            }
        }
        lines.push(plain(""));
        lines.push(plain(count(arm)));
        for property in all(arm).filter(|one| !one.findings.is_empty()) {
            lines.push(plain(""));
            let text = format!("{} {}: it does not", code(property), property.means);
            lines.push(ReportLine::new(LineKind::Heading, text.trim_start()));
            for (shown, others) in by_api(property) {
                finding_lines(shown, &others, width, lines);
            }
        }
    }

    /// The report as Markdown.
    pub fn to_markdown(&self) -> String {
        let mut out = String::new();
        for arm in &self.arms {
            let _ = writeln!(out, "## {}\n", escaped(&self.title(arm)));
            for text in arm_facts(arm) {
                let _ = writeln!(out, "- {}", escaped(&text));
            }
            out.push_str(
                "\n| Defect | What holds without it | Holds? | Where |\n|---|---|---|---|\n",
            );
            for property in all(arm) {
                let place = match &property.verdict {
                    Verdict::Holds => String::new(),
                    Verdict::DoesNotHold => places(property),
                    Verdict::NotApplicable { why } | Verdict::NotTested { why } => why.clone(),
                };
                let (word, _) = word(&property.verdict);
                let word = match property.verdict {
                    Verdict::DoesNotHold => "**does not hold**".to_owned(),
                    _ => word.to_owned(),
                };
                let _ = writeln!(
                    out,
                    "| {} | {} | {word} | {} |",
                    code(property),
                    property.means,
                    escaped(&place)
                );
            }
            let _ = writeln!(out, "\n{}", count(arm));
            for property in all(arm).filter(|one| !one.findings.is_empty()) {
                let title = format!("{} {}: it does not", code(property), property.means);
                let _ = writeln!(out, "\n### {}", title.trim_start());
                for (shown, others) in by_api(property) {
                    let _ = writeln!(out, "\n{}\n", escaped(&told(shown)));
                    let evidence = &shown.evidence;
                    let _ = writeln!(out, "````diff");
                    let titles = [
                        (LineKind::Removed, '-', &evidence.before),
                        (LineKind::Added, '+', &evidence.after),
                    ];
                    for (_, sign, side) in titles {
                        let _ = writeln!(out, "{sign}{sign}{sign} {}", side.title);
                    }
                    for line in difference(&evidence.before.text, &evidence.after.text, 120) {
                        let _ = writeln!(out, "{}", visible_line(&line.text));
                    }
                    let _ = writeln!(out, "````");
                    if let Some(more) = also(&others) {
                        let _ = writeln!(out, "\n{}", escaped(&more));
                    }
                }
            }
            out.push('\n');
        }
        out
    }
}

fn plain(text: impl Into<String>) -> ReportLine {
    ReportLine::new(LineKind::Plain, text)
}

/// Every property of an arm, what it is for last.
fn all(arm: &ArmReport) -> impl Iterator<Item = &Property> {
    arm.properties.iter().chain([&arm.purpose])
}

fn code(property: &Property) -> String {
    property
        .defect
        .map(|defect| defect.code())
        .unwrap_or_default()
}

fn word(verdict: &Verdict) -> (&'static str, LineKind) {
    match verdict {
        Verdict::Holds => ("holds", LineKind::Good),
        Verdict::DoesNotHold => ("DOES NOT HOLD", LineKind::Bad),
        Verdict::NotApplicable { .. } => ("not applicable", LineKind::Plain),
        Verdict::NotTested { .. } => ("not tested", LineKind::Plain),
    }
}

fn arm_facts(arm: &ArmReport) -> Vec<String> {
    let mut facts = vec![format!(
        "{} requests became {} calls to the provider; {} of {} compared went out changed",
        arm.requests, arm.upstream_calls, arm.engagement.changed, arm.engagement.compared
    )];
    for api in &arm.apis {
        if let Some(why) = &api.not_offered {
            facts.push(format!("no {}: {why}", api.api.name()));
        }
    }
    facts
}

fn count(arm: &ArmReport) -> String {
    let of = |wanted: fn(&Verdict) -> bool| {
        let verdicts = all(arm).map(|property| &property.verdict);
        verdicts.filter(|verdict| wanted(verdict)).count()
    };
    format!(
        "{} do not hold, {} hold, {} not applicable, {} not tested",
        of(|verdict| *verdict == Verdict::DoesNotHold),
        of(|verdict| *verdict == Verdict::Holds),
        of(|verdict| matches!(verdict, Verdict::NotApplicable { .. })),
        of(|verdict| matches!(verdict, Verdict::NotTested { .. })),
    )
}

/// Where a property does not hold: the probes of each API.
fn places(property: &Property) -> String {
    let mut places: Vec<(&str, Vec<&str>)> = Vec::new();
    for finding in &property.findings {
        let api = finding.api.name();
        match places.iter_mut().find(|(known, _)| *known == api) {
            Some((_, probes)) if probes.contains(&finding.probe) => {}
            Some((_, probes)) => probes.push(finding.probe),
            None => places.push((api, vec![finding.probe])),
        }
    }
    let places = places.into_iter().map(|(api, probes)| {
        let named: Vec<&str> = probes.iter().take(3).copied().collect();
        let more = match probes.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{api}: {}{more}", named.join(", "))
    });
    places.collect::<Vec<_>>().join("; ")
}

/// The first finding of each API, and the others of it.
fn by_api(property: &Property) -> Vec<(&Finding, Vec<&Finding>)> {
    let mut found: Vec<(&Finding, Vec<&Finding>)> = Vec::new();
    for finding in &property.findings {
        match found.iter_mut().find(|(first, _)| first.api == finding.api) {
            Some((_, others)) => others.push(finding),
            None => found.push((finding, Vec::new())),
        }
    }
    found
}

fn told(finding: &Finding) -> String {
    format!(
        "{}, {}: {}",
        finding.api.name(),
        finding.probe,
        finding.what
    )
}

/// What else was found, without the two sides.
fn also(others: &[&Finding]) -> Option<String> {
    if others.is_empty() {
        return None;
    }
    let mut whats: Vec<String> = Vec::new();
    for finding in others {
        let what = format!("{} ({})", finding.what, finding.probe);
        if !whats.contains(&what) {
            whats.push(what);
        }
    }
    let more = match whats.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    whats.truncate(TOLD);
    Some(format!("also: {}{more}", whats.join("; ")))
}

fn finding_lines(
    finding: &Finding,
    others: &[&Finding],
    width: usize,
    lines: &mut Vec<ReportLine>,
) {
    let mut tell = |text: &str| {
        let text = wrapped(&visible_line(text), width.saturating_sub(4));
        lines.extend(text.lines().map(|line| plain(format!("  {line}"))));
    };
    tell(&told(finding));
    if let Some(more) = also(others) {
        tell(&more);
    }
    let evidence = &finding.evidence;
    let sides = [
        (LineKind::Removed, "---", evidence.before.title),
        (LineKind::Added, "+++", evidence.after.title),
    ];
    lines.extend(
        sides.map(|(kind, sign, title)| ReportLine::new(kind, format!("    {sign} {title}"))),
    );
    let shown = difference(
        &evidence.before.text,
        &evidence.after.text,
        width.saturating_sub(4),
    );
    lines.extend(shown.into_iter().map(|line| {
        let text = format!("    {}", visible_line(&line.text));
        ReportLine::new(line.kind, text)
    }));
}

/// A text as it may stand in a line or a cell of Markdown.
fn escaped(text: &str) -> String {
    let text = visible_line(text);
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
}
