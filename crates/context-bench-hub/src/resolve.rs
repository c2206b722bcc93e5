//! From a config and a split to the files that hold them.
//!
//! In this order: what the README declares, what the layout of the repo shows,
//! and what the hub has converted to parquet. A repo that only has a loading
//! script goes straight to the last: no code of a repo is ever run.

use crate::card::{self, CardConfig};
use crate::error::HubError;
use crate::file::RemoteFile;
use crate::glob::{Glob, has_wildcards};
use crate::hub::Hub;
use crate::layout::{self, Splits};
use crate::listing::Listing;
use crate::repo::{CONVERTED, MAIN, RepoId};
use crate::words::near;

/// The name of the only config of a repo without names for them.
const DEFAULT: &str = "default";
const README: &str = "README.md";

/// Where the files of a split were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The README declares them.
    Card,
    /// Their names and folders show it.
    Layout,
    /// The hub converted them to parquet.
    Converted,
}

/// The files of one split of one config, at one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolvedSplit {
    /// The repo as asked for.
    pub repo: RepoId,
    /// The revision that the files are of.
    pub revision: String,
    /// The commit which that is now; asking for it again gives the same files.
    pub commit: String,
    /// The config, also when none was asked for.
    pub config: String,
    /// The split by the name that the repo has for it.
    pub split: String,
    /// How the files were found.
    pub source: Source,
    /// Whether the hub converted only the beginning of the data.
    pub is_partial: bool,
    /// The files, in order.
    pub files: Vec<RemoteFile>,
}

/// A config and its splits by name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigInfo {
    /// Its name.
    pub name: String,
    /// Whether it is used when none is named.
    pub is_default: bool,
    /// The names of its splits.
    pub splits: Vec<String>,
}

/// The configs of a repo at a commit.
pub(crate) struct Plan {
    listing: Listing,
    source: Source,
    configs: Vec<PlannedConfig>,
}

/// A config whose patterns are not applied yet.
struct PlannedConfig {
    name: String,
    is_default: bool,
    rule: Rule,
}

enum Rule {
    Card(CardConfig),
    /// The layout of everything below this folder.
    Layout(String),
    Converted,
}

impl Plan {
    /// Reads what there is to know about a repo.
    pub(crate) fn make(hub: &Hub, repo: &RepoId, revision: &str) -> Result<Self, HubError> {
        let listing = hub.listing(repo, revision)?;
        if revision == CONVERTED {
            return Self::of_converted(listing);
        }
        let script = format!("{}.py", repo.name());
        let has_script = listing.files.iter().any(|file| file.path == script);
        let declared = declared(hub, &listing)?;
        // Configs without files are parameters of the script.
        let has_files = declared
            .iter()
            .any(|config| !config.splits.is_empty() || config.data_dir.is_some());
        if has_files || (!has_script && !declared.is_empty()) {
            let planned = |config: CardConfig| PlannedConfig {
                name: config.name.clone(),
                is_default: config.is_default,
                rule: Rule::Card(config),
            };
            return Ok(Self {
                configs: declared.into_iter().map(planned).collect(),
                source: Source::Card,
                listing,
            });
        }
        if is_converted(&listing) {
            return Self::of_converted(listing);
        }
        if !has_script {
            let plan = Self::of_layout(listing);
            if !plan.configs.is_empty() {
                return Ok(plan);
            }
            return Self::instead(hub, &plan.listing, "");
        }
        Self::instead(hub, &listing, ": only a loading script, which is not run")
    }

    /// The converted branch of a repo whose own files cannot be used.
    fn instead(hub: &Hub, listing: &Listing, detail: &str) -> Result<Self, HubError> {
        let nothing = |detail: String| HubError::NoData {
            repo: listing.repo.to_string(),
            revision: listing.revision.clone(),
            detail,
        };
        if listing.revision != MAIN {
            let why = format!("{detail}; only `{MAIN}` is converted to parquet by the hub");
            return Err(nothing(why));
        }
        match hub.listing(&listing.repo, CONVERTED) {
            Ok(converted) => {
                // No file of this branch will be fetched, which would remember
                // its commit; everything needed of it is in the cache now.
                hub.remember(listing);
                Self::of_converted(converted)
            }
            Err(HubError::RevisionNotFound { .. }) => Err(nothing(detail.to_owned())),
            Err(error) => Err(error),
        }
    }

