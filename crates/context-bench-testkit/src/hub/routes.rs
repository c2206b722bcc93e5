//! What the hub answers to which path.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::content::Content;
use super::fault::Pages;
use super::repo::{FakeFile, FakeRepo};
use super::{GOOD_TOKEN, OTHER_TOKEN, State, locked};
use crate::request::Details;

/// An answer before faults and ranges.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) content: Content,
    /// Whether ranges of it can be asked for.
    pub(crate) has_ranges: bool,
}

impl Answer {
    pub(crate) fn status(status: u16, headers: &[(&str, &str)]) -> Self {
        Self {
            status,
            headers: owned(headers),
            content: Content::from(&b""[..]),
            has_ranges: false,
        }
    }

    fn error(status: u16, code: &str, message: &str) -> Self {
        let headers = [("X-Error-Code", code), ("X-Error-Message", message)];
        Self {
            content: json!({"error": message}).to_string().as_bytes().into(),
            ..Self::status(status, &headers)
        }
    }

    fn json(value: &Value) -> Self {
        Self {
            content: value.to_string().as_bytes().into(),
            ..Self::status(200, &[("Content-Type", "application/json")])
        }
    }

    fn file(content: &Content, headers: &[(&str, &str)]) -> Self {
        Self {
            content: content.clone(),
            has_ranges: true,
            ..Self::status(200, headers)
        }
    }
}

