//! Files by a plain `http(s)://` address, in a cache of our own:
//!
//! ```text
//! <url cache>/<digest of the address>/
//!   source.json                        which version is here
//!   <digest of its validator>/<name>
//! ```
//!
//! A server that names versions (`ETag`, `Last-Modified`) is asked once per
//! fetch whether its file is still the same; one that does not is asked for the
//! whole file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::cache::write_whole;
use crate::download::{Job, download};
use crate::error::{At as _, HubError};
use crate::file::hex;
use crate::http::{Http, HubRequest, shown};
use crate::lock::Lock;
use crate::progress::{Event, Progress};
use crate::reply::Reply;
use crate::settings::HubSettings;

/// Reads an address.
pub(crate) fn parse(text: &str) -> Result<Url, HubError> {
    let wrong = |reason: &str| {
        let rest = text.rsplit('@').next().unwrap_or_default();
        HubError::BadUrl {
            url: rest.split(['?', '#']).next().unwrap_or_default().to_owned(),
            reason: reason.to_owned(),
        }
    };
    let url = Url::parse(text.trim()).map_err(|error| wrong(&error.to_string()))?;
    match (url.scheme(), url.host()) {
        ("http" | "https", Some(_)) => Ok(url),
        _ => Err(wrong("it does not begin with `https://` or `http://`")),
    }
}

/// What a status about an address means.
pub(crate) fn refused(http: &Http, reply: Reply) -> HubError {
    match reply.status {
        404 | 410 => HubError::UrlNotFound {
            url: shown(&reply.url),
            code: reply.status,
        },
        _ => reply.into_error(http),
    }
}

/// A validator that says the bytes are the same, for `If-Range`.
pub(crate) fn strong_validator(headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
    text("etag")
        .filter(|etag| !etag.starts_with("W/"))
        .or_else(|| text("last-modified"))
}

/// A validator that says the content is the same.
fn validator(headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
    text("etag").or_else(|| text("last-modified"))
}

fn digest(text: &str) -> String {
    let mut digits = hex(&Sha256::digest(text.as_bytes()));
    digits.truncate(32);
    digits
}

fn folder(settings: &HubSettings, url: &Url) -> PathBuf {
    settings.url_cache.join(digest(url.as_str()))
}

/// The last part of the address, which says the format of the file.
fn name(url: &Url) -> String {
    let last = url.path().rsplit('/').next().unwrap_or_default();
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = last
        .chars()
        .map(|c| if safe(c) { c } else { '_' })
        .collect();
    match name.trim_matches('.') {
        "" => "data".to_owned(),
        name => name
            .chars()
            .rev()
            .take(120)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect(),
    }
}

/// What `source.json` says, if the file it speaks of is there.
fn known(folder: &Path) -> Option<(PathBuf, Option<String>)> {
    let text = fs::read_to_string(folder.join("source.json")).ok()?;
    let source: Value = serde_json::from_str(&text).ok()?;
    let version = source.get("version")?.as_str()?;
    let path = folder.join(version).join(source.get("name")?.as_str()?);
    let there = fs::metadata(&path).ok()?;
    let whole = there.is_file() && Some(there.len()) == source.get("size")?.as_u64();
    let validator = source.get("validator").and_then(Value::as_str);
    whole.then(|| (path, validator.map(str::to_owned)))
}

/// The file of an address, if it was fetched before.
pub(crate) fn cached(settings: &HubSettings, url: &Url) -> Option<PathBuf> {
    known(&folder(settings, url)).map(|(path, _)| path)
}

/// Fetches a file that is not there in the version that the server has.
pub(crate) fn fetch(
    http: &Http,
    settings: &HubSettings,
    url: &Url,
    progress: &dyn Progress,
) -> Result<PathBuf, HubError> {
    let folder = folder(settings, url);
    let shown_url = shown(url);
    if settings.offline {
        return cached(settings, url).ok_or_else(|| HubError::Offline {
            what: shown_url,
            cache: settings.url_cache.clone(),
            cached: String::new(),
        });
    }
    let reply = match http.send(&HubRequest::head(url.clone())) {
        Err(HubError::Unreachable { host, reason, .. }) => {
            let cached = match cached(settings, url) {
                Some(_) => "an earlier download is in the cache".to_owned(),
                None => String::new(),
            };
            return Err(HubError::Unreachable {
                host,
                reason,
                cached,
            });
        }
        other => other?,
    };
    let (validator, strong) = match reply.status {
        200..300 => (validator(&reply.headers), strong_validator(&reply.headers)),
        // Some servers do not support HEAD; the download will show what is there.
        405 | 501 => (None, None),
        _ => return Err(refused(http, reply)),
    };
    let lock = folder.with_extension("lock");
    let _lock = Lock::take(&lock, || {
        progress.event(&Event::Waiting { path: &shown_url });
    })?;
    let before = known(&folder);
    if let Some((path, Some(known))) = &before
        && validator.as_ref() == Some(known)
    {
        return Ok(path.clone());
    }
    let version = digest(validator.as_deref().unwrap_or("unknown"));
    let job = Job {
        name: &shown_url,
        url: url.clone(),
        incomplete: folder.join(format!("{version}.incomplete")),
        target: folder.join(&version).join(name(url)),
        size: None,
        most: settings.longest_unannounced,
        checksum: None,
        if_range: strong.as_deref(),
    };
    if strong.is_none() {
        // Nothing would show whether the rest belongs to the beginning.
        let _ = fs::remove_file(&job.incomplete);
    }
    let version_folder = folder.join(&version);
    fs::create_dir_all(&version_folder).at("make the folder", &version_folder)?;
    let explain = |reply: Reply| refused(http, reply);
    download(http, &job, &explain, progress, &AtomicBool::new(false))?;
    let size = fs::metadata(&job.target).at("read", &job.target)?.len();
    let source = json!({
        "url": shown_url,
        "validator": validator,
        "version": version,
        "name": name(url),
        "size": size,
    });
    write_whole(&folder.join("source.json"), source.to_string().as_bytes())?;
    if let Some((old, _)) = before
        && old != job.target
    {
        // An old version is of no use; who has it open can still read it.
        let _ = old.parent().map(fs::remove_dir_all);
    }
    progress.event(&Event::Done { path: &shown_url });
    Ok(job.target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe() {
        for (url, expected) in [
            ("http://h/a/b.jsonl.gz?x=1", "b.jsonl.gz"),
            ("http://h/", "data"),
            ("http://h/a%2Fb c.csv", "a_2Fb_20c.csv"),
            ("http://h/..%2e", ".._2e"),
        ] {
            let url = parse(url).expect("an address");
            assert_eq!(name(&url), expected.trim_matches('.'), "{url}");
        }
    }

    #[test]
    fn what_is_no_address_is_said_without_secrets() {
        for text in [
            "ftp://u:secret@h/x",
            "not an address",
            "file:///etc/passwd",
            "https://?q=secret",
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
