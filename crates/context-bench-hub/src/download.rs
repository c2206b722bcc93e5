//! One file from an address to its place: resumed, verified, placed in one step.
//!
//! The caller holds the lock of the file. Bytes go to a file beside the target;
//! it outlives a broken connection and a killed process, so that the next
//! attempt asks only for the rest. Only a file with the right checksum is ever
//! renamed to the target.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use context_bench_http::{asked_wait, is_retryable};
use reqwest::header::{IF_RANGE, RANGE};
use url::Url;

use crate::cache::sync_folder;
use crate::error::{At as _, HubError};
use crate::file::{Checksum, ChecksumBuilder};
use crate::http::{Http, HubRequest};
use crate::progress::{Event, Progress};
use crate::reply::Reply;
use crate::words::size;

/// An attempt that got this much further gives the next ones a fresh count.
const GOOD_PROGRESS: u64 = 1 << 20;
/// Kept free on the disk beyond the file itself.
const RESERVE: u64 = 1 << 20;

/// What to fetch and where to put it.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    /// The name for messages and progress.
    pub(crate) name: &'a str,
    pub(crate) url: Url,
    /// Where the bytes are collected.
    pub(crate) incomplete: PathBuf,
    pub(crate) target: PathBuf,
    /// The size, when known beforehand.
    pub(crate) size: Option<u64>,
    /// The most bytes of a file whose size is not announced.
    pub(crate) most: u64,
    /// The checksum, when known beforehand.
    pub(crate) checksum: Option<&'a Checksum>,
    /// The validator of the bytes collected so far, for plain URLs: the rest is
    /// only asked for if the file is still the same.
    pub(crate) if_range: Option<&'a str>,
}

/// Turns an answer without content into an error.
pub(crate) type Explain<'a> = &'a (dyn Fn(Reply) -> HubError + Sync);

/// Why an attempt ended without the whole file.
enum DownloadFailure {
    /// Worth another attempt.
    Retry {
        error: Box<HubError>,
        asked: Option<Duration>,
    },
    Final(Box<HubError>),
}

impl From<HubError> for DownloadFailure {
    fn from(error: HubError) -> Self {
        Self::Final(Box::new(error))
    }
}

/// Downloads a file. Ends early, keeping what came, once `stop` is set.
pub(crate) fn download(
    http: &Http,
    job: &Job<'_>,
    explain: Explain<'_>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<(), HubError> {
    let mut retry = 0;
    let mut damaged = false;
    loop {
        let before = collected(job)?;
        match attempt(http, job, before, explain, progress, stop) {
            Ok(found) => {
                let Some((expected, found)) = mismatch(job.checksum, found) else {
                    break;
                };
                fs::remove_file(&job.incomplete).at("remove", &job.incomplete)?;
                if damaged {
                    return Err(HubError::Checksum {
                        path: job.name.to_owned(),
                        expected,
                        found,
                    });
                }
                damaged = true;
                progress.event(&Event::Restarted { path: job.name });
            }
            Err(DownloadFailure::Final(error)) => return Err(*error),
            Err(DownloadFailure::Retry { error, asked }) => {
                if collected(job)?.saturating_sub(before) >= GOOD_PROGRESS {
                    retry = 0;
                }
                let Some(wait) = http.wait(retry, asked, Duration::ZERO) else {
                    return Err(*error);
                };
                retry += 1;
                progress.event(&Event::Retrying {
                    path: job.name,
                    reason: &error.to_string(),
                    wait,
                });
                pause(wait, stop);
            }
        }
        if stop.load(Ordering::Relaxed) {
            return Err(HubError::Thread);
        }
    }
    fs::rename(&job.incomplete, &job.target).at("write", &job.target)?;
    if let Some(folder) = job.target.parent() {
        sync_folder(folder);
    }
    Ok(())
}

/// One request, from where the bytes so far end. Gives the checksum found.
fn attempt(
    http: &Http,
    job: &Job<'_>,
    before: u64,
    explain: Explain<'_>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Option<String>, DownloadFailure> {
    let mut file = open(&job.incomplete)?;
    let mut sum = ChecksumBuilder::new(job.checksum, job.size.unwrap_or(0));
    let mut done = before;
    if job.size.is_some_and(|size| done > size) {
        done = 0;
    }
    if job.size == Some(done) && done > 0 {
        // Complete, but its process ended before it could say so.
        sum_up(&mut file, done, &mut sum).at("read", &job.incomplete)?;
        return Ok(sum.finish());
    }
    let mut ask = HubRequest::get(job.url.clone());
    if done > 0 {
        ask = ask.header(RANGE, &format!("bytes={done}-"));
        if let Some(validator) = job.if_range {
            ask = ask.header(IF_RANGE, validator);
        }
    }
    let mut reply = http
        .attempt(&ask)
        .map_err(|failed| DownloadFailure::Retry {
            error: Box::new(failed.into()),
            asked: None,
        })?;
    match reply.status {
        200 => done = 0,
        206 => match reply.content_range() {
            Some((start, total))
                if start == done
                    && total.is_none_or(|total| job.size.is_none_or(|size| size == total)) => {}
            _ => return Err(anew(job, &reply, "the wrong range came")),
        },
        416 => return Err(anew(job, &reply, "the rest is refused")),
        status if is_retryable(status) => {
            let asked = asked_wait(&reply.headers, SystemTime::now());
            let error = Box::new(http.refused(reply, asked));
            return Err(DownloadFailure::Retry { error, asked });
        }
        _ => return Err(explain(reply).into()),
    }
    file.set_len(done).at("write", &job.incomplete)?;
    sum_up(&mut file, done, &mut sum).at("read", &job.incomplete)?;
    let whole = job.size.or_else(|| {
        let rest = reply.text_header("content-length")?.parse::<u64>().ok()?;
        Some(done.saturating_add(rest))
    });
    let most = whole.unwrap_or(job.most);
    room(job, whole.map_or(0, |whole| whole.saturating_sub(done)))?;
    progress.event(&Event::Began {
        path: job.name,
        size: whole,
        resumed_at: done,
    });
    let at = reply.url.clone();
    loop {
        let piece = match http.chunk(&mut reply.response, &at) {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            Err(failed) => {
                return Err(DownloadFailure::Retry {
                    error: Box::new(failed.into()),
                    asked: None,
                });
            }
        };
        if done.saturating_add(piece.len() as u64) > most {
            return Err(endless(job, &reply, whole));
        }
        file.write_all(&piece)
            .map_err(|error| full(job, whole.unwrap_or(done).saturating_sub(done), &error))?;
        sum.update(&piece);
        done += piece.len() as u64;
        progress.event(&Event::Received {
            path: job.name,
            bytes: piece.len() as u64,
        });
        if stop.load(Ordering::Relaxed) {
            // Another file failed; what came of this one is kept.
            return Err(HubError::Thread.into());
        }
    }
    if let Some(whole) = whole.filter(|whole| done < *whole) {
        let error = HubError::Unreachable {
            host: crate::http::host(&at),
            reason: format!("it sent {done} bytes of {whole}"),
            cached: String::new(),
        };
        return Err(DownloadFailure::Retry {
            error: Box::new(error),
            asked: None,
        });
    }
    file.sync_all().map_err(|error| full(job, 0, &error))?;
    Ok(sum.finish())
}

