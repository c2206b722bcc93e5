//! One request to a bucket: its URL, headers and signature, and its body from a file.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::stream;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, RequestBuilder};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::settings::BucketSettings;
use super::signature::{Signed, authorization, date, digest, encoded, hex};

/// How much of a file is read at once.
const PIECE: usize = 256 * 1024;

/// The digest of what an object is made of, kept with it: tells whether it is ours.
pub(super) const CONTENT: &str = "x-amz-meta-content-sha256";

/// A request as it is sent, again and again if need be.
#[derive(Debug, Clone)]
pub(super) struct BucketRequest {
    pub(super) method: Method,
    /// What it asks for, in words.
    pub(super) doing: &'static str,
    /// The whole name of the object; `None` for the bucket itself.
    pub(super) key: Option<String>,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Option<FileBody>,
}

impl BucketRequest {
    pub(super) fn new(method: Method, doing: &'static str, key: Option<String>) -> Self {
        Self {
            method,
            doing,
            key,
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
        }
    }

    /// The signed request of this moment; `None` if a header cannot be sent.
    pub(super) fn signed(
        &self,
        client: &Client,
        settings: &BucketSettings,
        bucket: &str,
        now: i64,
    ) -> Option<io::Result<RequestBuilder>> {
        let endpoint = &settings.endpoint;
        let mut path = endpoint.path().trim_end_matches('/').to_owned();
        path += &format!("/{}", encoded(bucket, false));
        if let Some(key) = &self.key {
            path += &format!("/{}", encoded(key, true));
        }
        let mut query: Vec<String> = self
            .query
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value, false)))
            .collect();
        query.sort();
        let query = query.join("&");
        let mut url: Url = endpoint.clone();
        url.set_path(&path);
        url.set_query((!query.is_empty()).then_some(query.as_str()));

        let (date, empty) = (date(now), digest(b""));
        let content = self.body.as_ref().map_or(&empty, |body| &body.digest);
        let host = endpoint.host_str()?;
        let host = match endpoint.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let mut headers: Vec<(String, String)> = vec![
            ("host".into(), host),
            ("x-amz-content-sha256".into(), content.clone()),
            ("x-amz-date".into(), date.clone()),
        ];
        if let Some(token) = &settings.credentials.token {
            headers.push(("x-amz-security-token".into(), token.expose().to_owned()));
        }
        for (name, value) in &self.headers {
            headers.push(((*name).to_owned(), value.clone()));
        }
        let signature = authorization(
            settings,
            &Signed {
                method: self.method.as_str(),
                path: &path,
                query: &query,
                headers: &headers,
                body: content,
                date: &date,
            },
        );
        let mut sent = HeaderMap::new();
        for (name, value) in headers.iter().filter(|(name, _)| name != "host") {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            sent.insert(name, secret(value)?);
        }
        sent.insert(AUTHORIZATION, secret(&signature)?);
        let request = client.request(self.method.clone(), url);
        Some(match &self.body {
            None => Ok(request.headers(sent)),
            Some(body) => body.stream().map(|stream| {
                sent.insert(CONTENT_LENGTH, body.length.into());
                request.headers(sent).body(stream)
            }),
        })
    }
}

fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// A file that is sent.
#[derive(Debug, Clone)]
pub(super) struct FileBody {
    path: PathBuf,
    pub(super) length: u64,
    pub(super) digest: String,
}

impl FileBody {
    /// Reads a file through for its digest.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut sum = Sha256::new();
        let mut length = 0;
        let mut piece = vec![0; PIECE];
        loop {
            let n = file.read(&mut piece)?;
            if n == 0 {
                break;
            }
            length += n as u64;
            sum.update(&piece[..n]);
        }
        Ok(Self {
            path: path.to_owned(),
            length,
            digest: hex(&sum.finalize()),
        })
    }

    /// Piece by piece, read on the client's own thread.
    fn stream(&self) -> io::Result<reqwest::Body> {
        let file = File::open(&self.path)?;
        let pieces = stream::try_unfold(file, |mut file| async move {
            let mut piece = vec![0; PIECE];
            let n = file.read(&mut piece)?;
            piece.truncate(n);
            io::Result::Ok((n > 0).then(|| (Bytes::from(piece), file)))
        });
        Ok(reqwest::Body::wrap_stream(pieces))
    }
}
