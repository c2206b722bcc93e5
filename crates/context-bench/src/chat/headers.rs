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

/// What proves to an endpoint who asks: credentials of the URL, and the key in the header of
/// the API. Where both would be the same header, the credentials go first, since they were
/// written for this very endpoint.
pub(super) fn credentials(
    http: &reqwest::Client,
    endpoint: &Endpoint,
    key: Option<&Secret>,
) -> Result<HeaderMap, ClientError> {
    let mut headers = HeaderMap::new();
    let name = endpoint.api().key_header();
    match (endpoint.credentials(), key) {
        (_, Some(key)) if name != AUTHORIZATION => {
            let value = HeaderValue::from_str(key.expose().trim());
            let mut value = value.map_err(|_| ClientError::BadKey)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        (None, Some(key)) => {
            let bearer = http.post(endpoint.url().clone()).bearer_auth(key.expose());
            headers.extend(authorization(bearer)?.map(|value| (AUTHORIZATION, value)));
        }
        _ => {}
    }
    if let Some(known) = endpoint.credentials() {
        let blank = http.post(endpoint.url().clone());
        let basic = blank.basic_auth(&known.user, Some(known.password.expose()));
        headers.extend(authorization(basic)?.map(|value| (AUTHORIZATION, value)));
    }
    Ok(headers)
}

/// The `Authorization` of a request that is never sent, because that is where reqwest encodes
/// and checks it.
fn authorization(request: reqwest::RequestBuilder) -> Result<Option<HeaderValue>, ClientError> {
    let request = request.build().map_err(|_| ClientError::BadKey)?;
    Ok(request.headers().get(AUTHORIZATION).cloned())
}

/// Whether the endpoint says that another attempt is of no use.
pub(super) fn forbids_retry(headers: &HeaderMap) -> bool {
    let said = headers.get("x-should-retry");
    said.is_some_and(|value| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"false"))
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
