//! The complete listing of a commit: asked once, then kept for ever, in the file
//! and format that Python's `huggingface_hub` keeps it in.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use url::Url;

use crate::cache::{RepoCache, write_whole};
use crate::error::HubError;
use crate::file::{Checksum, RemoteFile};
use crate::http::{Http, HubRequest, shown};
use crate::repo::{RepoId, encode_path, encode_revision, relative};

const FORMAT: u64 = 1;
/// A thousand files each; the hub advises against a tenth of it.
const MAX_PAGES: usize = 1000;
/// Of all pages together.
const MAX_BYTES: usize = 512 << 20;

/// One file as the hub lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    path: String,
    size: u64,
    blob_id: String,
    lfs_sha256: Option<String>,
    xet_hash: Option<String>,
}

impl Entry {
    /// Reads a file of the listing; nothing if something is missing.
    fn listed(item: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let lfs = item.get("lfs").filter(|lfs| lfs.is_object());
        let size = lfs
            .and_then(|lfs| lfs.get("size")?.as_u64())
            .or_else(|| item.get("size")?.as_u64())?;
        Some(Self {
            path: text(item.get("path")?)?,
            size,
            blob_id: text(item.get("oid")?)?,
            lfs_sha256: lfs.and_then(|lfs| text(lfs.get("oid")?)),
            xet_hash: item.get("xetHash").and_then(text),
        })
    }

    fn kept(path: &str, item: &Value) -> Option<Self> {
        let text = |key: &str| item.get(key)?.as_str().map(str::to_owned);
        let number = |key: &str| item.get(key)?.as_u64();
        Some(Self {
            path: path.to_owned(),
            size: number("lfs_size").or_else(|| number("size"))?,
            blob_id: text("blob_id")?,
            lfs_sha256: text("lfs_sha256"),
            xet_hash: text("xet_hash"),
        })
    }

    fn to_json(&self) -> Value {
        let mut item = Map::new();
        item.insert("size".to_owned(), json!(self.size));
        item.insert("blob_id".to_owned(), json!(self.blob_id));
        if let Some(sum) = &self.lfs_sha256 {
            item.insert("lfs_sha256".to_owned(), json!(sum));
            item.insert("lfs_size".to_owned(), json!(self.size));
        }
        if let Some(hash) = &self.xet_hash {
            item.insert("xet_hash".to_owned(), json!(hash));
        }
        Value::Object(item)
    }

    fn into_file(self, repo: &RepoId, revision: &str, commit: &str) -> RemoteFile {
        let name = self.lfs_sha256.as_ref().unwrap_or(&self.blob_id);
        RemoteFile {
            repo: repo.clone(),
            revision: revision.to_owned(),
            commit: commit.to_owned(),
            size: self.size,
            checksum: Checksum::parse(name),
            path: self.path,
        }
    }
}

/// The files of a commit by what is kept; nothing if it was never listed or if
/// what is kept cannot be read.
pub(crate) fn kept(
    cache: &RepoCache,
    repo: &RepoId,
    revision: &str,
    commit: &str,
) -> Option<Vec<RemoteFile>> {
    let text = std::fs::read_to_string(cache.tree(commit)).ok()?;
    let data: Value = serde_json::from_str(&text).ok()?;
    if data.get("format_version")?.as_u64()? != FORMAT {
        return None;
    }
    let files = data.get("files")?.as_object()?;
    let mut found = files
        .iter()
        .map(|(path, item)| Some(Entry::kept(path, item)?.into_file(repo, revision, commit)))
        .collect::<Option<Vec<_>>>()?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Some(found)
}

