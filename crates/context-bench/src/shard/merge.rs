//! `merge`: the stores and segments of shards become one store, whose runs are those that one
//! process would have made. Sources of other plans, or of other data, are refused before anything is
//! written.

use std::sync::Arc;

use super::Shard;
use super::shared_folder::{CheckIn, CheckedOut, FolderError, LocalFile, STORE, SharedFolder};
use crate::bucket::BucketError;
use crate::error::Hint;
use crate::store::{MergeSource, MergedPlan, ShardOrigin, Store, StoreError};

/// How often a merge that others overtake begins anew with what they made.
const MOST_ROUNDS: usize = 20;

/// What a merge led to.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MergeReport {
    /// Sources that were read.
    pub sources: usize,
    /// Segments that were in already.
    pub known: usize,
    /// Answers that were not there before.
    pub answers: u64,
    /// Rows that were not there before, or not as good.
    pub rows: u64,
    /// Sources with entries that are not what was written, and how many; they were left out.
    pub damaged: Vec<(String, u64)>,
    /// Sources that could not be read at all, and why.
    pub unread: Vec<(String, String)>,
    /// Answers that lost against another one with another output.
    pub conflicts: usize,
    /// What became of each plan.
    pub plans: Vec<MergedPlan>,
    /// How often somebody else changed the target meanwhile, whose work was taken over.
    pub overtaken: usize,
}

/// Why sources cannot be merged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// There is nothing to merge.
    #[error("there is no store and no segment in `{folder}`")]
    Nothing {
        /// The folder.
        folder: String,
    },
    /// The sources are of different plans.
    #[error("the shards are of different plans, {first} and {second}: {what} differs")]
    Plans {
        /// One plan.
        first: String,
        /// The other.
        second: String,
        /// The first thing that differs.
        what: String,
    },
    /// Shards of one plan read different data.
    #[error("the shards of plan {plan} read different data: {what}")]
    Data {
        /// The plan.
        plan: String,
        /// What differs.
        what: String,
    },
}

impl Hint for MergeError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Store(error) => return error.hint(),
            Self::Folder(error) => return error.hint(),
            Self::Nothing { .. } => {
                "name the `--cache-dir` of the shards; `--shard i/n` leaves segments there".into()
            }
            Self::Plans { .. } => {
                "all shards must be run with the same settings; `--plan ID` merges one plan of \
                 several"
                    .into()
            }
            Self::Data { .. } => {
                "all machines must read the same files; remove the segments of the other data"
                    .into()
            }
        })
    }
}

/// The store that others are merged into.
pub struct MergeTarget {
    folder: Arc<dyn SharedFolder>,
    checked_out: CheckedOut,
    /// Whether there is something to put in its place.
    is_new: bool,
}

impl MergeTarget {
    /// Opens the merged store of a folder.
    ///
    /// # Errors
    ///
    /// When it cannot be opened.
    pub fn open(folder: Arc<dyn SharedFolder>) -> Result<Self, FolderError> {
        let checked_out = folder.check_out()?;
        let is_new = checked_out.version.is_none();
        Ok(Self {
            folder,
            checked_out,
            is_new,
        })
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.checked_out.opened.store
    }

    /// What should be said about it.
    pub fn notes(&self) -> &[String] {
        &self.checked_out.opened.notes
    }
}

/// A source of a merge.
struct Source {
    file: LocalFile,
    /// How it is called in messages.
    shown: String,
    /// What it is remembered by; stores that may still change are not.
    name: Option<String>,
    origins: Vec<ShardOrigin>,
}

/// Merges all segments of folders, and the stores in folders other than that of the target, and puts
/// the target in its place.
///
/// # Errors
///
/// When the target cannot be written, there is nothing to merge, or sources do not belong together.
pub fn merge(
    target: &mut MergeTarget,
    folders: &[Arc<dyn SharedFolder>],
    plan: Option<&str>,
) -> Result<MergeReport, MergeError> {
    let mut report = MergeReport::default();
    let mut sources = Vec::new();
    let into = target.store().clone();
    for folder in folders {
        let found = folder.segments(plan)?;
        let own = folder.identity() == target.folder.identity();
        if found.is_empty() && !own && !folder.has_store()? {
            let folder = folder.address();
            return Err(MergeError::Nothing { folder });
        }
        for segment in found {
            let name = segment.name();
            if into.has_merged(&name)? {
                report.known += 1;
            } else if let Some(file) = folder.fetch(&segment)? {
                let shown = format!("{}/shards/{name}", folder.address());
                look((file, shown, Some(name)), &mut sources, &mut report);
            }
        }
        if !own && let Some(file) = folder.fetch_store()? {
            let shown = format!("{}/{STORE}", folder.address());
            look((file, shown, None), &mut sources, &mut report);
        }
    }
    check(&into, &sources)?;
    for source in sources {
        take(&into, source, &mut report)?;
    }
    settle(&into, plan, &mut report)?;
    if report.sources > 0 || target.is_new {
        put_in_place(target, plan, &mut report)?;
    }
    report.conflicts = into.conflicts()?.len();
    Ok(report)
}

