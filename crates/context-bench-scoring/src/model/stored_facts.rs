//! [`StoredFacts`]: the facts of a row as they lie in a store, where every row has some.
//!
//! Nearly always a client makes one call, which causes one upstream, and then half of the members
//! of [`WireFacts`] say what another one says. Here such a member is left out, and reading puts
//! it back: half of the text is half of the pages that a store writes for it.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use super::model_use::{ModelUse, is_one, one};
use super::wire::{
    UnsentCalls, WireAdded, WireCalls, WireClaim, WireDefects, WireEngagement, WireFacts,
    WireMethods, WireStream, WireUsage, is_false, is_zero,
};

/// What a member says that is there; one that is not says the same as another member.
type Unlike<T> = Option<T>;

/// What is written of a member that may say the same as another one.
fn unlike<T: PartialEq>(own: T, other: &T) -> Unlike<T> {
    (own != *other).then_some(own)
}

/// A member that is there, also where it says `null`: that it is not known.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Unlike<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// One call of the client, one upstream.
const ONE_CALL: WireCalls = WireCalls {
    primary: 1,
    retry: 0,
    continuation: 0,
    aux: 0,
    probe: 0,
    tls_attempt: 0,
    unsupported: 0,
};

/// It was told by its credential whose it is.
const BY_CREDENTIAL: WireMethods = WireMethods {
    credential: 1,
    header: 0,
    answer_identity: 0,
    fingerprint: 0,
    single_flight: 0,
};

/// [`WireFacts`] without members that repeat others. A member that is not there stands for the one
/// that its comment names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredFacts<'a> {
    #[serde(default = "one", skip_serializing_if = "is_one")]
    client_calls: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    local_answers: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    local_errors: u64,
    /// One primary call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calls: Unlike<WireCalls>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_tokens: Option<u64>,
    /// `client_tokens`.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    upstream_tokens: Unlike<Option<u64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokenizer: Option<Cow<'a, str>>,
    client_bytes: u64,
    /// `client_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    all_client_bytes: Unlike<u64>,
    /// `client_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upstream_bytes: Unlike<u64>,
    /// `upstream_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    all_upstream_bytes: Unlike<u64>,
    #[serde(default, skip_serializing_if = "UnsentCalls::is_none")]
    unsent: UnsentCalls,
    client_reply_bytes: u64,
    /// `client_reply_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upstream_reply_bytes: Unlike<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<WireUsage>,
    /// `usage`.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    usage_all: Unlike<Option<WireUsage>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    uses: Vec<StoredUse>,
    /// The same bytes.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    engagement: Unlike<Option<WireEngagement>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    added: Option<StoredAdded>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stream: Option<WireStream>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claimed: Option<WireClaim>,
    #[serde(default, skip_serializing_if = "WireDefects::is_empty")]
    defects: WireDefects,
    /// One by its credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attributed_by: Unlike<WireMethods>,
    /// 1.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    confidence: Unlike<Option<f64>>,
    #[serde(default, skip_serializing_if = "is_false")]
    cold: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    stateful: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    cache_or_images: bool,
}

/// [`ModelUse`] in the same way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct StoredUse {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    service: Option<Arc<str>>,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    calls: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    longest: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    /// `usage_all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Unlike<WireUsage>,
}

/// [`WireAdded`] in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct StoredAdded {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pre: Option<f64>,
    /// 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    aux_wait: Unlike<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttfb_relay: Option<f64>,
    /// `ttfb_relay`.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    ttft_relay: Unlike<Option<f64>>,
    /// `ttfb_relay`.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    tail: Unlike<Option<f64>>,
}

impl<'a> From<&'a WireFacts> for StoredFacts<'a> {
    fn from(facts: &'a WireFacts) -> Self {
        // Every member is named, so that a new one is not forgotten here.
        let WireFacts {
            client_calls,
            local_answers,
            local_errors,
            calls,
            client_tokens,
            upstream_tokens,
            tokenizer,
            client_bytes,
            all_client_bytes,
            upstream_bytes,
            all_upstream_bytes,
            unsent,
            client_reply_bytes,
            upstream_reply_bytes,
            usage,
            usage_all,
            uses,
            engagement,
            added,
            stream,
            claimed,
            defects,
            attributed_by,
            confidence,
            cold,
            stateful,
            cache_or_images,
        } = facts;
        let all = usage_all.unwrap_or_default();
        Self {
            client_calls: *client_calls,
            local_answers: *local_answers,
            local_errors: *local_errors,
            calls: unlike(*calls, &ONE_CALL),
            client_tokens: *client_tokens,
            upstream_tokens: unlike(*upstream_tokens, client_tokens),
            tokenizer: tokenizer.as_deref().map(Cow::Borrowed),
            client_bytes: *client_bytes,
            all_client_bytes: unlike(*all_client_bytes, client_bytes),
            upstream_bytes: unlike(*upstream_bytes, client_bytes),
            all_upstream_bytes: unlike(*all_upstream_bytes, upstream_bytes),
            unsent: *unsent,
            client_reply_bytes: *client_reply_bytes,
            upstream_reply_bytes: unlike(*upstream_reply_bytes, client_reply_bytes),
            usage: *usage,
            usage_all: unlike(*usage_all, usage),
            uses: uses.iter().map(|one| StoredUse::of(one, &all)).collect(),
            engagement: unlike(*engagement, &Some(WireEngagement::IdenticalBytes)),
            added: added.map(StoredAdded::from),
            stream: *stream,
            claimed: *claimed,
            defects: *defects,
            attributed_by: unlike(*attributed_by, &BY_CREDENTIAL),
            confidence: unlike(*confidence, &Some(1.0)),
            cold: *cold,
            stateful: *stateful,
            cache_or_images: *cache_or_images,
        }
    }
}

