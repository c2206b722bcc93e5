//! What a proxy did to an answer, as a list of defects.

use super::defect::{Change, Defect};
use crate::http1::{Headers, contains_ignoring_case};
use crate::wire::{WireError, WireReply};

/// An answer on one side of a proxy.
#[derive(Debug, Clone, Copy)]
pub struct Delivered<'a> {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: &'a Headers,
    /// What it says.
    pub reply: &'a WireReply,
}

/// Headers that clients act on, or report.
const KEPT: [&str; 4] = [
    "x-request-id",
    "request-id",
    "retry-after",
    "x-should-retry",
];

/// Every change between what the provider sent and what the client got. `asked_usage` says
/// whether the client asked for the usage: without that a proxy may leave it out of a stream.
pub fn reply_changes(sent: &Delivered<'_>, got: &Delivered<'_>, asked_usage: bool) -> Vec<Change> {
    let mut changes = Vec::new();
    if sent.status != got.status {
        let what = format!("status {} became {}", sent.status, got.status);
        changes.push(Change::new(Defect::ErrorShape, what));
    }
    // What passed as it was is read once.
    if !std::ptr::eq(sent.reply, got.reply) {
        said_changes(sent.reply, got.reply, asked_usage, &mut changes);
    }
    for header in sent.headers.iter() {
        let is_limit = || contains_ignoring_case(header.name, "ratelimit");
        let counts = KEPT.iter().any(|kept| header.is(kept)) || is_limit();
        if counts && got.headers.get(header.name).is_none() {
            let defect = match header.is("retry-after") {
                true => Defect::ErrorShape,
                false => Defect::Headers,
            };
            let name = header.name.to_ascii_lowercase();
            changes.push(Change::new(defect, format!("the header `{name}` was lost")));
        }
    }
    changes.sort_by_key(|change| change.defect);
    changes
}

/// Every change between what two answers say.
fn said_changes(sent: &WireReply, got: &WireReply, asked_usage: bool, changes: &mut Vec<Change>) {
    let mut add = |defect, what: String| changes.push(Change::new(defect, what));
    if sent.is_ended && !got.is_ended {
        add(
            Defect::StreamProtocol,
            "the end of the stream was lost".to_owned(),
        );
    }
    let disorder = got.disorder.iter();
    for what in disorder.filter(|what| !sent.disorder.contains(what)) {
        add(Defect::StreamProtocol, what.clone());
    }
    for what in error_changes(sent.error.as_ref(), got.error.as_ref()) {
        add(Defect::ErrorShape, what);
    }
    for what in answer_changes(sent, got) {
        add(Defect::AnswerText, what);
    }
    match (&sent.usage, &got.usage) {
        (Some(_), None) if asked_usage => {
            add(Defect::StreamProtocol, "the usage was lost".to_owned());
        }
        (Some(sent), Some(got)) if !sent.counts_like(got) => {
            let what = format!(
                "{} + {} tokens became {} + {}",
                sent.input(),
                sent.output,
                got.input(),
                got.output
            );
            add(Defect::Usage, what);
        }
        _ => {}
    }
}

fn error_changes(sent: Option<&WireError>, got: Option<&WireError>) -> Vec<String> {
    let (sent, got) = match (sent, got) {
        (Some(sent), Some(got)) => (sent, got),
        (Some(_), None) => return vec!["the error was lost".to_owned()],
        (None, Some(_)) => {
            return vec!["there is an error that the provider did not send".to_owned()];
        }
        (None, None) => return Vec::new(),
    };
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    let members = [
        ("type", &sent.kind, &got.kind),
        ("code", &sent.code, &got.code),
    ];
    let changed = members.into_iter().filter(|(_, sent, got)| sent != got);
    changed
        .map(|(name, sent, got)| format!("error {name} `{}` became `{}`", shown(sent), shown(got)))
        .collect()
}

fn answer_changes(sent: &WireReply, got: &WireReply) -> Vec<String> {
    let mut changes = Vec::new();
    if sent.choices.len() != got.choices.len() && sent.has_output() {
        changes.push(format!(
            "{} answers became {}",
            sent.choices.len(),
            got.choices.len()
        ));
        return changes;
    }
    for (at, (sent, got)) in sent.choices.iter().zip(&got.choices).enumerate() {
        if sent.text != got.text {
            let what = format!(
                "answer {at}: {} bytes became {}",
                sent.text.len(),
                got.text.len()
            );
            changes.push(what);
        }
        let calls = |choice: &crate::wire::Choice| -> Vec<(String, String)> {
            let calls = choice.tool_calls.iter();
            calls
                .map(|call| (call.name.clone(), call.arguments.clone()))
                .collect()
        };
        if calls(sent) != calls(got) {
            changes.push(format!("answer {at}: its tool calls are different"));
        }
        if sent.finish != got.finish {
            changes.push(format!("answer {at}: the reason of its end is different"));
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{ReplyReader, WireFormat};

    fn reply(body: &str) -> WireReply {
        let mut reader = ReplyReader::new(WireFormat::OpenaiChat, None);
        reader.whole(body.as_bytes());
        reader.finish()
    }

    fn codes(sent: (u16, &str, &str), got: (u16, &str, &str), asked_usage: bool) -> Vec<String> {
        let headers = |text: &str| -> Headers {
            let pairs = text.split(';').filter_map(|pair| pair.split_once(':'));
            pairs.collect()
        };
        let (sent_headers, got_headers) = (headers(sent.1), headers(got.1));
        let (sent_reply, got_reply) = (reply(sent.2), reply(got.2));
        let sent = Delivered {
            status: sent.0,
            headers: &sent_headers,
            reply: &sent_reply,
        };
        let got = Delivered {
            status: got.0,
            headers: &got_headers,
            reply: &got_reply,
        };
        let changes = reply_changes(&sent, &got, asked_usage);
        let mut codes: Vec<String> = changes.iter().map(|change| change.defect.code()).collect();
        codes.dedup();
        codes
    }

    #[test]
    fn every_change_has_its_defect() {
        let fine = r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}"#;
        let error = r#"{"error":{"message":"slow","type":"rate_limit","code":"x"}}"#;
        let headers = "X-Request-Id:1;x-ratelimit-limit-requests:9";
        let wrapped = error.replace("\"x\"", "\"429\"");
        let nothing: &[&str] = &[];
        for (sent, got, asked, expected) in [
            ((200, headers, fine), (200, headers, fine), true, nothing),
            ((200, headers, fine), (200, "", fine), true, &["T16"]),
            (
                (200, "", fine),
                (200, "", &fine.replace("Hi", "Ho")),
                true,
                &["T11"],
            ),
            (
                (200, "", fine),
                (200, "", &fine.replace("stop", "length")),
                true,
                &["T11"],
            ),
            (
                (200, "", fine),
                (200, "", &fine.replace(":5", ":4")),
                true,
                &["T12"],
            ),
            (
                (200, "", fine),
                (200, "", &fine.replace("usage", "used")),
                true,
                &["T09"],
            ),
            (
                (200, "", fine),
                (200, "", &fine.replace("usage", "used")),
                false,
                nothing,
            ),
            (
                (429, "retry-after:3", error),
                (429, "", &wrapped),
                true,
                &["T10"],
            ),
            ((529, "", error), (502, "", error), true, &["T10"]),
            (
                (200, "", fine),
                (200, "", "not JSON"),
                true,
                &["T09", "T11"],
            ),
        ] {
            assert_eq!(codes(sent, got, asked), expected, "{got:?}");
        }
    }
}
