//! [`WireFacts`]: what a tap saw of one row.
//!
//! Plain data: who measures it is the library's `tap`, and every figure that is not known is
//! absent, never zero. Facts travel with answers, so a row that is reused keeps what was
//! measured when it was asked.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::ModelUse;

/// The field of an output with what a tap saw of it. A map, so that none of it counts as text.
pub const WIRE: &str = "wire";

/// What an arm is for, and so what it is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArmRole {
    /// The client calls the tap without a proxy.
    Direct,
    /// A proxy that is to change nothing; what it changes is a defect.
    PassThrough,
    /// A proxy that is to change requests; one that changes none is not engaged.
    Transform,
}

/// How a request changed between the client and the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireEngagement {
    /// Not a byte.
    IdenticalBytes,
    /// Written anew, with the same meaning.
    IdenticalJson,
    /// Only in ways that mean nothing to the answer.
    Benign,
    /// Texts are different; messages, roles, tools and parameters are not.
    ChangedContent,
    /// More than texts is different.
    ChangedStructure,
}

impl WireEngagement {
    /// Whether the proxy did something to the request.
    pub fn is_changed(self) -> bool {
        matches!(self, Self::ChangedContent | Self::ChangedStructure)
    }
}

/// Tokens as a provider counts them, in buckets that share none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WireUsage {
    /// Input that no cache served or kept.
    pub uncached: u64,
    /// Input that a cache served.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read: u64,
    /// Input that was written to a cache for a short time.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_short: u64,
    /// Input that was written to a cache for an hour.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_long: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// Calls that may have cost something and do not say what; with any, the figures are the
    /// least that was used.
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown: u64,
    /// Calls whose figures contradict each other.
    #[serde(skip_serializing_if = "is_zero")]
    pub inconsistent: u64,
}

impl WireUsage {
    /// All input tokens.
    pub fn input(&self) -> u64 {
        // A provider may report any number.
        [
            self.cache_read,
            self.cache_write_short,
            self.cache_write_long,
        ]
        .into_iter()
        .fold(self.uncached, u64::saturating_add)
    }

    /// All tokens, input and output.
    pub fn tokens(&self) -> u64 {
        self.input().saturating_add(self.output)
    }

    /// With what is left of a prompt when all that a cache served or kept is taken out.
    #[must_use]
    pub(super) fn of_prompt(mut self, prompt: u64) -> Self {
        let apart = [self.cache_write_short, self.cache_write_long];
        let apart = apart.into_iter().fold(self.cache_read, u64::saturating_add);
        match prompt.checked_sub(apart) {
            Some(uncached) => self.uncached = uncached,
            None => self.inconsistent = 1,
        }
        self
    }

    /// Whether a cache of the provider took part.
    pub fn has_cache(&self) -> bool {
        self.cache_read + self.cache_write_short + self.cache_write_long > 0
    }

    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        let add = |own: &mut u64, more: u64| *own = own.saturating_add(more);
        add(&mut self.uncached, other.uncached);
        add(&mut self.cache_read, other.cache_read);
        add(&mut self.cache_write_short, other.cache_write_short);
        add(&mut self.cache_write_long, other.cache_write_long);
        add(&mut self.output, other.output);
        add(&mut self.unknown, other.unknown);
        add(&mut self.inconsistent, other.inconsistent);
    }
}

/// Calls that reached the tap and not the provider: it could not be reached, the tap refused them
/// (a tunnel, an upgrade), or the proxy hung up before its request was out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnsentCalls {
    /// How many.
    pub calls: u64,
    /// Bytes of the bodies of their requests, as far as they had come.
    pub bytes: u64,
}

impl UnsentCalls {
    /// Adds those of others.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.bytes += other.bytes;
    }

    /// Counts a call whose request did not go out.
    pub fn count(&mut self, bytes: u64) {
        self.add(&Self { calls: 1, bytes });
    }

    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Calls of a proxy by what they were for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WireCalls {
    /// Their answer was relayed to the client.
    pub primary: u64,
    /// The same request as another one that failed or was not relayed.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry: u64,
    /// One text extends the other, as in a round of retrieval.
    #[serde(skip_serializing_if = "is_zero")]
    pub continuation: u64,
    /// Other generations, embeddings, reranking.
    #[serde(skip_serializing_if = "is_zero")]
    pub aux: u64,
    /// They ask no model.
    #[serde(skip_serializing_if = "is_zero")]
    pub probe: u64,
    /// Attempts to speak TLS, refused.
    #[serde(skip_serializing_if = "is_zero")]
    pub tls_attempt: u64,
    /// Upgrades to another protocol, refused.
    #[serde(skip_serializing_if = "is_zero")]
    pub unsupported: u64,
}

