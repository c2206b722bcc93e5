//! [`ModelUse`]: the tokens of calls of one model, as prices need them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::WireUsage;

/// Calls with more input than this are kept one by one, because prices may depend on the length
/// of a request.
const LONG: u64 = 65_536;
/// So many calls of one model are kept one by one; from there on short ones are summed up.
const KEPT: usize = 8;

/// The tokens of one call of a model, or of several that are summed up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelUse {
    /// The model that answered, else the one that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// What the provider calls its service, unless it is the usual one: `flex`, `batch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<Arc<str>>,
    /// How many calls.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub calls: u64,
    /// The most input tokens that one of several calls had.
    #[serde(skip_serializing_if = "super::wire::is_zero")]
    pub longest: u64,
    /// When it was asked, in seconds since 1970, of a single call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// The tokens.
    #[serde(flatten)]
    pub usage: WireUsage,
}

pub(super) fn one() -> u64 {
    1
}

pub(super) fn is_one(number: &u64) -> bool {
    *number == 1
}

impl ModelUse {
    /// One call.
    pub fn call(model: Option<Arc<str>>, usage: WireUsage) -> Self {
        Self {
            model,
            calls: 1,
            usage,
            ..Self::default()
        }
    }

    /// With what the provider calls its service; the usual one goes by several names.
    #[must_use]
    pub fn with_service(mut self, service: Option<&str>) -> Self {
        let usual = ["default", "standard", "auto", "on_demand", ""];
        let service = service.filter(|name| !usual.contains(name));
        self.service = service.map(Arc::from);
        self
    }

    /// The most input tokens of one of its calls.
    pub fn longest_input(&self) -> u64 {
        match self.calls {
            0 | 1 => self.usage.input(),
            _ => self.longest,
        }
    }

    /// Adds a call to others. Few calls stay as they are; of many, short ones of one model are
    /// summed up.
    pub fn add_to(self, all: &mut Vec<Self>) {
        let is_alike = |one: &Self| {
            one.model == self.model && one.service == self.service && one.longest_input() <= LONG
        };
        let alike = all.iter().filter(|one| is_alike(one)).count();
        let is_short = self.longest_input() <= LONG;
        let sum = all.iter().position(|one| one.calls > 1 && is_alike(one));
        match sum.filter(|_| is_short) {
            Some(at) => all[at].join(&self),
            None if is_short && alike >= KEPT => {
                let mut kept = Vec::with_capacity(all.len());
                let mut sum = self.clone();
                for one in all.drain(..) {
                    match is_alike(&one) {
                        true => sum.join(&one),
                        false => kept.push(one),
                    }
                }
                kept.push(sum);
                *all = kept;
            }
            None => {
                // Every row has such a list, nearly always of one.
                all.reserve_exact(1);
                all.push(self);
            }
        }
    }

    fn join(&mut self, other: &Self) {
        self.longest = self.longest_input().max(other.longest_input());
        self.calls = self.calls.max(1).saturating_add(other.calls.max(1));
        self.at = None;
        self.usage.add(&other.usage);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn used(model: &str, uncached: u64) -> ModelUse {
        let usage = WireUsage {
            uncached,
            output: 1,
            ..WireUsage::default()
        };
        ModelUse::call(Some(model.into()), usage)
    }

    #[test]
    fn many_short_calls_are_summed_up_and_long_ones_kept() {
        let mut all = Vec::new();
        for n in 1..=20 {
            used("a", n).add_to(&mut all);
        }
        used("a", 200_000).add_to(&mut all);
        used("b", 5).add_to(&mut all);
        let seen: Vec<(Option<&str>, u64, u64, u64)> = all
            .iter()
            .map(|one| {
                (
                    one.model.as_deref(),
                    one.calls,
                    one.longest_input(),
                    one.usage.uncached,
                )
            })
            .collect();
        let (a, b) = (Some("a"), Some("b"));
        assert_eq!(
            seen,
            [(a, 20, 20, 210), (a, 1, 200_000, 200_000), (b, 1, 5, 5)]
        );
    }

    #[test]
    fn stored_calls_are_the_same_again_and_say_only_what_is_known() {
        let one = used("gpt-4o", 7).with_service(Some("flex"));
        let written = serde_json::to_value(&one).expect("valid");
        assert_eq!(
            written,
            json!({"model": "gpt-4o", "service": "flex", "uncached": 7, "output": 1})
        );
        let read: ModelUse = serde_json::from_value(written).expect("valid");
        assert_eq!(read, one);
        assert_eq!(used("x", 1).with_service(Some("default")).service, None);
    }
}
