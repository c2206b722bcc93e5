//! Several files into the cache: those that are missing, some at a time.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::cache::RepoCache;
use crate::download::{Job, download};
use crate::error::HubError;
use crate::file::{Checksum, RemoteFile};
use crate::http::Http;
use crate::lock::Lock;
use crate::progress::{Event, Progress};
use crate::settings::HubSettings;
use crate::tree::file_url;
use crate::verify::VerifiedFiles;

/// Fetches files that are not in the cache; gives the paths of all of them.
pub(crate) fn fetch(
    http: &Http,
    settings: &HubSettings,
    verified: &VerifiedFiles,
    files: &[RemoteFile],
    progress: &dyn Progress,
) -> Result<Vec<PathBuf>, HubError> {
    let cache = |file: &RemoteFile| RepoCache::new(&settings.cache, &file.repo);
    let mut found: Vec<Option<PathBuf>> = files
        .iter()
        .map(|file| verified.found(&cache(file), file, settings.offline))
        .collect::<Result<_, _>>()?;
    let missing: Vec<usize> = (0..files.len()).filter(|at| found[*at].is_none()).collect();
    let bytes = |which: &[usize]| -> u64 { which.iter().map(|at| files[*at].size).sum() };
    let total: u64 = files.iter().map(|file| file.size).sum();
    progress.event(&Event::Plan {
        files: files.len(),
        bytes: total,
        cached_files: files.len() - missing.len(),
        cached_bytes: total - bytes(&missing),
    });
    if let Some(first) = missing.first().filter(|_| settings.offline) {
        return Err(HubError::Offline {
            what: format!("`{}`", files[*first].shown()),
            cache: settings.cache.clone(),
            cached: match files.len() - missing.len() {
                0 => String::new(),
                some => format!("{some} of {} files are there", files.len()),
            },
        });
    }
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let outcomes = Mutex::new(Vec::new());
    let work = || {
        while let Some(at) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let file = &files[*at];
            let outcome = one(http, &cache(file), verified, file, progress, &stop);
            if outcome.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            if let Ok(mut outcomes) = outcomes.lock() {
                outcomes.push((*at, outcome));
            }
        }
    };
    let workers = settings.parallel.clamp(1, 64).min(missing.len());
    std::thread::scope(|scope| {
        for _ in 1..workers {
            // With fewer threads than wished the rest of them does the work.
            let name = std::thread::Builder::new().name("hub-fetch".to_owned());
            let _ = name.spawn_scoped(scope, work);
        }
        work();
    });
    let mut failure = None;
    for (at, outcome) in outcomes.into_inner().unwrap_or_default() {
        match outcome {
            Ok(path) => found[at] = Some(path),
            // Files that were stopped because of another one come second.
            Err(HubError::Thread) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    if let Some(error) = failure {
        return Err(error);
    }
    let paths: Option<Vec<PathBuf>> = found.into_iter().collect();
    paths.ok_or(HubError::Thread)
}

/// Remembers which commits the revisions of these files named. Only once all of
/// them are there: until then the revision still names the commit before, whose
/// files may be complete.
pub(crate) fn remember(settings: &HubSettings, files: &[RemoteFile]) {
    for file in files {
        // A cache that cannot be written to, but has everything, is fine.
        let cache = RepoCache::new(&settings.cache, &file.repo);
        let _ = cache.remember(&file.revision, &file.commit);
    }
}

fn one(
    http: &Http,
    cache: &RepoCache,
    verified: &VerifiedFiles,
    file: &RemoteFile,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<PathBuf, HubError> {
    let name = file.shown();
    let Some(checksum) = &file.checksum else {
        return Err(HubError::BadReply {
            url: file_url(http, file)?.to_string(),
            reason: "the listing names no checksum for it".to_owned(),
        });
    };
    cache.tag();
    let lock = Lock::take(&cache.lock(checksum), || {
        progress.event(&Event::Waiting { path: &name });
    })?;
    let blob = cache.blob(checksum);
    let is_there = cache.has_blob(checksum, file.size);
    if !is_there || !verified.is_whole(&blob, checksum, file.size) {
        get(http, cache, file, checksum, &name, progress, stop)?;
    }
    let pointer = cache.link(file, checksum)?;
    drop(lock);
    progress.event(&Event::Done { path: &name });
    Ok(pointer)
}

fn get(
    http: &Http,
    cache: &RepoCache,
    file: &RemoteFile,
    checksum: &Checksum,
    name: &str,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<(), HubError> {
    let target = cache.blob(checksum);
    let job = Job {
        name,
        url: file_url(http, file)?,
        incomplete: cache.blobs().join(format!("{checksum}.incomplete")),
        target,
        size: Some(file.size),
        most: file.size,
        checksum: Some(checksum),
        // The address names a commit: what is behind it never changes, and the
        // checksum has the last word.
        if_range: None,
    };
    let explain = |reply: crate::reply::Reply| {
        if reply.promised.error_code.as_deref() == Some("EntryNotFound") {
            return HubError::FileNotFound {
                kind: file.repo.kind(),
                repo: file.repo.to_string(),
                revision: file.revision.clone(),
                pattern: file.path.clone(),
                near: Vec::new(),
            };
        }
        reply.into_repo_error(http, &file.repo, &file.revision)
    };
    download(http, &job, &explain, progress, stop)
}
