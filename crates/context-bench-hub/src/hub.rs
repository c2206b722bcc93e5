//! `Hub`: the one entry. It decides what needs a request and what the cache has.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use url::Url;

use crate::cache::RepoCache;
use crate::error::{At as _, HubError};
use crate::fetch;
use crate::file::RemoteFile;
use crate::http::{Http, HubRequest, outside, shown};
use crate::listing::{Listing, by_patterns};
use crate::progress::Progress;
use crate::ranged::RangedFile;
use crate::repo::{MAIN, RepoId, check_revision, encode_revision, is_commit};
use crate::resolve::{ConfigInfo, Plan, ResolvedSplit};
use crate::settings::HubSettings;
use crate::tree;
use crate::verify::VerifiedFiles;
use crate::web;
use crate::words::size;

/// The largest README that is read.
const MAX_README: u64 = 64_000_000;

/// A client for the datasets and models of a hub, with its cache. All calls block; they may
/// come from several threads, also from threads of another runtime.
pub struct Hub {
    http: std::sync::Arc<Http>,
    settings: HubSettings,
    verified: VerifiedFiles,
}

/// What the cache has of a split.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CachedFiles {
    /// The commit that the revision named when it was last fetched.
    pub commit: Option<String>,
    /// How many files are there.
    pub files: usize,
    /// How many files the split has, when that is known without a request.
    pub of_files: Option<usize>,
    /// The size in bytes of what is there.
    pub bytes: u64,
    /// The size in bytes of all of it, when known.
    pub of_bytes: Option<u64>,
}

impl CachedFiles {
    /// Whether the split can be read with no request.
    pub fn is_complete(&self) -> bool {
        self.of_files
            .is_some_and(|all| all > 0 && self.files == all)
    }
}

impl Hub {
    /// Makes a client; no request is sent yet.
    ///
    /// # Errors
    ///
    /// When the endpoint or the token cannot be used.
    pub fn new(settings: HubSettings) -> Result<Self, HubError> {
        let endpoint = endpoint(&settings.endpoint)?;
        let http = std::sync::Arc::new(Http::new(&settings, endpoint)?);
        Ok(Self {
            http,
            settings,
            verified: VerifiedFiles::default(),
        })
    }

    /// The settings that this client was made with.
    pub fn settings(&self) -> &HubSettings {
        &self.settings
    }

    /// Finds the files of a split. Without a revision the newest commit is
    /// asked for; without a config the default one is taken.
    ///
    /// # Errors
    ///
    /// When there is no such repo, revision, config or split, or no access.
    pub fn resolve(
        &self,
        repo: &str,
        revision: Option<&str>,
        config: Option<&str>,
        split: &str,
    ) -> Result<ResolvedSplit, HubError> {
        let repo = RepoId::parse(repo)?;
        outside(|| Plan::make(self, &repo, revision.unwrap_or(MAIN))?.resolve(config, split))
    }

    /// The configs of a repo with the names of their splits.
    ///
    /// # Errors
    ///
    /// As [`Hub::resolve`].
    pub fn configs(&self, repo: &str, revision: Option<&str>) -> Result<Vec<ConfigInfo>, HubError> {
        let repo = RepoId::parse(repo)?;
        outside(|| Ok(Plan::make(self, &repo, revision.unwrap_or(MAIN))?.describe()))
    }

    /// The files that paths or patterns name, in their order, each file once.
    ///
    /// # Errors
    ///
    /// When a pattern matches no file, and as [`Hub::resolve`].
    pub fn files(
        &self,
        repo: &str,
        revision: Option<&str>,
        patterns: &[&str],
    ) -> Result<Vec<RemoteFile>, HubError> {
        let repo = RepoId::parse(repo)?;
        outside(|| by_patterns(&self.listing(&repo, revision.unwrap_or(MAIN))?, patterns))
    }

    /// All files of a model. Some of them may be in the cache only when it was fetched
    /// without its listing, by another tool, and no request may be sent.
    ///
    /// # Errors
    ///
    /// When there is no such repo or revision, or no access.
    pub fn model_files(
        &self,
        repo: &str,
        revision: Option<&str>,
    ) -> Result<Vec<RemoteFile>, HubError> {
        let repo = RepoId::model(repo)?;
        outside(|| Ok(self.listing(&repo, revision.unwrap_or(MAIN))?.files))
    }

    /// Puts files into the cache, those that are not there yet; gives their
    /// paths in the same order.
    ///
    /// # Errors
    ///
    /// The first failure; what was downloaded until then is kept, also parts.
    pub fn fetch(
        &self,
        files: &[RemoteFile],
        progress: &dyn Progress,
    ) -> Result<Vec<PathBuf>, HubError> {
        outside(|| {
            let paths = fetch::fetch(&self.http, &self.settings, &self.verified, files, progress)?;
            fetch::remember(&self.settings, files);
            Ok(paths)
        })
    }

