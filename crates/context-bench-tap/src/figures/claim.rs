//! [`Claim`]: what a proxy says about itself in the headers of its answers. It is shown beside
//! what was measured, never in its place.

use serde::{Deserialize, Serialize};

use crate::http1::Headers;

/// What a proxy claims to have saved on one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Tokens of the request as it came.
    pub tokens_before: Option<u64>,
    /// Tokens of the request as it went.
    pub tokens_after: Option<u64>,
    /// Tokens saved.
    pub tokens_saved: Option<u64>,
    /// Nanoseconds that it took for itself.
    pub own_time: Option<u64>,
    /// Whether it says that it failed to compress.
    pub has_failed: bool,
    /// Whether it says that the answer came out of a cache.
    pub is_cached: bool,
}

impl Claim {
    /// Of the headers that a client got; none if they claim nothing. Proxies have prefixes of
    /// their own (`x-kompact-tokens-saved`), so the rest of a name is what counts.
    pub fn of(headers: &Headers) -> Option<Self> {
        let mut claim = Self::default();
        let mut has_said = false;
        for header in headers.iter() {
            let name = header.name;
            let Some(b"x-" | b"X-") = name.as_bytes().get(..2) else {
                continue;
            };
            let ends = |end: &str| {
                let at = name.len().checked_sub(end.len());
                let tail = at.and_then(|at| name.as_bytes().get(at..));
                tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end.as_bytes()))
            };
            let value = header.text();
            let whole = || value.trim().parse::<u64>().ok();
            // Some give fractions of a millisecond.
            let milliseconds = || value.trim().parse::<f64>().ok().filter(|time| *time >= 0.0);
            let is_true = value.trim().eq_ignore_ascii_case("true");
            let is_hit = is_true || value.trim().eq_ignore_ascii_case("hit");
            if ends("-tokens-saved") {
                claim.tokens_saved = whole();
            } else if ends("-tokens-before") {
                claim.tokens_before = whole();
            } else if ends("-tokens-after") {
                claim.tokens_after = whole();
            } else if ends("-latency-ms") || ends("-overhead-duration-ms") {
                claim.own_time = milliseconds().map(|time| (time * 1e6) as u64);
            } else if ends("-compression-failed") {
                claim.has_failed = is_true;
            } else if ends("-cached") || ends("-cache-status") {
                claim.is_cached = is_hit;
            } else {
                continue;
            }
            has_said = true;
        }
        has_said.then_some(claim)
    }

    /// The share of tokens that it claims to have saved.
    pub fn ratio(&self) -> Option<f64> {
        let before = self.tokens_before.filter(|before| *before > 0)?;
        let after = self.tokens_after;
        let after = after.or_else(|| before.checked_sub(self.tokens_saved?))?;
        Some(1.0 - after as f64 / before as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(headers: &[(&str, &str)]) -> Option<Claim> {
        Claim::of(&headers.iter().copied().collect())
    }

    #[test]
    fn claims_of_real_proxies_are_read() {
        let kompact = [
            ("x-kompact-tokens-saved", "120"),
            ("X-Kompact-Latency-Ms", "1.5"),
        ];
        let said = claim(&kompact).unwrap();
        assert_eq!(
            (said.tokens_saved, said.own_time),
            (Some(120), Some(1_500_000))
        );
        assert_eq!(said.ratio(), None);
        let headroom = [
            ("x-headroom-tokens-before", "400"),
            ("x-headroom-tokens-after", "100"),
            ("x-headroom-compression-failed", "true"),
            ("x-headroom-cached", "false"),
        ];
        let said = claim(&headroom).unwrap();
        assert_eq!(
            (said.ratio(), said.has_failed, said.is_cached),
            (Some(0.75), true, false)
        );
        assert!(
            claim(&[("x-portkey-cache-status", "HIT")])
                .unwrap()
                .is_cached
        );
        assert_eq!(
            claim(&[("content-type", "text/plain"), ("x-request-id", "1")]),
            None
        );
        let odd = claim(&[("x-a-tokens-saved", "many"), ("x-a-latency-ms", "-3")]).unwrap();
        assert_eq!(odd, Claim::default());
    }
}