impl WireCalls {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.primary + self.extra()
    }

    /// All but the primary ones.
    pub fn extra(&self) -> u64 {
        self.retry + self.continuation + self.aux + self.probe + self.tls_attempt + self.unsupported
    }

    /// Adds those of another row.
    pub fn add(&mut self, other: &Self) {
        self.primary += other.primary;
        self.retry += other.retry;
        self.continuation += other.continuation;
        self.aux += other.aux;
        self.probe += other.probe;
        self.tls_attempt += other.tls_attempt;
        self.unsupported += other.unsupported;
    }
}

/// How many calls were attributed by what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WireMethods {
    /// The synthetic credential.
    #[serde(skip_serializing_if = "is_zero")]
    pub credential: u64,
    /// The header `x-cb-call`.
    #[serde(skip_serializing_if = "is_zero")]
    pub header: u64,
    /// The client got this very answer.
    #[serde(skip_serializing_if = "is_zero")]
    pub answer_identity: u64,
    /// The texts are alike.
    #[serde(skip_serializing_if = "is_zero")]
    pub fingerprint: u64,
    /// Nothing else was in flight.
    #[serde(skip_serializing_if = "is_zero")]
    pub single_flight: u64,
}

impl WireMethods {
    /// Adds those of another row.
    pub fn add(&mut self, other: &Self) {
        self.credential += other.credential;
        self.header += other.header;
        self.answer_identity += other.answer_identity;
        self.fingerprint += other.fingerprint;
        self.single_flight += other.single_flight;
    }
}

/// What a proxy added to the calls of a row, in seconds, measured inside of each call. A stage
/// that either side did not reach has no figure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WireAdded {
    /// From the client's request to the primary's, without the time inside other calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre: Option<f64>,
    /// The time inside other calls before the primary was sent.
    pub aux_wait: f64,
    /// From the provider's first byte to the client's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttfb_relay: Option<f64>,
    /// From the provider's first output to the client's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_relay: Option<f64>,
    /// From the provider's last byte to the client's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail: Option<f64>,
}

impl WireAdded {
    /// Everything before the provider had the request.
    pub fn before(&self) -> Option<f64> {
        self.pre.map(|pre| pre + self.aux_wait)
    }

    /// Everything before the provider had the request and after its last byte.
    pub fn both(&self) -> Option<f64> {
        Some(self.before()? + self.tail?)
    }

    /// Adds that of a further call. What one of them did not reach is known of neither.
    pub fn add(&mut self, other: &Self) {
        let both = |one: Option<f64>, two: Option<f64>| Some(one? + two?);
        self.pre = both(self.pre, other.pre);
        self.aux_wait += other.aux_wait;
        self.ttfb_relay = both(self.ttfb_relay, other.ttfb_relay);
        self.ttft_relay = both(self.ttft_relay, other.ttft_relay);
        self.tail = both(self.tail, other.tail);
    }
}

/// How the streams of a row reached the client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WireStream {
    /// Frames with output that the provider sent.
    pub frames: u64,
    /// Those that the client had within 50 ms.
    pub in_time: u64,
    /// Whether a stream was held back until most of it was written.
    #[serde(skip_serializing_if = "is_false")]
    pub buffered: bool,
}

/// What a proxy says about itself in the headers of its answers. It is shown beside what was
/// measured and never instead of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WireClaim {
    /// Tokens that it says it saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_saved: Option<u64>,
    /// Tokens that it says it got.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// Tokens that it says it sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
    /// Nanoseconds that it says it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_time_ns: Option<u64>,
    /// Whether it says that it failed to compress.
    #[serde(skip_serializing_if = "is_false")]
    pub failed: bool,
    /// Whether it says that the answer came out of a cache.
    #[serde(skip_serializing_if = "is_false")]
    pub cached: bool,
}

impl WireClaim {
    /// Adds that of a further call.
    pub fn add(&mut self, other: &Self) {
        let sum = |one: Option<u64>, two: Option<u64>| match (one, two) {
            (Some(one), Some(two)) => Some(one + two),
            (one, two) => one.or(two),
        };
        self.tokens_saved = sum(self.tokens_saved, other.tokens_saved);
        self.tokens_before = sum(self.tokens_before, other.tokens_before);
        self.tokens_after = sum(self.tokens_after, other.tokens_after);
        self.own_time_ns = sum(self.own_time_ns, other.own_time_ns);
        self.failed |= other.failed;
        self.cached |= other.cached;
    }

