//! The records of a dataset from the hub, or from a plain URL.
//!
//! Here files are found; how much of them is fetched is decided in `remote_files`.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use context_bench_hub::{Hub, HubError, Progress, RemoteFile};

use super::error::DatasetCatalogError;
use super::load::{LoadSettings, prepared, table_settings};
use super::locate::TableQuery;
use super::prepare::Tables;
pub(crate) use super::remote_files::RemoteFiles;
use super::row::Rows;
use super::rows::TableSettings;
use super::spec::Config;
use crate::dataset::{DatasetError, Origin};

/// The hub, and who hears about downloads.
#[derive(Clone)]
pub struct HubAccess {
    pub(super) hub: Arc<Hub>,
    pub(super) progress: Arc<dyn Progress + Send>,
}

impl HubAccess {
    /// Access that reports no downloads.
    pub fn new(hub: Hub) -> Self {
        Self {
            hub: Arc::new(hub),
            progress: Arc::new(()),
        }
    }

    /// Reports downloads to this sink.
    #[must_use]
    pub fn with_progress(mut self, progress: impl Progress + Send + 'static) -> Self {
        self.progress = Arc::new(progress);
        self
    }

    /// A file by its address, fetched.
    pub(crate) fn fetch_url(&self, url: &str) -> Result<PathBuf, DatasetCatalogError> {
        Ok(self.hub.fetch_url(url, &*self.progress)?)
    }

    /// The files of a split.
    pub(crate) fn split_files(
        &self,
        repo: &str,
        revision: Option<&str>,
        config: Option<&str>,
        split: &str,
    ) -> Result<RemoteFiles, DatasetCatalogError> {
        let resolved = self.hub.resolve(repo, revision, config, split)?;
        Ok(RemoteFiles::new(resolved.files))
    }

    /// The files that patterns name.
    pub(crate) fn named_files(
        &self,
        repo: &str,
        revision: Option<&str>,
        patterns: &[String],
    ) -> Result<RemoteFiles, DatasetCatalogError> {
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        Ok(RemoteFiles::new(self.hub.files(repo, revision, &patterns)?))
    }

    /// The hub.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Who hears about downloads.
    pub(crate) fn progress(&self) -> &dyn Progress {
        &*self.progress
    }
}

impl fmt::Debug for HubAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubAccess")
            .field("settings", self.hub.settings())
            .finish_non_exhaustive()
    }
}

/// The files of one table on the hub.
struct RemoteTable {
    repo: String,
    commit: Option<String>,
    files: Vec<RemoteFile>,
}

impl RemoteTable {
    fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    fn into_files(self, wanted: &TableQuery<'_>) -> RemoteFiles {
        RemoteFiles {
            files: self.files,
            member: wanted.member(),
        }
    }
}

/// What was fetched of a config.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetched {
    /// Where the files are.
    pub paths: Vec<PathBuf>,
    /// How large they are together.
    pub bytes: u64,
    /// The commit that they are of.
    pub revision: Option<String>,
}

/// What the cache has of a config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheState {
    /// Everything: it can be used offline.
    Whole,
    /// Some files.
    Part,
    /// Nothing.
    Nothing,
}

impl Config {
    /// Puts all files of this config into the cache, those of worked examples included.
    ///
    /// # Errors
    ///
    /// When they cannot be found or fetched.
    pub fn fetch(&self, access: &HubAccess) -> Result<Fetched, DatasetError> {
        let mut fetched = Fetched::default();
        let shots = self.shots_config();
        let of_shots = shots.as_ref().map(|one| (None, one.records_wanted()));
        for (_, wanted) in self.all_wanted().chain(of_shots) {
            let Some(found) = find(self, &wanted, access)? else {
                continue;
            };
            let paths = access.hub.fetch(&found.files, &*access.progress);
            fetched
                .paths
                .extend(paths.map_err(DatasetCatalogError::from)?);
            fetched.bytes += found.bytes();
            fetched.revision = fetched.revision.or(found.commit);
        }
        Ok(fetched)
    }