fn take(into: &Store, source: Source, report: &mut MergeReport) -> Result<(), StoreError> {
    let path = source.file.path();
    let opened = match MergeSource::open(path) {
        Ok(opened) => opened,
        // Its shard has replaced it meanwhile.
        Err(_) if !path.exists() => return Ok(()),
        Err(error) => {
            report.unread.push((source.shown, error.to_string()));
            return Ok(());
        }
    };
    let merged = into.merge(opened, source.name.as_deref())?;
    report.sources += 1;
    report.answers += merged.answers;
    report.rows += merged.rows;
    if merged.damaged > 0 {
        report.damaged.push((source.shown, merged.damaged));
    }
    Ok(())
}

/// Says what became of each plan.
fn settle(into: &Store, plan: Option<&str>, report: &mut MergeReport) -> Result<(), StoreError> {
    report.plans = into.settle_plans(|count, finished| {
        let finished = finished.iter();
        let shards = finished.filter_map(|(i, n)| Shard::new((*i).into(), (*n).into()).ok());
        Shard::missing(count, &shards.collect::<Vec<_>>())
    })?;
    if let Some(plan) = plan {
        report.plans.retain(|one| one.origin.plan.starts_with(plan));
    }
    Ok(())
}

/// Puts the target in its place. Where somebody else was faster, what they made is merged too: the
/// order does not matter.
fn put_in_place(
    target: &mut MergeTarget,
    plan: Option<&str>,
    report: &mut MergeReport,
) -> Result<(), MergeError> {
    let into = target.store().clone();
    for _ in 0..MOST_ROUNDS {
        let folder = Arc::clone(&target.folder);
        match folder.check_in(&mut target.checked_out)? {
            CheckIn::Done => {
                target.is_new = false;
                return Ok(());
            }
            CheckIn::Stale(None) => {}
            CheckIn::Stale(Some(file)) => {
                let shown = format!("{}/{STORE}", folder.address());
                let mut theirs = Vec::new();
                look((file, shown, None), &mut theirs, report);
                for source in theirs {
                    let mut of_plans: Vec<&ShardOrigin> = source.origins.iter().collect();
                    of_plans.sort_by(|a, b| a.plan.cmp(&b.plan));
                    for origins in of_plans.chunk_by(|a, b| a.plan == b.plan) {
                        check_data(&into, origins)?;
                    }
                    take(&into, source, report)?;
                }
                settle(&into, plan, report)?;
            }
        }
        report.overtaken += 1;
    }
    Err(FolderError::from(BucketError::Contended {
        bucket: target.folder.address(),
        name: STORE.to_owned(),
    })
    .into())
}

/// Reads what a source says of itself.
fn look(
    (file, shown, name): (LocalFile, String, Option<String>),
    sources: &mut Vec<Source>,
    report: &mut MergeReport,
) {
    match MergeSource::open(file.path()).and_then(|source| source.origins()) {
        Ok(origins) => sources.push(Source {
            file,
            shown,
            name,
            origins,
        }),
        Err(_) if !file.path().exists() => {}
        Err(error) => report.unread.push((shown, error.to_string())),
    }
}

/// Refuses shards that do not belong together, or not to what is merged already.
fn check(into: &Store, sources: &[Source]) -> Result<(), MergeError> {
    let new = || sources.iter().flat_map(|source| &source.origins);
    let Some(first) = new().next() else {
        return Ok(());
    };
    for other in new() {
        if other.plan != first.plan {
            return Err(MergeError::Plans {
                first: short(&first.plan),
                second: short(&other.plan),
                what: first_difference(first, other),
            });
        }
    }
    check_data(into, &new().collect::<Vec<_>>())
}

/// Refuses shards of one plan that read other data than each other, or than what is merged already.
fn check_data(into: &Store, new: &[&ShardOrigin]) -> Result<(), MergeError> {
    let known = into.shard_origins()?;
    let Some(first) = new.first() else {
        return Ok(());
    };
    let of_plan = known.iter().filter(|one| one.plan == first.plan);
    let mut read: Option<&ShardOrigin> = None;
    for origin in of_plan.chain(new.iter().copied()) {
        let Some(data) = &origin.data else { continue };
        match read.and_then(|read| Some((read, read.data.as_ref()?))) {
            None => read = Some(origin),
            Some((other, seen)) if seen != data => {
                let one = |origin: &ShardOrigin, digest: &str, examples: u64| {
                    let digest = digest.get(..8).unwrap_or(digest);
                    format!(
                        "shard {}/{} read {examples} examples (digest {digest})",
                        origin.index, origin.count
                    )
                };
                let what = format!(
                    "{}, {}",
                    one(other, &seen.digest, seen.examples),
                    one(origin, &data.digest, data.examples)
                );
                let plan = short(&first.plan);
                return Err(MergeError::Data { plan, what });
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn short(plan: &str) -> String {
    plan.get(..12).unwrap_or(plan).to_owned()
}

/// The first part of two plans that is not the same, with both values where they are short.
fn first_difference(one: &ShardOrigin, other: &ShardOrigin) -> String {
    let names = one.parts.keys().chain(other.parts.keys());
    for name in names {
        let (a, b) = (one.parts.get(name), other.parts.get(name));
        if a != b {
            let shown = |value: Option<&serde_json::Value>| {
                let text = value.map(ToString::to_string).unwrap_or_default();
                (text.len() <= 60).then_some(text)
            };
            return match (shown(a), shown(b)) {
                (Some(a), Some(b)) => format!("`{name}` ({a} and {b})"),
                _ => format!("`{name}`"),
            };
        }
    }
    "something".to_owned()
}