    /// Tokens that it says it saved, and of how many, where it says both.
    pub fn saved_of(&self) -> (Option<u64>, Option<u64>) {
        let between = || self.tokens_before?.checked_sub(self.tokens_after?);
        (self.tokens_saved.or_else(between), self.tokens_before)
    }
}

/// Kinds of defects, by their numbers: `T01` to `T18`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WireDefects(u32);

impl WireDefects {
    /// Notes one by its number, from 1.
    pub fn note(&mut self, number: u8) {
        self.0 |= 1_u32.checked_shl(u32::from(number)).unwrap_or(0);
    }

    /// Whether this one was noted.
    pub fn has(self, number: u8) -> bool {
        self.0 & 1_u32.checked_shl(u32::from(number)).unwrap_or(0) != 0
    }

    /// Adds those of another call or row.
    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// Their numbers, such as `T02`.
    pub fn codes(self) -> Vec<String> {
        let numbers = (1..32).filter(|number| self.has(*number));
        numbers.map(|number| format!("T{number:02}")).collect()
    }
}

impl Serialize for WireDefects {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.codes().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for WireDefects {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut defects = Self::default();
        for code in Vec::<String>::deserialize(deserializer)? {
            if let Some(number) = code.strip_prefix('T').and_then(|n| n.parse().ok()) {
                defects.note(number);
            }
        }
        Ok(defects)
    }
}

/// What a tap saw of one row: the calls that the client made for it, and those that the proxy
/// made because of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WireFacts {
    /// Calls of the client, its further attempts included.
    pub client_calls: u64,
    /// Those that a proxy answered by itself, without any call upstream.
    #[serde(skip_serializing_if = "is_zero")]
    pub local_answers: u64,
    /// Those that a proxy refused by itself, or did not answer.
    #[serde(skip_serializing_if = "is_zero")]
    pub local_errors: u64,
    /// Calls upstream, by class.
    pub calls: WireCalls,
    /// Tokens of the client's requests that were answered, by the local tokenizer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_tokens: Option<u64>,
    /// Tokens of the primary requests, by the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_tokens: Option<u64>,
    /// The name of that tokenizer, where any were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// Bytes of the bodies of these requests of the client.
    pub client_bytes: u64,
    /// Bytes of the bodies of all its requests, those that failed included.
    #[serde(skip_serializing_if = "is_zero")]
    pub all_client_bytes: u64,
    /// Bytes of the bodies of the primary requests.
    pub upstream_bytes: u64,
    /// Bytes of the bodies of all requests upstream.
    pub all_upstream_bytes: u64,
    /// Those of the calls that never reached the provider.
    #[serde(skip_serializing_if = "UnsentCalls::is_none")]
    pub unsent: UnsentCalls,
    /// Bytes of the answers that the client got.
    pub client_reply_bytes: u64,
    /// Bytes of the answers that the provider sent, to all calls.
    pub upstream_reply_bytes: u64,
    /// What the provider counted for the primary calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<WireUsage>,
    /// What it counted for all calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_all: Option<WireUsage>,
    /// The same calls by their models, as prices need them; those that ask no model left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<ModelUse>,
    /// How requests changed: the most that any of them did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engagement: Option<WireEngagement>,
    /// What the proxy added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<WireAdded>,
    /// How streams arrived, where there were some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<WireStream>,
    /// What the proxy claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed: Option<WireClaim>,
    /// What a proxy that only relays would not have done.
    #[serde(skip_serializing_if = "WireDefects::is_empty")]
    pub defects: WireDefects,
    /// How its calls were attributed.
    pub attributed_by: WireMethods,
    /// How sure the least sure of them is, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Whether it is the first row that the arm was asked about, which pays for its start.
    #[serde(skip_serializing_if = "is_false")]
    pub cold: bool,
    /// Whether the provider adds a conversation of its own: only its count means something.
    #[serde(skip_serializing_if = "is_false")]
    pub stateful: bool,
    /// Whether a cache or pictures take part, which a local tokenizer knows nothing of.
    #[serde(skip_serializing_if = "is_false")]
    pub cache_or_images: bool,
}