    fn of_layout(listing: Listing) -> Self {
        let paths: Vec<&str> = listing.paths().collect();
        let mut configs = Vec::new();
        if !layout::by_names(&paths).is_empty() {
            configs.push(PlannedConfig {
                name: DEFAULT.to_owned(),
                is_default: true,
                rule: Rule::Layout(String::new()),
            });
            configs.extend(
                config_folders(&paths)
                    .into_iter()
                    .map(|folder| PlannedConfig {
                        name: folder.rsplit('/').next().unwrap_or(&folder).to_owned(),
                        is_default: false,
                        rule: Rule::Layout(format!("{folder}/")),
                    }),
            );
        }
        Self {
            configs,
            source: Source::Layout,
            listing,
        }
    }

    fn of_converted(listing: Listing) -> Result<Self, HubError> {
        let mut names: Vec<&str> = listing
            .paths()
            .filter_map(|path| layout::converted(path).map(|found| found.config))
            .collect();
        names.dedup();
        let configs: Vec<PlannedConfig> = names
            .into_iter()
            .map(|name| PlannedConfig {
                name: name.to_owned(),
                is_default: false,
                rule: Rule::Converted,
            })
            .collect();
        if configs.is_empty() {
            return Err(HubError::NoData {
                repo: listing.repo.to_string(),
                revision: listing.revision,
                detail: String::new(),
            });
        }
        Ok(Self {
            source: Source::Converted,
            configs,
            listing,
        })
    }

    /// The configs and the names of their splits.
    pub(crate) fn describe(&self) -> Vec<ConfigInfo> {
        let default = self.default().map(|config| config.name.clone());
        self.configs
            .iter()
            .map(|config| ConfigInfo {
                name: config.name.clone(),
                is_default: default.as_ref() == Some(&config.name),
                splits: self
                    .splits(config)
                    .into_iter()
                    .map(|(name, _)| name)
                    .collect(),
            })
            .collect()
    }

    /// The files of one split.
    pub(crate) fn resolve(
        self,
        config: Option<&str>,
        split: &str,
    ) -> Result<ResolvedSplit, HubError> {
        let repo = self.listing.repo.to_string();
        let config = self.config(config)?;
        let mut splits = self.splits(config);
        let names: Vec<String> = splits.iter().map(|(name, _)| name.clone()).collect();
        let Some(at) = layout::find_split(names.iter().map(String::as_str), split) else {
            return Err(HubError::SplitNotFound {
                repo,
                config: config.name.clone(),
                split: split.to_owned(),
                near: near(split, names.iter().map(String::as_str)),
                known: names,
            });
        };
        let (split, files) = splits.swap_remove(at);
        let files: Vec<RemoteFile> = files
            .into_iter()
            .map(|at| self.listing.files[at].clone())
            .collect();
        if files.is_empty() {
            return Err(HubError::NoData {
                repo,
                revision: self.listing.revision.clone(),
                detail: format!(" for split `{split}` of config `{}`", config.name),
            });
        }
        self.listing.check_whole(&files)?;
        let is_partial = self.source == Source::Converted
            && files
                .iter()
                .any(|file| layout::converted(&file.path).is_some_and(|found| found.is_partial));
        Ok(ResolvedSplit {
            config: config.name.clone(),
            split,
            source: self.source,
            is_partial,
            files,
            revision: self.listing.revision.clone(),
            commit: self.listing.commit.clone(),
            repo: self.listing.repo.clone(),
        })
    }

    fn default(&self) -> Option<&PlannedConfig> {
        match self.configs.as_slice() {
            [only] => Some(only),
            several => several
                .iter()
                .find(|config| config.is_default)
                .or_else(|| several.iter().find(|config| config.name == DEFAULT)),
        }
    }

    fn config(&self, asked: Option<&str>) -> Result<&PlannedConfig, HubError> {
        let known = || {
            self.configs
                .iter()
                .map(|config| config.name.clone())
                .collect()
        };
        let repo = self.listing.repo.to_string();
        match asked {
            None => self.default().ok_or_else(|| HubError::ConfigNeeded {
                repo,
                known: known(),
            }),
            Some(name) => {
                let found = self.configs.iter().find(|config| config.name == name);
                found.ok_or_else(|| HubError::ConfigNotFound {
                    repo,
                    config: name.to_owned(),
                    near: near(name, self.configs.iter().map(|config| config.name.as_str())),
                    known: known(),
                })
            }
        }
    }

