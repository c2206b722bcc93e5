//! Datasets and models of the Hugging Face hub, and files of plain URLs: found, fetched,
//! verified, and shared with other tools through the standard hub cache.
//!
//! [`Hub::resolve`] turns a repo, config and split into files at one commit, and
//! [`Hub::model_files`] lists those of a model;
//! [`Hub::fetch`] puts files into the cache; [`Hub::open_ranged`] reads parts of
//! a file without fetching all of it. All calls block. Nothing here prints,
//! reads the environment, or runs code of a repo.
//!
//! ```no_run
//! use context_bench_hub::{Hub, HubSettings};
//!
//! let hub = Hub::new(HubSettings::from_vars(|name| std::env::var(name).ok())?)?;
//! let split = hub.resolve("openai/gsm8k", None, Some("main"), "test")?;
//! let paths = hub.fetch(&split.files, &())?;
//! # Ok::<(), context_bench_hub::HubError>(())
//! ```

mod cache;
mod card;
mod download;
mod error;
mod fetch;
mod file;
mod glob;
mod http;
mod hub;
mod layout;
mod listing;
mod lock;
mod progress;
mod ranged;
mod reply;
mod repo;
mod resolve;
mod secret;
mod settings;
mod tree;
mod verify;
mod web;
mod words;
mod yaml;

pub use context_bench_http::RetryPolicy;
pub use error::HubError;
pub use file::{Checksum, RemoteFile};
pub use hub::{CachedFiles, Hub};
pub use progress::{Event, Progress};
pub use ranged::RangedFile;
pub use repo::{RepoId, RepoKind};
pub use resolve::{ConfigInfo, ResolvedSplit, Source};
pub use secret::Token;
pub use settings::HubSettings;
