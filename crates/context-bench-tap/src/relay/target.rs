//! Where a request is for: its arm, its path, its query, and the same at an upstream.

use std::sync::Arc;

use url::Url;

use crate::http1::RequestHead;

/// The target of a request, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) arm: Option<Arc<str>>,
    /// Without the prefix of the arm; always begins with `/`, but for `CONNECT`.
    pub(crate) path: String,
    /// Without `?`.
    pub(crate) query: String,
}

impl Target {
    pub(crate) fn of(head: &RequestHead) -> Self {
        if head.method == "CONNECT" {
            return Self {
                path: head.target.clone(),
                ..Self::default()
            };
        }
        let target = origin_form(&head.target);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (arm, path) = match arm_of(path) {
            Some((arm, rest)) => (Some(Arc::from(arm)), rest),
            None => (None, path),
        };
        let path = match path.is_empty() {
            true => "/".to_owned(),
            false => path.to_owned(),
        };
        Self {
            arm,
            path,
            query: query.to_owned(),
        }
    }

    /// The value of a parameter of the query, as it is spelled.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let mut pairs = self
            .query
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        pairs
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    /// Path and query at this base address. `key` takes the place of a key in the query; our
    /// own `cb` is for the tap and goes no further.
    pub(crate) fn at(&self, base: &Url, key: Option<&str>) -> String {
        let mut out = joined(base.path(), &self.path);
        if self.query.is_empty() {
            return out;
        }
        let pairs = self.query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.filter(|pair| !pair.starts_with("cb="));
        let pairs: Vec<String> = pairs
            .map(|pair| match (pair.split_once('='), key) {
                (Some(("key", _)), Some(key)) => {
                    let key: String =
                        url::form_urlencoded::byte_serialize(key.as_bytes()).collect();
                    format!("key={key}")
                }
                _ => pair.to_owned(),
            })
            .collect();
        // An empty query stays one.
        if !pairs.is_empty() {
            out.push('?');
            out.push_str(&pairs.join("&"));
        }
        out
    }
}

/// A target without scheme and host: forward proxies send the whole address.
fn origin_form(target: &str) -> &str {
    let Some((scheme, rest)) = target.split_once("://") else {
        return target;
    };
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return target;
    }
    let path = rest.find(['/', '?']).unwrap_or(rest.len());
    &rest[path..]
}

/// `/a/ARM/rest` as its arm and its rest.
fn arm_of(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix("/a/")?;
    let end = rest.find('/').unwrap_or(rest.len());
    let (arm, rest) = rest.split_at(end);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    (!arm.is_empty() && arm.bytes().all(is_name)).then_some((arm, rest))
}

/// A path at a base, in which the segments that both have in the middle stand once: some
/// clients are given an address with `/v1` and others without.
fn joined(base: &str, path: &str) -> String {
    let base = base.trim_end_matches('/');
    let shared = base.match_indices('/').find_map(|(from, _)| {
        let rest = path.strip_prefix(&base[from..])?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    });
    match shared {
        Some(rest) => [base, rest].concat(),
        None => [base, path].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http1::Headers;

    fn target(target: &str) -> Target {
        Target::of(&RequestHead {
            method: "POST".to_owned(),
            target: target.to_owned(),
            minor: 1,
            headers: Headers::default(),
        })
    }

    #[test]
    fn targets_are_taken_apart() {
        for (text, arm, path, query) in [
            ("/v1/x", None, "/v1/x", ""),
            ("/a/direct/v1/x?b=1", Some("direct"), "/v1/x", "b=1"),
            ("/a/direct", Some("direct"), "/", ""),
            ("/a//x", None, "/a//x", ""),
            ("/a/%2e/x", None, "/a/%2e/x", ""),
            ("http://h:1/a/x/v1?y", Some("x"), "/v1", "y"),
            ("http://h", None, "/", ""),
        ] {
            let found = target(text);
            let found = (
                found.arm.as_deref(),
                found.path.as_str(),
                found.query.as_str(),
            );
            assert_eq!(found, (arm, path, query), "{text}");
        }
    }

    #[test]
    fn bases_and_paths_are_joined() {
        for (base, path, expected) in [
            ("http://h", "/v1/x", "/v1/x"),
            ("http://h/v1", "/v1/x", "/v1/x"),
            ("http://h/v1/", "/x", "/v1/x"),
            ("http://h/openai/v1", "/v1/x", "/openai/v1/x"),
            ("http://h/v1", "/v1beta/x", "/v1/v1beta/x"),
            (
                "http://h",
                "/v1/m:g?key=abc&cb=1&alt=sse",
                "/v1/m:g?key=r%2Fk&alt=sse",
            ),
            ("http://h", "/v1/m?cb=1", "/v1/m"),
        ] {
            let base = Url::parse(base).unwrap();
            assert_eq!(target(path).at(&base, Some("r/k")), expected);
        }
        let base = Url::parse("http://h").unwrap();
        assert_eq!(target("/x?key=own").at(&base, None), "/x?key=own");
    }
}