/// The files of a commit as the hub lists them; kept for the next time.
pub(crate) fn ask(
    http: &Http,
    cache: &RepoCache,
    repo: &RepoId,
    revision: &str,
    commit: &str,
) -> Result<Vec<RemoteFile>, HubError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    let mut next = Some(api_url(
        http,
        repo,
        &format!(
            "tree/{}?recursive=true&expand=false",
            encode_revision(commit)
        ),
    )?);
    let (mut pages, mut bytes) = (0, 0);
    while let Some(url) = next {
        let reply = http.send(&HubRequest::get(url))?;
        if reply.status != 200 {
            return Err(reply.into_repo_error(http, repo, revision));
        }
        next = reply
            .text_header("link")
            .and_then(next_page)
            .and_then(|link| Some(same_host(&reply.url, reply.url.join(&link).ok()?)));
        let at = shown(&reply.url);
        let bad = |reason: String| HubError::BadReply {
            url: at.clone(),
            reason,
        };
        let text = reply.text(http)?;
        bytes += text.len();
        let page: Value = serde_json::from_str(&text)
            .map_err(|error| bad(format!("it is not JSON ({error})")))?;
        let items = page.as_array();
        let items = items.ok_or_else(|| bad("it is not a listing".to_owned()))?;
        let before = known.len();
        for item in items {
            if let Some(path) = item.get("path").and_then(Value::as_str) {
                known.insert(path.to_owned());
            }
            match item.get("type").and_then(Value::as_str) {
                Some("file") => entries.push(
                    Entry::listed(item).ok_or_else(|| bad(format!("it lists a file as {item}")))?,
                ),
                _ => continue,
            }
        }
        pages += 1;
        // A server that goes round in circles names nothing new, whatever it calls
        // its pages.
        if next.is_some() && (pages >= MAX_PAGES || bytes > MAX_BYTES || known.len() == before) {
            return Err(bad(format!(
                "the listing does not end: page {pages}, {} files and folders",
                known.len()
            )));
        }
    }
    // A path that leads out of its folder can be neither kept nor read.
    entries.retain(|entry| relative(&entry.path).is_some());
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let listing: Map<String, Value> = entries
        .iter()
        .map(|entry| (entry.path.clone(), entry.to_json()))
        .collect();
    let text = json!({"format_version": FORMAT, "files": listing}).to_string();
    // A cache that cannot be written to can still be read from.
    let _ = write_whole(&cache.tree(commit), text.as_bytes());
    Ok(entries
        .into_iter()
        .map(|entry| entry.into_file(repo, revision, commit))
        .collect())
}

/// An address of the hub's API about a repo.
pub(crate) fn api_url(http: &Http, repo: &RepoId, rest: &str) -> Result<Url, HubError> {
    at_endpoint(http, &format!("{}/{rest}", repo.api_path()))
}

/// The address of a file.
pub(crate) fn file_url(http: &Http, file: &RemoteFile) -> Result<Url, HubError> {
    let revision = encode_revision(&file.commit);
    let path = encode_path(&file.path);
    at_endpoint(
        http,
        &format!("{}/resolve/{revision}/{path}", file.repo.page_path()),
    )
}

fn at_endpoint(http: &Http, rest: &str) -> Result<Url, HubError> {
    let base = http.endpoint().as_str().trim_end_matches('/');
    let text = format!("{base}/{rest}");
    Url::parse(&text).map_err(|error| HubError::BadUrl {
        url: text,
        reason: error.to_string(),
    })
}

/// The next page on the host that was asked: mirrors pass on the links of the hub.
fn same_host(asked: &Url, next: Url) -> Url {
    if next.origin() == asked.origin() {
        return next;
    }
    let mut moved = asked.clone();
    moved.set_path(next.path());
    moved.set_query(next.query());
    moved
}

/// The address of `rel="next"` in a `Link` header.
fn next_page(header: &str) -> Option<String> {
    header.split(',').find_map(|link| {
        let (address, rest) = link.trim().strip_prefix('<')?.split_once('>')?;
        let mut parameters = rest.split(';').map(str::trim);
        let is_next = parameters.any(|part| matches!(part, "rel=\"next\"" | "rel=next"));
        is_next.then(|| address.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found() {
        for (header, expected) in [
            (
                "<http://h/a?cursor=x>; rel=\"next\"",
                Some("http://h/a?cursor=x"),
            ),
            ("<a>; rel=\"prev\", <b>; rel=\"next\"", Some("b")),
            ("<a>; rel=\"prev\"", None),
            ("nonsense", None),
        ] {
            assert_eq!(next_page(header).as_deref(), expected, "{header}");
        }
    }

    #[test]
    fn items_are_read_and_kept_alike() {
        let item = json!({"type": "file", "path": "a.parquet", "oid": "1", "size": 130,
            "lfs": {"oid": "2", "size": 900}, "xetHash": "3"});
        let entry = Entry::listed(&item).expect("a file");
        assert_eq!((entry.size, entry.lfs_sha256.as_deref()), (900, Some("2")));
        assert_eq!(Entry::kept("a.parquet", &entry.to_json()), Some(entry));
        assert_eq!(Entry::listed(&json!({"type": "file", "path": "a"})), None);
    }
}