/// Throws away what was collected, because there is more of it than there can be:
/// none of it can be trusted, and it must not fill the disk.
fn endless(job: &Job<'_>, reply: &Reply, whole: Option<u64>) -> DownloadFailure {
    if let Err(error) = fs::remove_file(&job.incomplete) {
        return HubError::io("remove", &job.incomplete, &error).into();
    }
    let reason = match whole {
        Some(whole) => format!("it sends more than the {whole} bytes that were announced"),
        None => format!(
            "it sends more than {} and never said how much it would be",
            size(job.most)
        ),
    };
    HubError::BadReply {
        url: crate::http::shown(&reply.url),
        reason,
    }
    .into()
}

/// Throws away what was collected, because the server cannot continue it.
fn anew(job: &Job<'_>, reply: &Reply, reason: &str) -> DownloadFailure {
    let error = HubError::BadReply {
        url: crate::http::shown(&reply.url),
        reason: reason.to_owned(),
    };
    match fs::remove_file(&job.incomplete) {
        Ok(()) => DownloadFailure::Retry {
            error: Box::new(error),
            asked: None,
        },
        Err(error) => HubError::io("remove", &job.incomplete, &error).into(),
    }
}

/// How many bytes are there from earlier attempts.
fn collected(job: &Job<'_>) -> Result<u64, HubError> {
    match fs::metadata(&job.incomplete) {
        Ok(there) => Ok(there.len()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
        Err(error) => Err(HubError::io("read", &job.incomplete, &error)),
    }
}

fn open(path: &Path) -> Result<File, HubError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).at("make the folder", folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).at("write", path)
}

/// Adds what is in the file up to `until` to the sum, and stays there.
fn sum_up(file: &mut File, until: u64, sum: &mut ChecksumBuilder) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let mut left = until;
    let mut buffer = vec![0; 256 * 1024];
    while left > 0 {
        let most = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = file.read(&mut buffer[..most])?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        sum.update(&buffer[..read]);
        left -= read as u64;
    }
    Ok(())
}

fn mismatch(expected: Option<&Checksum>, found: Option<String>) -> Option<(String, String)> {
    let (expected, found) = (expected?.as_str(), found?);
    (expected != found).then(|| (expected.to_owned(), found))
}

/// Refuses a file that the disk has no room for, before it is downloaded.
fn room(job: &Job<'_>, needed: u64) -> Result<(), HubError> {
    let folder = job.target.parent().unwrap_or(Path::new("."));
    match free_space(folder) {
        Some(free) if free < needed.saturating_add(RESERVE) && needed > 0 => {
            Err(HubError::NoSpace {
                path: job.name.to_owned(),
                folder: folder.to_owned(),
                needed,
                free: Some(free),
            })
        }
        _ => Ok(()),
    }
}

/// A write that failed. When there is no room, what was collected is removed:
/// a full disk stops everything else on the machine, too.
fn full(job: &Job<'_>, needed: u64, error: &std::io::Error) -> HubError {
    use ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    if !matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge) {
        return HubError::io("write", &job.incomplete, error);
    }
    let folder = job.target.parent().unwrap_or(Path::new("."));
    let free = free_space(folder);
    let _ = fs::remove_file(&job.incomplete);
    HubError::NoSpace {
        path: job.name.to_owned(),
        folder: folder.to_owned(),
        needed,
        // With room on the disk, the limit was another one.
        free: free.filter(|free| *free < needed),
    }
}

#[cfg(unix)]
fn free_space(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

#[cfg(not(unix))]
fn free_space(_folder: &Path) -> Option<u64> {
    None
}

/// Sleeps, but not past a stop.
fn pause(wait: Duration, stop: &AtomicBool) {
    const STEP: Duration = Duration::from_millis(100);
    let until = std::time::Instant::now() + wait;
    while !stop.load(Ordering::Relaxed) {
        let left = until.saturating_duration_since(std::time::Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(STEP));
    }
}
