//! When to try again and how long to wait before it.
//!
//! Decisions are pure functions; `http` does the waiting.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

/// How often and for how long a request is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts after the first one. A download counts only those since it last
    /// got further, so that a long one survives many short breaks.
    pub max_retries: u32,
    /// The delay before the first retry; it doubles with each further one.
    pub base_delay: Duration,
    /// The longest delay of our own choice.
    pub max_delay: Duration,
    /// The longest wait that a server may ask for, and the longest that the waits
    /// of one request may take together; more is an error at once.
    pub longest_asked: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 5,
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(8),
            // The hub counts requests in windows of five minutes.
            longest_asked: Duration::from_secs(300),
        }
    }
}

impl RetryPolicy {
    /// The wait before retry number `retry` (from 0), or nothing to give up.
    pub(crate) fn wait(&self, retry: u32, asked: Option<Duration>) -> Option<Duration> {
        if retry >= self.max_retries {
            return None;
        }
        if let Some(asked) = asked {
            return (asked <= self.longest_asked).then_some(asked);
        }
        let doubled = 2_u32
            .checked_pow(retry)
            .and_then(|factor| self.base_delay.checked_mul(factor))
            .unwrap_or(self.max_delay);
        let capped = doubled.min(self.max_delay);
        // Up to a quarter longer by chance, so that clients which failed
        // together do not come back together.
        let chance = f64::from(RandomState::new().hash_one(retry) as u16) / f64::from(u16::MAX);
        Some(capped.saturating_add(capped.mul_f64(chance / 4.0)))
    }
}

/// Whether a status says that the same request may succeed later.
pub(crate) fn is_retryable(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// The wait a server asks for: `Retry-After` as seconds or as a date, or the `t`
/// of the `RateLimit` header that the hub sends.
pub(crate) fn asked_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim());
    if let Some(value) = text("retry-after") {
        return match value.parse::<f64>() {
            Ok(seconds) if seconds >= 0.0 => {
                Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
            }
            Ok(_) => None,
            Err(_) => httpdate::parse_http_date(value)
                .ok()?
                .duration_since(now)
                .ok(),
        };
    }
    // Such as `"api";r=0;t=55`, on every reply; it matters when `r` is 0.
    let limit = text("ratelimit")?;
    let number = |key: &str| {
        let mut parts = limit.split(';').map(str::trim);
        parts.find_map(|part| part.strip_prefix(key)?.parse::<u64>().ok())
    };
    (number("r=")? == 0).then_some(())?;
    Some(Duration::from_secs(number("t=")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(
            reqwest::header::HeaderName::from_static(name),
            value.parse().expect("a header value"),
        )])
    }

    #[test]
    fn waits_are_read_in_all_spellings() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").expect("a date");
        for (name, value, expected) in [
            ("retry-after", "7", Some(7)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT", Some(10)),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
            ("ratelimit", "\"api\";r=0;t=55", Some(55)),
            ("ratelimit", "\"api\";r=12;t=55", None),
            ("ratelimit", "nonsense", None),
            ("x-other", "7", None),
        ] {
            let found = asked_wait(&headers(name, value), now);
            assert_eq!(found, expected.map(Duration::from_secs), "{name}: {value}");
        }
    }

    #[test]
    fn delays_double_and_end() {
        let policy = RetryPolicy::default();
        for (retry, least) in [(0, 1), (1, 2), (2, 4), (3, 8), (4, 8)] {
            let least = Duration::from_secs(least);
            let found = policy.wait(retry, None).expect("retries are left");
            assert!((least..=least.mul_f64(1.25)).contains(&found), "{retry}");
        }
        assert_eq!(policy.wait(5, None), None);
        let asked = Duration::from_secs(60);
        assert_eq!(policy.wait(0, Some(asked)), Some(asked));
        assert_eq!(policy.wait(0, Some(Duration::from_secs(301))), None);
    }
}