impl From<StoredFacts<'_>> for WireFacts {
    fn from(stored: StoredFacts<'_>) -> Self {
        let client_bytes = stored.client_bytes;
        let upstream_bytes = stored.upstream_bytes.unwrap_or(client_bytes);
        let client_reply_bytes = stored.client_reply_bytes;
        let usage_all = stored.usage_all.unwrap_or(stored.usage);
        let all = usage_all.unwrap_or_default();
        Self {
            client_calls: stored.client_calls,
            local_answers: stored.local_answers,
            local_errors: stored.local_errors,
            calls: stored.calls.unwrap_or(ONE_CALL),
            client_tokens: stored.client_tokens,
            upstream_tokens: stored.upstream_tokens.unwrap_or(stored.client_tokens),
            tokenizer: stored.tokenizer.map(Cow::into_owned),
            client_bytes,
            all_client_bytes: stored.all_client_bytes.unwrap_or(client_bytes),
            upstream_bytes,
            all_upstream_bytes: stored.all_upstream_bytes.unwrap_or(upstream_bytes),
            unsent: stored.unsent,
            client_reply_bytes,
            upstream_reply_bytes: stored.upstream_reply_bytes.unwrap_or(client_reply_bytes),
            usage: stored.usage,
            usage_all,
            uses: stored.uses.into_iter().map(|one| one.whole(&all)).collect(),
            engagement: stored
                .engagement
                .unwrap_or(Some(WireEngagement::IdenticalBytes)),
            added: stored.added.map(WireAdded::from),
            stream: stored.stream,
            claimed: stored.claimed,
            defects: stored.defects,
            attributed_by: stored.attributed_by.unwrap_or(BY_CREDENTIAL),
            confidence: stored.confidence.unwrap_or(Some(1.0)),
            cold: stored.cold,
            stateful: stored.stateful,
            cache_or_images: stored.cache_or_images,
        }
    }
}

impl StoredUse {
    fn of(one: &ModelUse, all: &WireUsage) -> Self {
        let ModelUse {
            model,
            service,
            calls,
            longest,
            at,
            usage,
        } = one;
        Self {
            model: model.clone(),
            service: service.clone(),
            calls: *calls,
            longest: *longest,
            at: *at,
            usage: unlike(*usage, all),
        }
    }

    fn whole(self, all: &WireUsage) -> ModelUse {
        ModelUse {
            model: self.model,
            service: self.service,
            calls: self.calls,
            longest: self.longest,
            at: self.at,
            usage: self.usage.unwrap_or(*all),
        }
    }
}

impl From<WireAdded> for StoredAdded {
    fn from(added: WireAdded) -> Self {
        let WireAdded {
            pre,
            aux_wait,
            ttfb_relay,
            ttft_relay,
            tail,
        } = added;
        Self {
            pre,
            aux_wait: unlike(aux_wait, &0.0),
            ttfb_relay,
            ttft_relay: unlike(ttft_relay, &ttfb_relay),
            tail: unlike(tail, &ttfb_relay),
        }
    }
}