impl WireFacts {
    /// Of an output that has them: the client has made a call in any case, so that a member of
    /// this name that says nothing of calls is somebody else's.
    pub fn of(output: &super::Output) -> Option<Box<Self>> {
        let facts = output.get(WIRE).filter(|facts| facts.is_object())?;
        let facts = Self::deserialize(facts).ok();
        facts.filter(|facts| facts.client_calls > 0).map(Box::new)
    }

    /// The same for a run with this tokenizer: what another one counted is not known of it.
    pub fn counted_by(mut self, tokenizer: &str) -> Self {
        if self.tokenizer.as_deref() != Some(tokenizer) {
            (self.client_tokens, self.upstream_tokens) = (None, None);
            self.tokenizer = None;
        }
        self
    }

    /// All of them, as a row shows them.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Tokens of the client's requests and of those that went out, where a local tokenizer can
    /// tell.
    pub fn tokens(&self) -> Option<(u64, u64)> {
        let pair = self.client_tokens.zip(self.upstream_tokens);
        pair.filter(|_| !self.stateful)
    }

    /// Input tokens that the provider counted for the primary calls, if all of them say so.
    pub fn usage_input(&self) -> Option<u64> {
        let usage = self.usage.filter(|usage| usage.unknown == 0)?;
        Some(usage.input())
    }

    /// Calls upstream that may be billed.
    pub fn billable(&self) -> u64 {
        let calls = &self.calls;
        calls.primary + calls.retry + calls.continuation + calls.aux
    }

    /// The members that tables of rows show, each with its value.
    pub fn columns(&self) -> [(&'static str, Option<Value>); 8] {
        let added = self.added.unwrap_or_default();
        let share = |(before, after): (u64, u64)| {
            (before > 0).then(|| Value::from(1.0 - after as f64 / before as f64))
        };
        let engagement = self.engagement.map(|one| serde_json::json!(one));
        [
            ("wire_saved", self.tokens().and_then(share)),
            (
                "wire_saved_bytes",
                share((self.client_bytes, self.upstream_bytes)),
            ),
            ("wire_engagement", engagement),
            ("wire_calls", Some(self.calls.total().into())),
            ("wire_prompt_tokens", self.usage_input().map(Value::from)),
            ("wire_added_before", added.before().map(Value::from)),
            ("wire_added_after", added.tail.map(Value::from)),
            (
                "wire_defects",
                (!self.defects.is_empty()).then(|| self.defects.codes().join(" ").into()),
            ),
        ]
    }
}

pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}

pub(super) fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::model::{Example, Output};

    #[test]
    fn facts_come_back_from_an_output_and_say_only_what_is_known() {
        let mut facts = WireFacts {
            client_calls: 2,
            client_tokens: Some(100),
            upstream_tokens: Some(25),
            tokenizer: Some("t".to_owned()),
            engagement: Some(WireEngagement::ChangedStructure),
            usage: Some(WireUsage {
                uncached: 7,
                cache_read: 3,
                ..WireUsage::default()
            }),
            ..WireFacts::default()
        };
        facts.defects.note(2);
        facts.defects.note(15);
        facts.calls.primary = 1;
        facts.calls.retry = 2;
        let output = Output::reply(&Example::new(), "x").with(WIRE, facts.to_json());
        let back = WireFacts::of(&output).expect("facts");
        assert_eq!(*back, facts);
        let json = facts.to_json();
        assert_eq!(json["defects"], serde_json::json!(["T02", "T15"]));
        assert_eq!(json["calls"], serde_json::json!({"primary": 1, "retry": 2}));
        assert!(json.get("stream").is_none() && json.get("cold").is_none());
        assert_eq!((facts.calls.total(), facts.calls.extra()), (3, 2));
        assert_eq!(facts.usage_input(), Some(10));
        let columns: Map<String, Value> = facts
            .columns()
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect();
        assert_eq!(columns["wire_saved"], 0.75);
        assert_eq!(columns["wire_defects"], "T02 T15");
        assert!(!columns.contains_key("wire_added_before"));
        let other = Output::reply(&Example::new(), "x");
        assert_eq!(WireFacts::of(&other), None);
        let other = other.with(WIRE, serde_json::json!({"gauge": 3}));
        assert_eq!(WireFacts::of(&other), None);
        let of = |tokenizer: &str| facts.clone().counted_by(tokenizer).tokens();
        assert_eq!((of("t"), of("u")), (Some((100, 25)), None));
    }
}
