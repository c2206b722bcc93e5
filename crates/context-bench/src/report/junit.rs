//! JUnit XML, as servers for continuous integration read it: a test case for each gate, and one for
//! each benchmark and system with the rows that failed.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::{Reporter, gates};
use crate::gate::GateStatus;
use crate::model::EvalRow;
use crate::result::EvalResult;
use crate::text::visible::visible;

/// Failed rows that a test case describes; all are counted.
const DESCRIBED: usize = 50;

/// Results as JUnit XML.
#[derive(Debug, Clone, Copy, Default)]
pub struct JunitReport;

/// One `testcase`.
struct TestCase {
    class: String,
    name: String,
    seconds: f64,
    /// The message of the failure, and its text.
    failure: Option<(String, String)>,
}

impl JunitReport {
    /// The report as text.
    pub fn render(&self, result: &EvalResult) -> String {
        let suites = [
            ("gates", gate_cases(result)),
            ("benchmarks", benchmark_cases(result)),
        ];
        let failed = |cases: &[TestCase]| cases.iter().filter(|one| one.failure.is_some()).count();
        let all: usize = suites.iter().map(|(_, cases)| cases.len()).sum();
        let all_failed: usize = suites.iter().map(|(_, cases)| failed(cases)).sum();
        let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "<testsuites name=\"context-bench\" tests=\"{all}\" failures=\"{all_failed}\">"
        );
        for (name, cases) in suites.iter().filter(|(_, cases)| !cases.is_empty()) {
            let seconds: f64 = cases.iter().map(|one| one.seconds).sum();
            let _ = writeln!(
                out,
                "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"0\" \
                 skipped=\"0\" time=\"{seconds:.3}\">",
                cases.len(),
                failed(cases),
            );
            for case in cases {
                case.write(&mut out);
            }
            out += "  </testsuite>\n";
        }
        out += "</testsuites>\n";
        out
    }
}

impl TestCase {
    fn write(&self, out: &mut String) {
        let _ = write!(
            out,
            "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
            escaped(&self.class),
            escaped(&self.name),
            self.seconds
        );
        match &self.failure {
            None => *out += "/>\n",
            Some((message, text)) => {
                let (message, text) = (escaped(message), escaped(text));
                let _ = writeln!(
                    out,
                    ">\n      <failure message=\"{message}\">{text}</failure>\n    </testcase>"
                );
            }
        }
    }
}

impl Reporter for JunitReport {
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.render(result).as_bytes())
    }
}

fn gate_cases(result: &EvalResult) -> Vec<TestCase> {
    let case = |gate: &crate::gate::CheckedGate| {
        let mut name = gate.rule.clone();
        if let Some(benchmark) = &gate.benchmark
            && gate.rule.contains('*')
        {
            name += &format!(" [{benchmark}]");
        }
        let failure = (gate.status != GateStatus::Passed).then(|| {
            let place = gate.place.as_ref().map(|place| format!("at {place}"));
            let turned = gate.flips.iter().flat_map(gates::turned);
            let turned = turned.chain(gates::unmatched(gate));
            let details: Vec<String> = place.into_iter().chain(turned).collect();
            (gates::described(gate), details.join("\n"))
        });
        TestCase {
            class: format!("gates.{}", gate.system),
            name,
            seconds: 0.0,
            failure,
        }
    };
    result.gates.iter().map(case).collect()
}

fn benchmark_cases(result: &EvalResult) -> Vec<TestCase> {
    let mut cases = Vec::new();
    for system in result.summary.keys() {
        let mut by_tag: indexmap::IndexMap<&str, Vec<&EvalRow>> = indexmap::IndexMap::new();
        for row in result.rows_of(system) {
            by_tag.entry(&row.dataset).or_default().push(row);
        }
        let not_begun = result.counts.get(system).map_or(0, |one| one.not_run());
        for (tag, rows) in &by_tag {
            let name = if tag.is_empty() { "unknown" } else { tag };
            cases.push(TestCase {
                class: format!("benchmarks.{name}"),
                name: system.clone(),
                seconds: rows.iter().map(|row| row.latency).sum(),
                failure: failed_rows(rows),
            });
        }
        if not_begun > 0 || by_tag.is_empty() {
            cases.push(TestCase {
                class: "benchmarks".into(),
                name: system.clone(),
                seconds: 0.0,
                failure: Some((format!("{not_begun} rows were not begun"), String::new())),
            });
        }
    }
    cases
}

/// How many rows have no complete score, and why.
fn failed_rows(rows: &[&EvalRow]) -> Option<(String, String)> {
    let failed: Vec<&&EvalRow> = rows.iter().filter(|row| row.has_error()).collect();
    if failed.is_empty() {
        return None;
    }
    let why = |row: &EvalRow| match row.failure.as_deref() {
        Some(failure) => failure.message.clone(),
        None => {
            let reasons = row.scores.unscored();
            let reasons = reasons.map(|(name, reason)| format!("{name}: {reason}"));
            reasons.collect::<Vec<_>>().join("; ")
        }
    };
    let lines = failed.iter().take(DESCRIBED);
    let mut lines: Vec<String> = lines
        .map(|row| format!("{}: {}", row.example_id, why(row)))
        .collect();
    if let Some(more) = failed.len().checked_sub(DESCRIBED).filter(|more| *more > 0) {
        lines.push(format!("and {more} more"));
    }
    let message = format!("{} of {} rows failed", failed.len(), rows.len());
    Some((message, lines.join("\n")))
}

/// A text in XML. Characters that XML cannot hold, not even as references, are made visible.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&apos;",
            // In attributes a reader would make spaces of them.
            '\n' => out += "&#10;",
            '\t' => out += "&#9;",
            '\r' => out += "&#13;",
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
