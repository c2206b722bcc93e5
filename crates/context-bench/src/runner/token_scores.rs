//! What is stored of a row as its token counts: the counts, and what is known of the reply and its
//! call beside them.

use std::time::Duration;

use serde::{Deserialize as _, Serialize};
use serde_json::Value;

use crate::memory;
use crate::model::{EvalRow, Reply, Score, Scores, StoredFacts, WIRE, WireFacts};
use crate::store::ScoreTexts;

const REPLY: &str = "reply";
/// What a tap saw of a call, beside its reply.
const TAP: &str = "tap";
const INPUT_TOKENS: &str = "input_tokens";
const OUTPUT_TOKENS: &str = "output_tokens";

/// What is stored of a reply beside its token counts.
#[derive(Serialize)]
struct KnownReply<'a> {
    reply: Option<&'a Reply>,
    call: Option<KnownCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    added: Option<Value>,
    /// What a tap saw of the call; its name is [`TAP`].
    #[serde(skip_serializing_if = "Option::is_none")]
    tap: Option<StoredFacts<'a>>,
}

#[derive(Serialize)]
struct KnownCall {
    connect: f64,
    timeouts: u32,
}

/// Token counts, and what else is known of a reply, as they are stored.
pub(super) fn texts(row: &EvalRow) -> ScoreTexts {
    let known = KnownReply {
        reply: row.reply.as_deref(),
        call: row.call.as_deref().map(|call| KnownCall {
            connect: call.connect.as_secs_f64(),
            timeouts: call.timeouts,
        }),
        added: row.added.is_some().then(|| memory::row::kept(row)),
        tap: row.wire.as_deref().map(StoredFacts::from),
    };
    let tokens = [
        (INPUT_TOKENS, row.input_tokens as f64),
        (OUTPUT_TOKENS, row.output_tokens as f64),
    ];
    ScoreTexts::with_evidence(&tokens, REPLY, &known)
}

/// What a tap saw of a call, if it is stored with these token counts.
pub(super) fn stored_facts(counted: &Scores) -> Option<Box<WireFacts>> {
    facts_beside(counted.get(REPLY)?.as_evidence()?)
}

/// What a tap saw of a call, as it is stored beside token counts.
fn facts_beside(stored: &Value) -> Option<Box<WireFacts>> {
    let facts = match (stored.get(TAP), stored.get(WIRE)) {
        (Some(facts), _) => StoredFacts::deserialize(facts).ok()?.into(),
        // As an earlier version wrote them.
        (None, Some(facts)) if facts.is_object() => WireFacts::deserialize(facts).ok()?,
        (None, _) => return None,
    };
    Some(Box::new(facts))
}

/// Fills a row with what is stored as its token counts.
pub(crate) fn read(row: &mut EvalRow, scores: &Scores) {
    let count = |name| scores.value(name).map(|value| value as u64);
    row.input_tokens = count(INPUT_TOKENS).unwrap_or(row.input_tokens);
    row.output_tokens = count(OUTPUT_TOKENS).unwrap_or(row.output_tokens);
    let Some(stored) = scores.get(REPLY).and_then(Score::as_evidence) else {
        return;
    };
    row.reply = Reply::deserialize(&stored["reply"]).ok().map(Box::new);
    memory::row::restore(row, &stored["added"]);
    row.wire = facts_beside(stored).or(row.wire.take());
    if let Some(call) = row.call.as_deref_mut() {
        let connect = stored["call"]["connect"].as_f64().unwrap_or_default();
        call.connect = Duration::try_from_secs_f64(connect).unwrap_or_default();
        let timeouts = stored["call"]["timeouts"].as_u64().unwrap_or_default();
        call.timeouts = u32::try_from(timeouts).unwrap_or(u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn facts_of_a_tap_are_read_as_this_version_and_earlier_ones_wrote_them() {
        let facts = WireFacts {
            client_calls: 1,
            client_bytes: 7,
            upstream_bytes: 5,
            ..WireFacts::default()
        };
        let now = json!({"tap": serde_json::to_value(StoredFacts::from(&facts)).unwrap()});
        let before = json!({"wire": facts.to_json()});
        for stored in [now, before] {
            assert_eq!(facts_beside(&stored).as_deref(), Some(&facts), "{stored}");
        }
        for nothing in [json!({}), json!({"wire": null}), json!({"tap": 5})] {
            assert_eq!(facts_beside(&nothing), None, "{nothing}");
        }
    }
}
