//! Headers: those that are sent, and what replies say in theirs.

use indexmap::IndexMap;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use super::client::ClientError;
use super::endpoint::Endpoint;
use super::secret::Secret;
use crate::mask;

/// Headers with which proxies and networks say that they did not ask anybody.
const CACHE_HEADERS: [&str; 9] = [
    "cache-status",
    "cf-aig-cache-status",
    "helicone-cache",
    "x-cache",
    "x-cache-status",
    "x-litellm-cache-hit",
    "x-portkey-cache-status",
    "x-proxy-cache",
    "x-semantic-cache",
];

/// The header that says that a reply is from a cache, as `name: value`.
pub(super) fn from_cache(headers: &HeaderMap) -> Option<String> {
    CACHE_HEADERS.iter().find_map(|name| {
        let value = headers.get(*name)?.to_str().ok()?;
        let words = value.to_ascii_lowercase();
        let mut words = words.split(|c: char| !c.is_ascii_alphanumeric());
        let hit = words.any(|word| matches!(word, "hit" | "true"));
        hit.then(|| format!("{name}: {value}"))
    })
}

/// The `Authorization` header. It is taken from a request that is never sent,
/// because that is where reqwest encodes and checks it.
pub(super) fn authorization(
    http: &reqwest::Client,
    endpoint: &Endpoint,
    key: Option<&Secret>,
) -> Result<Option<HeaderValue>, ClientError> {
    let blank = http.post(endpoint.url().clone());
    let request = match (endpoint.credentials(), key) {
        (Some(known), _) => blank.basic_auth(&known.user, Some(known.password.expose())),
        (None, Some(key)) => blank.bearer_auth(key.expose()),
        (None, None) => return Ok(None),
    };
    let request = request.build().map_err(|_| ClientError::BadKey)?;
    Ok(request.headers().get(AUTHORIZATION).cloned())
}

/// Headers as they are sent.
pub(super) fn headers(given: &IndexMap<String, String>) -> Result<HeaderMap, ClientError> {
    let mut headers = HeaderMap::with_capacity(given.len());
    for (name, value) in given {
        let bad = || ClientError::BadHeader { name: name.clone() };
        let key = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| bad())?;
        value.set_sensitive(mask::is_secret(name));
        headers.insert(key, value);
    }
    Ok(headers)
}
