//! What a proxy did to the events of a stream.

use serde_json::Value;

use super::canonical::canonical_json;
use super::defect::{Change, Defect};
use crate::wire::{Event, EventReader};

/// Compares the events that the provider sent with those that the client got. Padding, pings
/// and comments mean nothing; `asked_usage` says whether the client asked for the usage of the
/// stream: without that a proxy may take the event with it out.
pub fn stream_changes(sent: &[u8], got: &[u8], asked_usage: bool) -> Vec<Change> {
    let (sent, got) = (events(sent, asked_usage), events(got, asked_usage));
    let mut changes = Vec::new();
    let mut add = |what: String| changes.push(Change::new(Defect::StreamProtocol, what));
    let first = sent.iter().zip(&got).position(|(sent, got)| sent != got);
    match first {
        Some(at) if sent[at].0 != got[at].0 => {
            add(format!(
                "event {at}: `{}` became `{}`",
                sent[at].0, got[at].0
            ));
        }
        Some(at) => add(format!("event {at} was changed")),
        None if sent.len() > got.len() => {
            add(format!(
                "{} events were lost at the end",
                sent.len() - got.len()
            ));
        }
        None if sent.len() < got.len() => {
            add(format!(
                "{} events were added at the end",
                got.len() - sent.len()
            ));
        }
        None => {}
    }
    changes
}

/// The events of a stream by name and content, without what means nothing.
fn events(body: &[u8], asked_usage: bool) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut reader = EventReader::default();
    let mut take = |event: Event| {
        let Ok(mut value) = serde_json::from_str::<Value>(&event.data) else {
            found.push((event.name, event.data));
            return;
        };
        let is_ping = value.get("type").and_then(Value::as_str) == Some("ping");
        // The chunk that OpenAI adds for the usage has no choices.
        let is_usage = value.get("usage").is_some_and(Value::is_object)
            && value
                .get("choices")
                .and_then(Value::as_array)
                .is_some_and(Vec::is_empty);
        if is_ping || is_usage && !asked_usage {
            return;
        }
        without_padding(&mut value, asked_usage);
        let text = value.to_string();
        let text = canonical_json(text.as_bytes()).unwrap_or(text);
        found.push((event.name, text));
    };
    reader.feed(body, &mut take);
    reader.finish(&mut take);
    found
}

/// Takes random padding out, and the `usage: null` that comes with the wish for the usage.
fn without_padding(value: &mut Value, asked_usage: bool) {
    let Some(members) = value.as_object_mut() else {
        return;
    };
    members.shift_remove("obfuscation");
    if !asked_usage && members.get("usage").is_some_and(Value::is_null) {
        members.shift_remove("usage");
    }
    let choices = members.get_mut("choices").and_then(Value::as_array_mut);
    for choice in choices.into_iter().flatten() {
        let delta = choice.get_mut("delta").and_then(Value::as_object_mut);
        if let Some(delta) = delta {
            delta.shift_remove("obfuscation");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_events_are_found() {
        let one = "data: {\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null,\"obfuscation\":\"xx\"}\n\n";
        let two =
            "data: {\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":\"b\"}}],\"usage\":null}\n\n";
        let usage = "data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n";
        let done = "data: [DONE]\n\n";
        let sent = [one, two, usage, done].concat();
        let found = |got: &str, asked| {
            let changes = stream_changes(sent.as_bytes(), got.as_bytes(), asked);
            changes.first().map(|change| change.what.clone())
        };
        assert_eq!(found(&sent, true), None);
        // Padding, spaces, comments and line ends are nobody's business.
        let anew = sent
            .replace("xx", "yyyy")
            .replace("\":", "\": ")
            .replace('\n', "\r\n");
        assert_eq!(found(&format!(": hello\n\n{anew}"), true), None);
        // Who did not ask for the usage does not miss it.
        let without = [one, two, done].concat().replace(",\"usage\":null", "");
        assert_eq!(found(&without, false), None);
        assert_eq!(
            found(&without, true).as_deref(),
            Some("event 0 was changed")
        );
        let changed = sent.replace("\"id\":\"c\"", "\"id\":\"d\"");
        assert_eq!(
            found(&changed, true).as_deref(),
            Some("event 0 was changed")
        );
        let cut = [one, two, usage].concat();
        assert_eq!(
            found(&cut, true).as_deref(),
            Some("1 events were lost at the end")
        );
        let more = format!("{sent}{done}");
        assert_eq!(
            found(&more, true).as_deref(),
            Some("1 events were added at the end")
        );
    }

    #[test]
    fn named_events_keep_their_names() {
        let start = "event: message_start\ndata: {\"type\":\"message_start\"}\n\n";
        let stop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
        let ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
        let sent = [start, stop].concat();
        assert!(
            stream_changes(
                sent.as_bytes(),
                [start, ping, stop].concat().as_bytes(),
                true
            )
            .is_empty()
        );
        let changes = stream_changes(sent.as_bytes(), [stop, start].concat().as_bytes(), true);
        assert_eq!(
            changes[0].what,
            "event 0: `message_start` became `message_stop`"
        );
        assert_eq!(changes[0].defect.code(), "T09");
    }
}