    /// The splits of a config, with the indices of their files in the listing.
    fn splits(&self, config: &PlannedConfig) -> Splits {
        let paths: Vec<&str> = self.listing.paths().collect();
        match &config.rule {
            Rule::Card(card) => {
                let folder = card.data_dir.as_deref();
                if card.splits.is_empty() {
                    let prefix = folder.map_or(String::new(), |folder| format!("{folder}/"));
                    return below(&paths, &prefix);
                }
                let mut splits: Splits = card
                    .splits
                    .iter()
                    .map(|(split, patterns)| (split.clone(), matching(&paths, patterns, folder)))
                    .collect();
                layout::one_format(&mut splits, &paths);
                // Declared splits stay known, also those without files.
                for (at, (split, _)) in card.splits.iter().enumerate() {
                    if !splits.iter().any(|(known, _)| known == split) {
                        splits.insert(at.min(splits.len()), (split.clone(), Vec::new()));
                    }
                }
                splits
            }
            Rule::Layout(folder) => below(&paths, folder),
            Rule::Converted => {
                let mut splits: Splits = Vec::new();
                for (at, path) in paths.iter().enumerate() {
                    let Some(found) = layout::converted(path) else {
                        continue;
                    };
                    if found.config != config.name {
                        continue;
                    }
                    match splits.iter_mut().find(|(split, _)| split == found.split) {
                        Some((_, files)) => files.push(at),
                        None => splits.push((found.split.to_owned(), vec![at])),
                    }
                }
                splits
            }
        }
    }
}

/// The configs that the README declares; none without a README or without any.
fn declared(hub: &Hub, listing: &Listing) -> Result<Vec<CardConfig>, HubError> {
    let Some(readme) = listing.files.iter().find(|file| file.path == README) else {
        return Ok(Vec::new());
    };
    let text = hub.readme(readme)?;
    let wrong = |reason: String| HubError::Card {
        repo: listing.repo.to_string(),
        reason,
    };
    let list = crate::yaml::configs(&text).map_err(wrong)?;
    list.map_or(Ok(Vec::new()), |list| card::configs(&list).map_err(wrong))
}

/// Whether all data of a commit lies as in the converted branch.
fn is_converted(listing: &Listing) -> bool {
    let mut data = listing
        .paths()
        .filter(|path| layout::is_data(path))
        .peekable();
    data.peek().is_some() && data.all(|path| layout::converted(path).is_some())
}

/// The layout of the files below a folder.
fn below(paths: &[&str], prefix: &str) -> Splits {
    let places: Vec<usize> = (0..paths.len())
        .filter(|at| paths[*at].starts_with(prefix))
        .collect();
    let inner: Vec<&str> = places
        .iter()
        .map(|at| &paths[*at][prefix.len()..])
        .collect();
    let mut splits = layout::by_names(&inner);
    for (_, files) in &mut splits {
        for at in files {
            *at = places[*at];
        }
    }
    splits
}

/// The files that patterns name, in the order of the patterns, each file once.
fn matching(paths: &[&str], patterns: &[String], folder: Option<&str>) -> Vec<usize> {
    let mut found = Vec::new();
    let mut taken = vec![false; paths.len()];
    for pattern in patterns {
        let pattern = match folder {
            Some(folder) => format!("{folder}/{pattern}"),
            None => pattern.clone(),
        };
        let glob = Glob::new(&pattern);
        let exact = !has_wildcards(&pattern);
        for (at, path) in paths.iter().enumerate() {
            if !taken[at] && glob.matches(path) && (exact || layout::is_data(path)) {
                taken[at] = true;
                found.push(at);
            }
        }
    }
    found
}

/// Folders that may be configs: those with data, at the top or in `data/`, whose
/// name is not that of a split.
fn config_folders(paths: &[&str]) -> Vec<String> {
    let mut folders: Vec<String> = Vec::new();
    for path in paths.iter().filter(|path| layout::is_data(path)) {
        let inner = path.strip_prefix("data/").unwrap_or(path);
        let Some((name, _)) = inner.split_once('/') else {
            continue;
        };
        let folder = path[..path.len() - inner.len() + name.len()].to_owned();
        let is_split = layout::find_split(["train", "validation", "test"].into_iter(), name);
        let hidden = name.starts_with(['.', '_']) || folder == "data";
        if is_split.is_none() && !hidden && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}