    /// As [`Hub::fetch`], for some of the files of a split. What a revision was when
    /// all of them were there stays known: offline, a part does not replace that.
    ///
    /// # Errors
    ///
    /// As [`Hub::fetch`].
    pub fn fetch_some(
        &self,
        files: &[RemoteFile],
        progress: &dyn Progress,
    ) -> Result<Vec<PathBuf>, HubError> {
        outside(|| {
            let paths = fetch::fetch(&self.http, &self.settings, &self.verified, files, progress)?;
            let is_new = |file: &&RemoteFile| {
                let cache = RepoCache::new(&self.settings.cache, &file.repo);
                cache.commit(&file.revision).is_none()
            };
            let new: Vec<RemoteFile> = files.iter().filter(is_new).cloned().collect();
            fetch::remember(&self.settings, &new);
            Ok(paths)
        })
    }

    /// The path of a file that is in the cache already.
    pub fn in_cache(&self, file: &RemoteFile) -> Option<PathBuf> {
        RepoCache::new(&self.settings.cache, &file.repo).found(file)
    }

    /// Opens a file for reading parts of it; from the cache when it is there.
    ///
    /// # Errors
    ///
    /// When the file cannot be reached.
    pub fn open_ranged(&self, file: &RemoteFile) -> Result<RangedFile, HubError> {
        outside(|| {
            let cache = RepoCache::new(&self.settings.cache, &file.repo);
            let offline = self.settings.offline;
            if let Some(path) = self.verified.found(&cache, file, offline)? {
                return RangedFile::local(&path);
            }
            if offline {
                return Err(self.not_cached(format!("`{}`", file.shown()), String::new()));
            }
            RangedFile::of_repo(std::sync::Arc::clone(&self.http), file)
        })
    }

    /// Fetches a file by its `http(s)://` address into our own cache; asks
    /// whether it has changed when it is there already.
    ///
    /// # Errors
    ///
    /// When there is nothing at the address or it cannot be reached.
    pub fn fetch_url(&self, url: &str, progress: &dyn Progress) -> Result<PathBuf, HubError> {
        let url = web::parse(url)?;
        outside(|| web::fetch(&self.http, &self.settings, &url, progress))
    }

    /// Whether a file was fetched by its address before; it may have changed since.
    pub fn has_url(&self, url: &str) -> bool {
        web::parse(url).is_ok_and(|url| web::cached(&self.settings, &url).is_some())
    }

    /// Opens a file by its `http(s)://` address for reading parts of it.
    ///
    /// # Errors
    ///
    /// As [`Hub::fetch_url`], and when the server does not serve parts.
    pub fn open_url_ranged(&self, url: &str) -> Result<RangedFile, HubError> {
        let url = web::parse(url)?;
        outside(|| {
            if self.settings.offline {
                return match web::cached(&self.settings, &url) {
                    Some(path) => RangedFile::local(&path),
                    None => Err(self.not_cached(shown(&url), String::new())),
                };
            }
            RangedFile::of_url(std::sync::Arc::clone(&self.http), url)
        })
    }

    /// What the cache has of a split, with no request.
    pub fn cached(
        &self,
        repo: &str,
        revision: Option<&str>,
        config: Option<&str>,
        split: &str,
    ) -> CachedFiles {
        let Ok(repo) = RepoId::parse(repo) else {
            return CachedFiles::default();
        };
        let revision = revision.unwrap_or(MAIN);
        let offline = self.offline();
        let commit = RepoCache::new(&self.settings.cache, &repo).commit(revision);
        let resolved = Plan::make(&offline, &repo, revision).and_then(|p| p.resolve(config, split));
        match resolved {
            Ok(resolved) => self.count(&resolved.files, Some(resolved.commit)),
            Err(_) => CachedFiles {
                commit,
                ..CachedFiles::default()
            },
        }
    }

    /// What the cache has of files that paths or patterns name, with no request.
    pub fn cached_files(
        &self,
        repo: &str,
        revision: Option<&str>,
        patterns: &[&str],
    ) -> CachedFiles {
        let offline = self.offline();
        match offline.files(repo, revision, patterns) {
            Ok(files) => {
                let commit = files.first().map(|file| file.commit.clone());
                self.count(&files, commit)
            }
            Err(_) => CachedFiles::default(),
        }
    }

    fn count(&self, files: &[RemoteFile], commit: Option<String>) -> CachedFiles {
        let there: Vec<&RemoteFile> = files
            .iter()
            .filter(|file| self.in_cache(file).is_some())
            .collect();
        CachedFiles {
            commit,
            files: there.len(),
            of_files: Some(files.len()),
            bytes: there.iter().map(|file| file.size).sum(),
            of_bytes: Some(files.iter().map(|file| file.size).sum()),
        }
    }

