//! How long a server asks to wait before the next attempt.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

/// The wait that a server asks for: `retry-after-ms`, `Retry-After` as seconds (also
/// fractions) or as a date, or the `t` of the `RateLimit` header when nothing remains of
/// the limit. A date that has passed asks for nothing.
pub fn asked_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim());
    let number = |text: &str| text.parse::<f64>().ok();
    let milliseconds = text("retry-after-ms").and_then(number);
    if let Some(wait) = milliseconds.and_then(|ms| seconds(ms / 1000.0)) {
        return Some(wait);
    }
    let Some(value) = text("retry-after") else {
        return limit_reset(text("ratelimit")?);
    };
    match number(value) {
        Some(value) => seconds(value),
        None => {
            let date = httpdate::parse_http_date(value).ok()?;
            date.duration_since(now).ok()
        }
    }
}

/// When a limit such as `"api";r=0;t=55` is lifted. The Hugging Face hub sends it with
/// every reply; it matters when `r`, the requests that are left, is 0.
fn limit_reset(limit: &str) -> Option<Duration> {
    let number = |key: &str| {
        let mut parts = limit.split(';').map(str::trim);
        parts.find_map(|part| part.strip_prefix(key)?.parse::<u64>().ok())
    };
    (number("r=")? == 0).then_some(())?;
    Some(Duration::from_secs(number("t=")?))
}

/// Seconds as a duration: more than fits is the longest one, less than 0 none.
fn seconds(value: f64) -> Option<Duration> {
    if value.is_nan() || value < 0.0 {
        return None;
    }
    Some(Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                let name = reqwest::header::HeaderName::from_static(name);
                (name, value.parse().expect("a header value"))
            })
            .collect()
    }

    #[test]
    fn waits_are_read_in_all_spellings() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").expect("a date");
        for (pairs, expected) in [
            (&[][..], None),
            (&[("x-other", "7")], None),
            (&[("retry-after", "7")][..], Some(7.0)),
            (&[("retry-after", " 0.25 ")], Some(0.25)),
            (
                &[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")],
                Some(10.0),
            ),
            (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (
                &[("retry-after-ms", "1500"), ("retry-after", "2")],
                Some(1.5),
            ),
            (&[("retry-after-ms", "x"), ("retry-after", "2")], Some(2.0)),
            (&[("ratelimit", "\"api\";r=0;t=55")], Some(55.0)),
            (&[("ratelimit", "\"api\";r=12;t=55")], None),
            (&[("ratelimit", "nonsense")], None),
            (
                &[("retry-after", "3"), ("ratelimit", "\"api\";r=0;t=55")],
                Some(3.0),
            ),
        ] {
            let found = asked_wait(&headers(pairs), now);
            assert_eq!(found, expected.map(Duration::from_secs_f64), "{pairs:?}");
        }
        let huge = asked_wait(&headers(&[("retry-after", "1e300")]), now);
        assert_eq!(huge, Some(Duration::MAX));
    }
}
