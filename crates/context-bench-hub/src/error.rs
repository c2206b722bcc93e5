//! Why a dataset or model could not be found or fetched, and what to do about it.
//!
//! A message says what happened and where; the hint says what to do next. No
//! token and no signed address ever gets in here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use context_bench_error::Hint;
use context_bench_http::{is_retryable, plain_reason};

use crate::repo::RepoKind;
use crate::words::{after, did_you_mean, free_text, listed, size};

/// Why the hub could not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// A variable has a value that cannot be understood.
    #[error("the variable `{name}` is `{value}`: {reason}")]
    Variable {
        /// The name of the variable.
        name: &'static str,
        /// Its value, without credentials.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No variable says where the home folder is.
    #[error("cannot determine the folder of the hub cache")]
    NoHome,
    /// The HTTP side could not be set up.
    #[error("cannot set up HTTP: {reason}")]
    Setup {
        /// The root cause.
        reason: String,
    },
    /// No repo can have this name.
    #[error("`{repo}` is not the name of a {kind} repo: {reason}")]
    BadRepo {
        /// What the repo holds.
        kind: RepoKind,
        /// The name as written.
        repo: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The hub does not know the repo, or hides it.
    #[error("the {kind} repo `{repo}` does not exist at {endpoint}, or is private")]
    RepoNotFound {
        /// What the repo holds.
        kind: RepoKind,
        /// The repo.
        repo: String,
        /// Where it was looked for.
        endpoint: String,
        /// Whether a token was sent.
        with_token: bool,
    },
    /// The repo has no such branch, tag or commit.
    #[error("the {kind} repo `{repo}` has no revision `{revision}`")]
    RevisionNotFound {
        /// What the repo holds.
        kind: RepoKind,
        /// The repo.
        repo: String,
        /// The revision.
        revision: String,
    },
    /// The repo has no such file.
    #[error("no file of the {kind} repo `{repo}` matches `{pattern}` at revision `{revision}`")]
    FileNotFound {
        /// What the repo holds.
        kind: RepoKind,
        /// The repo.
        repo: String,
        /// The revision.
        revision: String,
        /// The path or pattern.
        pattern: String,
        /// Paths that may have been meant.
        near: Vec<String>,
    },
    /// The repo has no such config.
    #[error("the dataset repo `{repo}` has no config `{config}`")]
    ConfigNotFound {
        /// The repo.
        repo: String,
        /// The config.
        config: String,
        /// The configs there are.
        known: Vec<String>,
        /// Those that may have been meant.
        near: Vec<String>,
    },
    /// The repo has several configs and none of them is the default.
    #[error("the dataset repo `{repo}` has {} configs and no default", known.len())]
    ConfigNeeded {
        /// The repo.
        repo: String,
        /// The configs there are.
        known: Vec<String>,
    },
    /// The config has no such split.
    #[error("config `{config}` of the dataset repo `{repo}` has no split `{split}`")]
    SplitNotFound {
        /// The repo.
        repo: String,
        /// The config.
        config: String,
        /// The split.
        split: String,
        /// The splits there are.
        known: Vec<String>,
        /// Those that may have been meant.
        near: Vec<String>,
    },
    /// The repo has no file that could be data.
    #[error("the dataset repo `{repo}` has no data files at revision `{revision}`{detail}")]
    NoData {
        /// The repo.
        repo: String,
        /// The revision.
        revision: String,
        /// What there is instead; begins with `: ` or is empty.
        detail: String,
    },
    /// The description of the repo cannot be read.
    #[error("cannot read the metadata of the dataset repo `{repo}`: {reason}")]
    Card {
        /// The repo.
        repo: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The repo asks for terms to be accepted.
    #[error("the {kind} repo `{repo}` is gated{}", if *with_token { ": this token has no access" } else { "" })]
    Gated {
        /// What the repo holds.
        kind: RepoKind,
        /// The repo.
        repo: String,
        /// The page with its terms.
        page: String,
        /// Whether a token was sent.
        with_token: bool,
    },
    /// The hub does not know the token.
    #[error("{endpoint} does not accept the token")]
    BadToken {
        /// The endpoint.
        endpoint: String,
    },
    /// The hub wants fewer requests.
    #[error("{host} refuses more requests for now (HTTP 429){}", after(*wait))]
    RateLimited {
        /// Who refuses.
        host: String,
        /// The wait it asks for.
        wait: Option<Duration>,
        /// Whether a token was sent.
        with_token: bool,
    },
    /// No connection, or it broke too often.
    #[error("cannot reach {host}: {reason}")]
    Unreachable {
        /// Scheme, host and port.
        host: String,
        /// The root cause.
        reason: String,
        /// What the cache has of what was asked for; empty when nothing.
        cached: String,
    },
    /// A status that has no better meaning.
    #[error("{url} answered HTTP {code}{message}")]
    Status {
        /// The address, without query.
        url: String,
        /// The status.
        code: u16,
        /// What the server said; begins with `: ` or is empty.
        message: String,
    },
    /// The answer is not what the hub sends.
    #[error("{url} sent an answer that cannot be used: {reason}")]
    BadReply {
        /// The address, without query.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Something is not in the cache, and requests are forbidden.
    #[error("{what} is not in the cache at `{}`, and offline mode is on", cache.display())]
    Offline {
        /// What is missing.
        what: String,
        /// The cache.
        cache: PathBuf,
        /// What is there; empty when nothing.
        cached: String,
    },
    /// A download does not have the content that the hub promised.
    #[error("`{path}` arrived damaged twice: its checksum is {found} and should be {expected}")]
    Checksum {
        /// Repo and path, or address.
        path: String,
        /// The checksum it should have.
        expected: String,
        /// The checksum it has.
        found: String,
    },
    /// A file in the cache is no longer what was downloaded.
    #[error("`{path}` is damaged in the cache: `{}` does not have its checksum", file.display())]
    Damaged {
        /// Repo and path.
        path: String,
        /// The file.
        file: PathBuf,
    },
    /// There is no room for a file.
    #[error("no room for `{path}` in `{}`: {} needed{}", folder.display(), size(*needed), free_text(*free))]
    NoSpace {
        /// The file.
        path: String,
        /// Where it was to go.
        folder: PathBuf,
        /// How many bytes it still needs.
        needed: u64,
        /// How many bytes are free, when known.
        free: Option<u64>,
    },
    /// The file system refused.
    #[error("cannot {action} `{}`: {reason}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system says.
        reason: String,
        /// Its kind.
        kind: std::io::ErrorKind,
    },
    /// The address cannot be fetched.
    #[error("`{url}` is not an address that can be fetched: {reason}")]
    BadUrl {
        /// The address, without credentials and query.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is nothing at a plain address.
    #[error("there is nothing at {url} (HTTP {code})")]
    UrlNotFound {
        /// The address, without query.
        url: String,
        /// The status.
        code: u16,
    },
    /// A thread of the client ended early: a bug.
    #[error("a download thread ended before its work was done")]
    Thread,
}

impl Hint for HubError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoHome => "set `HF_HUB_CACHE` or `HF_HOME` to a folder".to_owned(),
            Self::BadRepo { .. } => {
                "a repo is written `owner/name`, such as `openai/gsm8k`".to_owned()
            }
            Self::RepoNotFound { with_token, .. } => match with_token {
                false => "check the name; for a private repo set `HF_TOKEN`".to_owned(),
                true => "check the name, and that the token may read the repo".to_owned(),
            },
            Self::RevisionNotFound { .. } => {
                "leave the revision out for the newest data, or name a branch, tag or commit"
                    .to_owned()
            }
            Self::FileNotFound { near, .. } => did_you_mean(near)?,
            Self::ConfigNotFound { known, near, .. } | Self::SplitNotFound { known, near, .. } => {
                match did_you_mean(near) {
                    Some(guess) => format!("{guess} there are {}", listed(known)),
                    None => format!("there are {}", listed(known)),
                }
            }
            Self::ConfigNeeded { known, .. } => format!("name one of {}", listed(known)),
            Self::NoData { .. } | Self::Card { .. } => {
                "name the files to read yourself, as paths or patterns".to_owned()
            }
            Self::Gated {
                page, with_token, ..
            } => match with_token {
                false => format!("accept the terms at {page}, then set `HF_TOKEN`"),
                true => format!("accept the terms at {page} with the account of this token"),
            },
            Self::BadToken { .. } => {
                "make a new token in the settings of your account and set `HF_TOKEN`".to_owned()
            }
            Self::RateLimited { with_token, .. } => match with_token {
                false => "wait and run the same command again; with `HF_TOKEN` set the limit is higher; what is downloaded is kept".to_owned(),
                true => "wait and run the same command again; what is downloaded is kept".to_owned(),
            },
            Self::Unreachable { cached, .. } => {
                let advice = "check the network and `HF_ENDPOINT`";
                match cached.as_str() {
                    "" => advice.to_owned(),
                    cached => format!("{advice}; {cached}: set `HF_HUB_OFFLINE=1` to use that"),
                }
            }
            Self::Offline { cached, .. } => {
                let advice = "run `context-bench fetch NAME` once with a network, or unset `HF_HUB_OFFLINE` and `HF_DATASETS_OFFLINE`";
                match cached.as_str() {
                    "" => advice.to_owned(),
                    cached => format!("{cached}; {advice}"),
                }
            }
            Self::Checksum { .. } => {
                "try again later or without a proxy or mirror in between".to_owned()
            }
            Self::Damaged { .. } => {
                "remove the file and fetch it again with a network".to_owned()
            }
            Self::NoSpace { .. } => {
                "free some space, or set `HF_HUB_CACHE` to a folder with more of it".to_owned()
            }
            Self::Io { kind, .. } if *kind == std::io::ErrorKind::PermissionDenied => {
                "set `HF_HUB_CACHE` to a folder that you may write to".to_owned()
            }
            Self::Status { code, .. } if *code >= 500 => {
                "the server has a problem: run the same command again later".to_owned()
            }
            Self::BadUrl { .. } => "write a whole address, such as `https://host/file.jsonl`".to_owned(),
            _ => return None,
        })
    }
}

impl HubError {
    /// Whether the same call could succeed without a change by the user.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::RateLimited { .. } => true,
            Self::Status { code, .. } => is_retryable(*code),
            _ => false,
        }
    }

    pub(crate) fn variable(name: &'static str, value: String, reason: &str) -> Self {
        Self::Variable {
            name,
            value,
            reason: reason.to_owned(),
        }
    }

    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
        error: &std::io::Error,
    ) -> Self {
        Self::Io {
            action,
            path: path.into(),
            reason: plain_reason(&error.to_string()),
            kind: error.kind(),
        }
    }
}

/// Turns the error of a file operation into one with its place.
pub(crate) trait At<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, HubError>;
}

impl<T> At<T> for std::io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, HubError> {
        self.map_err(|error| HubError::io(action, path, &error))
    }
}