    /// The same hub without requests.
    fn offline(&self) -> Self {
        Self {
            http: std::sync::Arc::clone(&self.http),
            settings: HubSettings {
                offline: true,
                ..self.settings.clone()
            },
            verified: VerifiedFiles::default(),
        }
    }

    /// All files of a revision: one request for its commit (none for a commit),
    /// and the listing once per commit.
    pub(crate) fn listing(&self, repo: &RepoId, revision: &str) -> Result<Listing, HubError> {
        check_revision(repo, revision)?;
        let cache = RepoCache::new(&self.settings.cache, repo);
        let listing = |commit: String, files, is_complete| Listing {
            repo: repo.clone(),
            revision: revision.to_owned(),
            commit,
            files,
            is_complete,
            cache: cache.root().to_owned(),
        };
        if self.settings.offline {
            let kind = repo.kind();
            let missing = || {
                let what = match revision {
                    MAIN => format!("the {kind} repo `{repo}`"),
                    other => format!("revision `{other}` of the {kind} repo `{repo}`"),
                };
                self.not_cached(what, String::new())
            };
            let commit = cache.commit(revision).ok_or_else(missing)?;
            if let Some(files) = tree::kept(&cache, repo, revision, &commit) {
                return Ok(listing(commit, files, true));
            }
            let files = cache.snapshot_files(&commit, revision);
            if files.is_empty() {
                return Err(missing());
            }
            return Ok(listing(commit, files, false));
        }
        let commit = if is_commit(revision) {
            revision.to_owned()
        } else {
            self.ask_commit(&cache, repo, revision)?
        };
        let files = match tree::kept(&cache, repo, revision, &commit) {
            Some(files) => files,
            None => tree::ask(&self.http, &cache, repo, revision, &commit)?,
        };
        Ok(listing(commit, files, true))
    }

    /// The commit that a branch or tag names now.
    fn ask_commit(
        &self,
        cache: &RepoCache,
        repo: &RepoId,
        revision: &str,
    ) -> Result<String, HubError> {
        let rest = format!("revision/{}?expand=sha", encode_revision(revision));
        let url = tree::api_url(&self.http, repo, &rest)?;
        let reply = match self.http.send(&HubRequest::get(url)) {
            Ok(reply) => reply,
            Err(HubError::Unreachable { host, reason, .. }) => {
                let cached = cache.commit(revision).map_or(String::new(), |commit| {
                    format!("commit {commit:.7} of `{repo}` is in the cache")
                });
                return Err(HubError::Unreachable {
                    host,
                    reason,
                    cached,
                });
            }
            Err(error) => return Err(error),
        };
        if reply.status != 200 {
            return Err(reply.into_repo_error(&self.http, repo, revision));
        }
        let at = shown(&reply.url);
        let body: Option<Value> = serde_json::from_str(&reply.text(&self.http)?).ok();
        let sha = body.and_then(|body| Some(body.get("sha")?.as_str()?.to_owned()));
        sha.filter(|sha| is_commit(sha))
            .ok_or_else(|| HubError::BadReply {
                url: at,
                reason: "it names no commit".to_owned(),
            })
    }

    /// Remembers the commit of a revision.
    pub(crate) fn remember(&self, listing: &Listing) {
        if !self.settings.offline {
            let cache = RepoCache::new(&self.settings.cache, &listing.repo);
            // A cache that cannot be written to can still be read from.
            let _ = cache.remember(&listing.revision, &listing.commit);
        }
    }

    /// The text of the README, through the cache.
    pub(crate) fn readme(&self, file: &RemoteFile) -> Result<String, HubError> {
        if file.size > MAX_README {
            return Err(HubError::Card {
                repo: file.repo.to_string(),
                reason: format!("its README has {}", size(file.size)),
            });
        }
        let paths = fetch::fetch(
            &self.http,
            &self.settings,
            &self.verified,
            std::slice::from_ref(file),
            &(),
        )?;
        let path: &Path = paths.first().ok_or(HubError::Thread)?;
        let bytes = fs::read(path).at("read", path)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn not_cached(&self, what: String, cached: String) -> HubError {
        HubError::Offline {
            what,
            cache: self.settings.cache.clone(),
            cached,
        }
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

fn endpoint(text: &str) -> Result<Url, HubError> {
    // Whatever stands before an `@` may be a password.
    let value = text.rsplit('@').next().unwrap_or_default().to_owned();
    let wrong = |reason: &str| HubError::variable("HF_ENDPOINT", value.clone(), reason);
    let url = Url::parse(text.trim()).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong("it must begin with `https://` or `http://`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("it must hold no user name or password"));
    }
    Ok(url)
}