impl From<StoredAdded> for WireAdded {
    fn from(stored: StoredAdded) -> Self {
        Self {
            pre: stored.pre,
            aux_wait: stored.aux_wait.unwrap_or_default(),
            ttfb_relay: stored.ttfb_relay,
            ttft_relay: stored.ttft_relay.unwrap_or(stored.ttfb_relay),
            tail: stored.tail.unwrap_or(stored.ttfb_relay),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::option;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn text(facts: &WireFacts) -> String {
        serde_json::to_string(&StoredFacts::from(facts)).unwrap()
    }

    fn read(text: &str) -> WireFacts {
        // As stores are read: text, values, facts.
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        StoredFacts::deserialize(&value).unwrap().into()
    }

    /// The facts of a call that passed as it was.
    fn plain() -> WireFacts {
        let usage = WireUsage {
            uncached: 30,
            output: 2,
            ..WireUsage::default()
        };
        let mut used = ModelUse::call(Some("m".into()), usage);
        used.at = Some(1_795_000_000);
        WireFacts {
            client_calls: 1,
            calls: ONE_CALL,
            client_tokens: Some(22),
            upstream_tokens: Some(22),
            tokenizer: Some("cl100k_base".to_owned()),
            client_bytes: 175,
            all_client_bytes: 175,
            upstream_bytes: 175,
            all_upstream_bytes: 175,
            client_reply_bytes: 272,
            upstream_reply_bytes: 272,
            usage: Some(usage),
            usage_all: Some(usage),
            uses: vec![used],
            engagement: Some(WireEngagement::IdenticalBytes),
            added: Some(WireAdded {
                pre: Some(0.000_3),
                aux_wait: 0.0,
                ttfb_relay: Some(0.000_1),
                ttft_relay: Some(0.000_1),
                tail: Some(0.000_1),
            }),
            attributed_by: WireMethods {
                credential: 1,
                ..WireMethods::default()
            },
            confidence: Some(1.0),
            ..WireFacts::default()
        }
    }

    #[test]
    fn a_call_that_passed_as_it_was_says_nothing_twice() {
        let facts = plain();
        let stored = json!({
            "client_tokens": 22,
            "tokenizer": "cl100k_base",
            "client_bytes": 175,
            "client_reply_bytes": 272,
            "usage": {"uncached": 30, "output": 2},
            "uses": [{"model": "m", "at": 1_795_000_000}],
            "added": {"pre": 0.000_3, "ttfb_relay": 0.000_1},
        });
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text(&facts)).unwrap(),
            stored
        );
        assert_eq!(read(&text(&facts)), facts);
        let whole = facts.to_json().to_string().len();
        assert!(
            text(&facts).len() * 2 < whole,
            "{} of {whole}",
            text(&facts).len()
        );
    }

    #[test]
    fn what_is_not_known_stays_unknown() {
        let facts = WireFacts {
            upstream_tokens: None,
            usage_all: None,
            engagement: None,
            confidence: None,
            added: Some(WireAdded {
                ttfb_relay: Some(1.0),
                ..WireAdded::default()
            }),
            ..plain()
        };
        assert_eq!(read(&text(&facts)), facts);
        assert_eq!(read(&text(&WireFacts::default())), WireFacts::default());
    }

    /// Few values, so that members often say the same.
    fn number() -> impl Strategy<Value = u64> {
        0..3_u64
    }

    fn usage() -> impl Strategy<Value = WireUsage> {
        (number(), number(), number()).prop_map(|(uncached, cache_read, output)| WireUsage {
            uncached,
            cache_read,
            output,
            ..WireUsage::default()
        })
    }

    prop_compose! {
        fn used()(
            model in option::of(Just(Arc::<str>::from("m"))),
            calls in number(),
            at in option::of(number()),
            usage in usage(),
        ) -> ModelUse {
            ModelUse { model, calls, at, usage, ..ModelUse::default() }
        }
    }

    prop_compose! {
        fn added()(
            pre in option::of(Just(0.5)),
            aux_wait in prop_oneof![Just(0.0), Just(2.0)],
            ttfb_relay in option::of(Just(0.25)),
            ttft_relay in option::of(prop_oneof![Just(0.25), Just(1.0)]),
            tail in option::of(prop_oneof![Just(0.25), Just(1.0)]),
        ) -> WireAdded {
            WireAdded { pre, aux_wait, ttfb_relay, ttft_relay, tail }
        }
    }

    prop_compose! {
        fn facts()(
            counts in prop::array::uniform10(number()),
            tokens in (option::of(number()), option::of(number())),
            usage in (option::of(usage()), option::of(usage())),
            uses in prop::collection::vec(used(), 0..3),
            added in option::of(added()),
            confidence in option::of(prop_oneof![Just(1.0), Just(0.5)]),
            engagement in option::of(prop::sample::select(vec![
                WireEngagement::IdenticalBytes,
                WireEngagement::Benign,
            ])),
            flags in any::<[bool; 3]>(),
        ) -> WireFacts {
            let [client_calls, primary, retry, client_bytes, all_client_bytes, upstream_bytes,
                all_upstream_bytes, client_reply_bytes, upstream_reply_bytes, credential] = counts;
            let mut facts = WireFacts {
                client_calls,
                calls: WireCalls { primary, retry, ..WireCalls::default() },
                client_tokens: tokens.0,
                upstream_tokens: tokens.1,
                client_bytes,
                all_client_bytes,
                upstream_bytes,
                all_upstream_bytes,
                client_reply_bytes,
                upstream_reply_bytes,
                usage: usage.0,
                usage_all: usage.1,
                uses,
                added,
                engagement,
                confidence,
                attributed_by: WireMethods { credential, ..WireMethods::default() },
                cold: flags[0],
                stateful: flags[1],
                cache_or_images: flags[2],
                ..WireFacts::default()
            };
            if flags[0] {
                facts.defects.note(7);
            }
            facts
        }
    }

    proptest! {
        #[test]
        fn whatever_is_stored_is_read(facts in facts()) {
            prop_assert_eq!(read(&text(&facts)), facts);
        }
    }
}