    /// What the cache has of this config; nothing is asked of the hub.
    pub fn cached(&self, hub: &Hub) -> CacheState {
        let Some(repo) = self.spec.hub_repo() else {
            return CacheState::Nothing;
        };
        let revision = self.spec.source.revision.as_deref();
        let mut states = Vec::new();
        let shots = self.shots_config();
        let of_shots = shots.as_ref().map(|one| (None, one.records_wanted()));
        for (_, wanted) in self.all_wanted().chain(of_shots) {
            let patterns = wanted.patterns();
            let cached = match patterns.first() {
                Some(pattern) => hub.cached_files(repo, revision, &[pattern]),
                None => {
                    let split = wanted.split().unwrap_or(USUAL_SPLIT);
                    hub.cached(repo, revision, wanted.hub_config(), split)
                }
            };
            if !(wanted.table.optional && cached.files == 0) {
                states.push((cached.is_complete(), cached.files > 0));
            }
        }
        match (
            states.iter().all(|(whole, _)| *whole),
            states.iter().any(|(_, some)| *some),
        ) {
            (true, _) => CacheState::Whole,
            (false, true) => CacheState::Part,
            (false, false) => CacheState::Nothing,
        }
    }

    fn all_wanted(&self) -> impl Iterator<Item = (Option<&str>, TableQuery<'_>)> {
        let records = std::iter::once((None, self.records_wanted()));
        records.chain(
            self.tables_wanted()
                .map(|(name, wanted)| (Some(name), wanted)),
        )
    }

    /// The records from the hub, joined and prepared.
    pub(super) fn remote_rows(
        &self,
        access: &HubAccess,
        settings: &LoadSettings,
        columns: TableSettings,
    ) -> Result<(Rows, Origin), DatasetError> {
        let wanted = self.records_wanted();
        let found = find(self, &wanted, access)?.ok_or_else(|| DatasetCatalogError::NoSource {
            dataset: self.full_name(),
        })?;
        let mut tables = Tables::new();
        for (name, wanted) in self.tables_wanted() {
            if let Some(found) = find(self, &wanted, access)? {
                let settings = table_settings(wanted.table);
                let rows = found.into_files(&wanted).rows(None, access, settings)?;
                tables.insert(name.to_owned(), rows.collect::<Result<_, _>>()?);
            }
        }
        let origin = Origin {
            source: format!("hf://datasets/{}", found.repo),
            revision: found.commit.clone(),
        };
        let files = found.into_files(&wanted);
        let rows = files.rows(settings.max_examples, access, columns)?;
        Ok((prepared(self, rows, tables)?, origin))
    }
}

/// The split of repositories that have only one.
const USUAL_SPLIT: &str = "train";

/// The files of a table; none when an optional one is not there.
fn find(
    config: &Config,
    wanted: &TableQuery<'_>,
    access: &HubAccess,
) -> Result<Option<RemoteTable>, DatasetError> {
    let source = &config.spec.source;
    let repos = source.hub.iter().chain(&source.mirrors);
    let mut first_error: Option<HubError> = None;
    for repo in repos {
        match in_repo(repo, wanted, access) {
            Ok(found) => return Ok(Some(found)),
            // Only a repository that is not there has a mirror in its place.
            Err(error) if is_missing_repo(&error) => {
                first_error.get_or_insert(error);
            }
            Err(_) if wanted.table.optional => return Ok(None),
            Err(error) => return Err(DatasetCatalogError::from(error).into()),
        }
    }
    match first_error {
        Some(_) if wanted.table.optional => Ok(None),
        Some(error) => Err(DatasetCatalogError::from(error).into()),
        None => Ok(None),
    }
}

fn is_missing_repo(error: &HubError) -> bool {
    matches!(error, HubError::RepoNotFound { .. })
}

fn in_repo(
    repo: &str,
    wanted: &TableQuery<'_>,
    access: &HubAccess,
) -> Result<RemoteTable, HubError> {
    let revision = wanted.config.spec.source.revision.as_deref();
    let hub = &access.hub;
    let mut files = match wanted.patterns().split_first() {
        None => {
            let split = wanted.split().unwrap_or(USUAL_SPLIT);
            hub.resolve(repo, revision, wanted.hub_config(), split)?
                .files
        }
        Some((first, others)) => {
            let mut found = hub.files(repo, revision, &[first]);
            for other in others {
                if !matches!(found, Err(HubError::FileNotFound { .. })) {
                    break;
                }
                // When nothing is there, the first pattern is the one to name.
                found = hub.files(repo, revision, &[other]).or(found);
            }
            found?
        }
    };
    if wanted.table.first_only {
        files.truncate(1);
    }
    Ok(RemoteTable {
        repo: repo.to_owned(),
        commit: files.first().map(|file| file.commit.clone()),
        files,
    })
}
