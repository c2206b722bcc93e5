//! Which models an endpoint says it has.
//!
//! A question on the side: whatever keeps it from an answer (no such path, an odd reply,
//! a slow server) is silence, never an error. Nothing is billed for it.

use std::time::Duration;

use serde_json::Value;

use super::headers::credentials;
use super::{Endpoint, Secret, http};

/// How long the list may take, connection included.
const PATIENCE: Duration = Duration::from_secs(3);
/// The longest list that is read.
const MAX_LIST: usize = 8_000_000;
/// Anything longer is not a name.
const MAX_NAME: usize = 200;

impl Endpoint {
    /// The names that `GET …/v1/models` lists; `None` unless it gives a whole list.
    pub async fn listed_models(&self, key: Option<&Secret>) -> Option<Vec<String>> {
        tokio::time::timeout(PATIENCE, self.models(key))
            .await
            .ok()
            .flatten()
    }

    async fn models(&self, key: Option<&Secret>) -> Option<Vec<String>> {
        let http = http::build(self, PATIENCE, None).ok()?;
        let key = key.filter(|key| !key.is_empty());
        let request = http.get(self.beside("models").url().clone());
        let request = request.headers(self.api().headers());
        let request = request.headers(credentials(&http, self, key).ok()?);
        let mut response = request.send().await.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.ok()? {
            body.extend_from_slice(&piece);
            if body.len() > MAX_LIST {
                return None;
            }
        }
        names(&serde_json::from_slice(&body).ok()?)
    }
}

/// The names of a list that is whole and names something.
fn names(list: &Value) -> Option<Vec<String>> {
    if list["has_more"] == true {
        return None;
    }
    let ids = list["data"]
        .as_array()?
        .iter()
        .map(|one| one["id"].as_str());
    let names = ids.collect::<Option<Vec<&str>>>()?;
    let is_name = |name: &&&str| name.len() <= MAX_NAME && !name.contains(char::is_control);
    let names: Vec<String> = names
        .iter()
        .filter(is_name)
        .map(|&n| n.to_owned())
        .collect();
    (!names.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_is_whole_or_none() {
        let found = names(&json!({"object": "list", "data": [{"id": "a"}, {"id": "b\n"}]}));
        assert_eq!(found, Some(vec!["a".to_owned()]));
        for odd in [
            json!({"data": []}),
            json!({"data": [{"id": "a"}], "has_more": true}),
            json!({"data": [{"name": "a"}]}),
            json!({"data": {"id": "a"}}),
            json!(["a"]),
            json!(null),
        ] {
            assert_eq!(names(&odd), None, "{odd}");
        }
    }

    #[test]
    fn the_list_stands_beside_the_completions() {
        for (url, expected) in [
            ("http://h", "http://h/v1/models"),
            ("http://h/p/v1/completions", "http://h/p/v1/models"),
            ("http://h/openai/chat/completions", "http://h/openai/models"),
        ] {
            let endpoint = Endpoint::parse(url).expect(url);
            assert_eq!(endpoint.beside("models").to_string(), expected);
        }
    }
}