fn owned(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = headers.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// The answer of the CDN: `/blobs/{path}/{sha256}?sig={epoch}`, `/files/{name}`.
pub(crate) fn cdn(state: &State, request: &Details) -> Answer {
    let path = decoded(&request.path);
    if let Some(name) = path.strip_prefix("/files/") {
        let web = locked(&state.web);
        return match web.get(name) {
            Some(file) => {
                let etag = file.etag.as_ref().map(|etag| ("ETag", etag.as_str()));
                Answer::file(&file.content, etag.as_slice())
            }
            None => Answer::status(404, &[]),
        };
    }
    let signature = format!("sig={}", state.epoch.load(Ordering::SeqCst));
    if request.query != signature {
        return Answer::status(403, &[]);
    }
    let wanted = path.rsplit('/').next().unwrap_or_default();
    let repos = locked(&state.repos);
    let found = repos.values().find_map(|repo| repo.large_file(wanted));
    match found {
        // Not the name of the content: a CDN has tags of its own.
        Some(file) => Answer::file(&file.content, &[("ETag", &format!("\"cdn-{wanted}\""))]),
        None => Answer::status(404, &[]),
    }
}

/// The answer of the hub itself.
pub(crate) fn hub(state: &State, request: &Details) -> Answer {
    let token = request
        .headers
        .get("authorization")
        .map(|value| value.trim_start_matches("Bearer ").to_owned());
    let has_token = match token.as_deref() {
        None => false,
        Some(GOOD_TOKEN | OTHER_TOKEN) => true,
        Some(_) => {
            let message = "Invalid credentials in Authorization header";
            return Answer::status(401, &[("X-Error-Message", message)]);
        }
    };
    let is_good = token.as_deref() == Some(GOOD_TOKEN);
    let raw = request.path.as_str();
    // The pages of models stand at the top.
    let places = [
        ("/api/datasets/", true, false),
        ("/api/models/", true, true),
        ("/datasets/", false, false),
        ("/", false, true),
    ];
    let place = places
        .iter()
        .find_map(|(start, is_api, is_model)| Some((raw.strip_prefix(start)?, *is_api, *is_model)));
    let is_file = raw.contains("/resolve/");
    let Some((rest, is_api, is_model)) = place.filter(|(_, is_api, _)| *is_api || is_file) else {
        return Answer::status(404, &[]);
    };
    let markers = ["/revision/", "/tree/", "/parquet", "/resolve/"];
    let cut = markers.iter().filter_map(|mark| rest.find(mark)).min();
    let (name, rest) = rest.split_at(cut.unwrap_or(rest.len()));
    let repos = locked(&state.repos);
    if let Some(renamed) = repos
        .values()
        .filter(|repo| repo.is_model == is_model)
        .find(|repo| repo.earlier_names.iter().any(|earlier| earlier == name))
    {
        let place = raw.replacen(name, &renamed.name, 1);
        let query = if request.query.is_empty() { "" } else { "?" };
        let place = format!("{place}{query}{}", request.query);
        return Answer::status(307, &[("Location", &place)]);
    }
    let mut found = repos.values();
    let found = found.find(|repo| repo.is_model == is_model && repo.name == name);
    let Some(repo) = found.filter(|repo| is_good || !repo.is_private) else {
        let status = if has_token { 404 } else { 401 };
        return Answer::error(status, "RepoNotFound", "Repository not found");
    };
    match (is_api, rest.split('/').nth(1).unwrap_or_default()) {
        (true, "" | "revision") => info(repo, rest),
        (true, "tree") => tree(state, repo, rest, &request.query),
        (true, "parquet") => parquet(state, repo),
        (false, "resolve") if repo.is_gated && !is_good => {
            let status = if has_token { 403 } else { 401 };
            let kind = if is_model { "model" } else { "dataset" };
            let message = format!("Access to {kind} {name} is restricted");
            Answer::error(status, "GatedRepo", &message)
        }
        (false, "resolve") => resolve(state, repo, rest),
        _ => Answer::status(404, &[]),
    }
}

fn no_revision(revision: &str) -> Answer {
    let message = format!("Invalid rev id: {revision}");
    Answer::error(404, "RevisionNotFound", &message)
}

fn info(repo: &FakeRepo, rest: &str) -> Answer {
    let revision = decoded(rest.strip_prefix("/revision/").unwrap_or("main"));
    let (Some(commit), Some(files)) = (repo.commit(&revision), repo.files(&revision)) else {
        return no_revision(&revision);
    };
    let siblings: Vec<Value> = files
        .keys()
        .map(|path| json!({"rfilename": path}))
        .collect();
    Answer::json(&json!({
        "_id": "0", "id": repo.name, "sha": commit, "private": repo.is_private,
        "gated": if repo.is_gated { json!("manual") } else { json!(false) },
        "siblings": siblings, "tags": [], "downloads": 0, "likes": 0,
    }))
}

fn tree(state: &State, repo: &FakeRepo, rest: &str, query: &str) -> Answer {
    let revision = decoded(rest.strip_prefix("/tree/").unwrap_or_default());
    let Some(files) = repo.files(&revision) else {
        return no_revision(&revision);
    };
    let page = state.page.load(Ordering::SeqCst);
    if let Some(pages) = *locked(&state.pages) {
        return endless(state, repo, rest, query, pages);
    }
    let cursor = query
        .split('&')
        .find_map(|part| part.strip_prefix("cursor="));
    let start: usize = cursor.and_then(|text| text.parse().ok()).unwrap_or(0);
    let listed = files.iter().skip(start).take(page);
    let items: Vec<Value> = listed.map(|(path, file)| item(path, file)).collect();
    let mut answer = Answer::json(&Value::Array(items));
    if start + page < files.len() {
        let hub = state.hub.get().expect("set at start");
        let place = format!("{hub}{}{rest}", repo.api_path());
        let next = format!(
            "<{place}?recursive=true&cursor={}>; rel=\"next\"",
            start + page
        );
        answer.headers.push(("Link".to_owned(), next));
    }
    answer
}

/// A page of a listing that does not end.
fn endless(state: &State, repo: &FakeRepo, rest: &str, query: &str, pages: Pages) -> Answer {
    let revision = decoded(rest.strip_prefix("/tree/").unwrap_or_default());
    let files = repo.files(&revision).into_iter().flatten();
    let number: usize = query
        .split('&')
        .find_map(|part| part.strip_prefix("cursor=")?.parse().ok())
        .unwrap_or(0);
    let items: Vec<Value> = match pages {
        Pages::Empty if number > 0 => Vec::new(),
        Pages::New => files
            .map(|(path, file)| item(&format!("{number}/{path}"), file))
            .collect(),
        _ => files.map(|(path, file)| item(path, file)).collect(),
    };
    let hub = state.hub.get().expect("set at start");
    let next = match pages {
        Pages::Same => number,
        _ => number + 1,
    };
    let place = format!("{hub}{}{rest}", repo.api_path());
    let next = format!("<{place}?recursive=true&cursor={next}>; rel=\"next\"");
    let mut answer = Answer::json(&Value::Array(items));
    answer.headers.push(("Link".to_owned(), next));
    answer
}

fn item(path: &str, file: &FakeFile) -> Value {
    let size = file.content.len();
    if file.is_large {
        // The git blob of a large file is its pointer; nobody looks at it.
        let oid = &file.etag[..40];
        let lfs = json!({"oid": file.etag, "size": size, "pointerSize": 134});
        return json!({"type": "file", "oid": oid, "size": size, "path": path, "lfs": lfs});
    }
    json!({"type": "file", "oid": file.etag, "size": size, "path": path})
}

fn parquet(state: &State, repo: &FakeRepo) -> Answer {
    let hub = state.hub.get().expect("set at start");
    let mut listing = json!({});
    let files = repo.files("refs/convert/parquet").into_iter().flatten();
    for (path, _) in files.filter(|(path, _)| path.ends_with(".parquet")) {
        let parts: Vec<&str> = path.split('/').collect();
        if let [config, split, name] = parts[..] {
            let place = "resolve/refs%2Fconvert%2Fparquet";
            let url = format!(
                "{hub}/datasets/{}/{place}/{config}/{split}/{name}",
                repo.name
            );
            let urls = &mut listing[config][split];
            match urls.as_array_mut() {
                Some(urls) => urls.push(json!(url)),
                None => *urls = json!([url]),
            }
        }
    }
    Answer::json(&listing)
}

fn resolve(state: &State, repo: &FakeRepo, rest: &str) -> Answer {
    let rest = rest.strip_prefix("/resolve/").unwrap_or_default();
    let (revision, raw_path) = rest.split_once('/').unwrap_or((rest, ""));
    let (revision, path) = (decoded(revision), decoded(raw_path));
    let (Some(commit), Some(files)) = (repo.commit(&revision), repo.files(&revision)) else {
        return no_revision(&revision);
    };
    let commit = ("X-Repo-Commit", commit.as_str());
    let Some(file) = files.get(&path) else {
        let mut answer = Answer::error(404, "EntryNotFound", "Entry not found");
        answer.headers.extend(owned(&[commit]));
        return answer;
    };
    let etag = format!("\"{}\"", file.etag);
    if !file.is_large {
        return Answer::file(&file.content, &[commit, ("ETag", &etag)]);
    }
    let cdn = state.cdn.get().expect("set at start");
    let epoch = state.epoch.load(Ordering::SeqCst);
    Answer::status(
        302,
        &[
            commit,
            ("X-Linked-Etag", &etag),
            ("X-Linked-Size", &file.content.len().to_string()),
            ("ETag", &etag),
            (
                "Location",
                &format!("{cdn}/blobs/{raw_path}/{}?sig={epoch}", file.etag),
            ),
        ],
    )
}

impl FakeRepo {
    fn api_path(&self) -> String {
        let kind = if self.is_model { "models" } else { "datasets" };
        format!("/api/{kind}/{}", self.name)
    }

    fn large_file(&self, etag: &str) -> Option<&FakeFile> {
        let mut all = self.all_files();
        all.find(|file| file.is_large && file.etag == etag)
    }
}

/// A path without its percent signs.
pub(crate) fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}
