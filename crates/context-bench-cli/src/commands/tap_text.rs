//! What `tap` prints: where it listens, a line for each call, the summary.

use std::fmt::Write as _;
use std::net::SocketAddr;

use context_bench_tap::record::{CallRecord, CallTotals, EndState};
use serde_json::{Value, json};

use super::tap::Totals;

/// Where the tap listens and how a client is pointed at it.
pub(super) fn greeting(
    address: SocketAddr,
    upstream: &str,
    arms: &[String],
    log: Option<&str>,
) -> String {
    let base = format!("http://{address}");
    let mut text = format!("listening on {base}, calls go to {upstream}\n");
    let pointed =
        |base: &str| format!("  OPENAI_BASE_URL={base}/v1\n  ANTHROPIC_BASE_URL={base}\n");
    match arms {
        [] => {
            text += "point a client at it, or a proxy as its upstream:\n";
            text += &pointed(&base);
        }
        arms => {
            for arm in arms {
                let _ = writeln!(text, "{arm}:");
                text += &pointed(&format!("{base}/a/{arm}"));
            }
        }
    }
    if let Some(log) = log {
        let _ = writeln!(text, "log: {log}");
    }
    text += "Ctrl-C ends it after the calls in flight\n";
    text
}

/// One call as one line, without its texts.
pub(super) fn line(call: &CallRecord) -> String {
    let time = &call.timeline;
    let end = time.last_byte.or(time.response_head);
    let took = end.map(|end| end.saturating_sub(time.accepted));
    let took = took.map_or_else(String::new, |ns| format!("  {} ms", ns / 1_000_000));
    let arm = call
        .arm
        .as_ref()
        .map_or_else(String::new, |arm| format!("{arm}  "));
    let status = call
        .status()
        .map_or_else(|| "no answer".to_owned(), |status| status.to_string());
    let ended = match call.end {
        EndState::Complete | EndState::BadStatus => String::new(),
        end => format!("  {}", word(&json!(end))),
    };
    let sent = call.request.body.bytes;
    let received = call
        .response
        .as_ref()
        .map_or(0, |response| response.body.bytes);
    let usage = call.answered.as_ref().and_then(|said| said.usage.as_ref());
    let tokens = usage.map(|usage| format!("  {} + {} tokens", usage.input(), usage.output));
    let tokens = tokens.unwrap_or_default();
    let problem = call
        .problem
        .as_ref()
        .map_or_else(String::new, |why| format!("  ({why})"));
    format!(
        "#{}  {arm}{} {}  {status}{ended}{took}  {sent} -> {received} bytes{tokens}{problem}",
        call.id, call.request.method, call.request.path
    )
}

/// What passed, all together and for each arm.
pub(super) fn summary(totals: &Totals) -> String {
    let mut text = block(&totals.all);
    let has_arms = totals.by_arm.keys().any(Option::is_some);
    for (arm, totals) in totals.by_arm.iter().filter(|_| has_arms) {
        let name = match arm {
            Some(arm) => format!("arm {arm}"),
            None => "without an arm".to_owned(),
        };
        let _ = write!(text, "\n{name}\n{}", block(totals));
    }
    text
}

fn block(totals: &CallTotals) -> String {
    let list = |parts: Vec<String>| match parts.is_empty() {
        true => "none".to_owned(),
        false => parts.join(", "),
    };
    let purposes = totals.purposes.iter();
    let purposes = purposes.map(|(purpose, n)| format!("{n} {}", word(&json!(purpose))));
    let statuses = totals
        .statuses
        .iter()
        .map(|(status, n)| format!("{n} x {status}"));
    let unanswered =
        (totals.unanswered > 0).then(|| format!("{} without an answer", totals.unanswered));
    let ends = totals
        .ends
        .iter()
        .map(|(end, n)| format!("{n} {}", word(&json!(end))));
    let tokens = &totals.tokens;
    let mut counted = match tokens.counted_calls {
        0 => "none reported".to_owned(),
        _ => format!("{} in, {} out", tokens.input(), tokens.output),
    };
    if tokens.cache_read + tokens.cache_write > 0 {
        let _ = write!(
            counted,
            " (of the input, {} read from a cache and {} written to one)",
            tokens.cache_read, tokens.cache_write
        );
    }
    if tokens.unknown_calls > 0 {
        let plural = if tokens.unknown_calls == 1 { "" } else { "s" };
        let _ = write!(
            counted,
            "; unknown for {} call{plural}",
            tokens.unknown_calls
        );
    }
    let calls = match totals.calls {
        0 => "0".to_owned(),
        n => format!("{n}: {}", list(purposes.collect())),
    };
    format!(
        "calls     {calls}\n\
         statuses  {}\n\
         ends      {}\n\
         bytes     {} sent, {} received\n\
         tokens    {counted}\n",
        list(statuses.chain(unanswered).collect()),
        list(ends.collect()),
        totals.request_bytes,
        totals.response_bytes,
    )
}

/// The name of a kind as files have it, with spaces.
fn word(kind: &Value) -> String {
    kind.as_str().unwrap_or_default().replace('_', " ")
}
