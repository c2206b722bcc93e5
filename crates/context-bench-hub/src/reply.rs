//! An answer of the hub: what it promises, what its status means.

use reqwest::header::{CONTENT_RANGE, HeaderMap};
use url::Url;

use crate::error::HubError;
use crate::http::{Http, NoAnswer, host, shown};
use crate::repo::RepoId;
use crate::words::size;

/// The largest text that is read into memory, such as a page of a listing: those of
/// a thousand files have some 300 KB, and as values they take many times that.
const MAX_TEXT: usize = 32 << 20;
/// How much of the body of an error is read for its message.
const MAX_MESSAGE: usize = 16 * 1024;

/// What the hub says about a file before it redirects to where the file is.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct PromisedFile {
    /// The commit that the revision names.
    pub(crate) commit: Option<String>,
    /// The name of the content: SHA-256 of large files, git's SHA-1 of others.
    pub(crate) etag: Option<String>,
    /// The size of a large file.
    pub(crate) size: Option<u64>,
    /// Whether any part of the answer was an error that the hub names.
    pub(crate) error_code: Option<String>,
}

impl PromisedFile {
    /// Takes in the headers of one answer; the first to say something counts,
    /// because later ones come from other hosts.
    pub(crate) fn note(&mut self, headers: &HeaderMap) {
        let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
        self.commit = self.commit.take().or_else(|| text("x-repo-commit"));
        self.etag = self
            .etag
            .take()
            .or_else(|| text("x-linked-etag").map(|etag| bare_etag(&etag)));
        self.size = self
            .size
            .or_else(|| text("x-linked-size").and_then(|size| size.parse().ok()));
        self.error_code = self.error_code.take().or_else(|| text("x-error-code"));
    }
}

/// An `ETag` without quotes and weakness mark, as it names a blob.
pub(crate) fn bare_etag(etag: &str) -> String {
    etag.trim()
        .trim_start_matches("W/")
        .trim_matches('"')
        .to_owned()
}

/// The answer at the end of all redirects; its body is not read yet.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// Where the answer came from in the end.
    pub(crate) url: Url,
    pub(crate) promised: PromisedFile,
    pub(crate) response: reqwest::Response,
}

impl Reply {
    pub(crate) fn new(response: reqwest::Response, url: Url, promised: PromisedFile) -> Self {
        Self {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            url,
            promised,
            response,
        }
    }

    pub(crate) fn text_header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// First byte and total size of a partial answer: `bytes 5-9/10`.
    pub(crate) fn content_range(&self) -> Option<(u64, Option<u64>)> {
        let value = self.headers.get(CONTENT_RANGE)?.to_str().ok()?;
        let (range, total) = value.strip_prefix("bytes ")?.split_once('/')?;
        let start = range.split('-').next()?.trim().parse().ok();
        Some((start.unwrap_or(0), total.trim().parse().ok()))
    }

    /// The whole body as text.
    pub(crate) fn text(mut self, http: &Http) -> Result<String, HubError> {
        let mut body = Vec::new();
        let at = self.url.clone();
        while let Some(piece) = http.chunk(&mut self.response, &at)? {
            body.extend_from_slice(&piece);
            if body.len() > MAX_TEXT {
                return Err(HubError::BadReply {
                    url: shown(&at),
                    reason: format!("it is longer than {}", size(MAX_TEXT as u64)),
                });
            }
        }
        String::from_utf8(body).map_err(|_| HubError::BadReply {
            url: shown(&at),
            reason: "it is not UTF-8".to_owned(),
        })
    }

    /// The error for an unsuccessful status without a meaning of its own.
    pub(crate) fn into_error(mut self, http: &Http) -> HubError {
        let mut message = self.text_header("x-error-message").map(str::to_owned);
        if message.is_none() {
            let mut body = Vec::new();
            let at = self.url.clone();
            // The status is known; a missing part of its text is not a failure.
            while let Ok::<_, NoAnswer>(Some(piece)) = http.chunk(&mut self.response, &at) {
                body.extend_from_slice(&piece);
                if body.len() > MAX_MESSAGE {
                    break;
                }
            }
            let json: Option<serde_json::Value> = serde_json::from_slice(&body).ok();
            message = json.and_then(|body| Some(body.get("error")?.as_str()?.to_owned()));
        }
        let message = message.map_or_else(String::new, |text| {
            let plain: String = text.chars().filter(|c| !c.is_control()).take(300).collect();
            format!(": {}", http.redact(&plain))
        });
        HubError::Status {
            url: shown(&self.url),
            code: self.status,
            message,
        }
    }

    /// What an unsuccessful answer about a repo means.
    pub(crate) fn into_repo_error(self, http: &Http, repo: &RepoId, revision: &str) -> HubError {
        let endpoint = || host(http.endpoint());
        let with_token = http.has_token();
        let said = self.text_header("x-error-message").unwrap_or_default();
        if with_token && self.status == 401 && said.contains("Invalid credentials") {
            return HubError::BadToken {
                endpoint: endpoint(),
            };
        }
        match (self.promised.error_code.as_deref(), self.status) {
            (Some("GatedRepo"), _) => HubError::Gated {
                kind: repo.kind(),
                repo: repo.to_string(),
                page: format!("{}/{}", endpoint(), repo.page_path()),
                with_token,
            },
            (Some("RevisionNotFound"), _) => HubError::RevisionNotFound {
                kind: repo.kind(),
                repo: repo.to_string(),
                revision: revision.to_owned(),
            },
            // Without a token the hub answers 401 for what does not exist, too.
            (Some("RepoNotFound"), _) | (None, 401 | 404) => HubError::RepoNotFound {
                kind: repo.kind(),
                repo: repo.to_string(),
                endpoint: endpoint(),
                with_token,
            },
            _ => self.into_error(http),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::bare_etag;

    #[test]
    fn etags_become_names() {
        for (etag, expected) in [("\"abc\"", "abc"), ("W/\"abc\"", "abc"), ("abc", "abc")] {
            assert_eq!(bare_etag(etag), expected);
        }
    }
}
