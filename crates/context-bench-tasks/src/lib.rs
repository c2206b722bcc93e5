//! Tasks and groups in the format of lm-evaluation-harness: everything about them
//! that needs no model.
//!
//! Files are indexed and loaded, names selected, groups resolved with their overrides,
//! prompts rendered, responses filtered and scored, scores aggregated and shown. There
//! is no network and no runtime in here: Python functions go through a [`Host`].

pub mod aggregate;
pub mod arguments;
pub mod config;
pub mod error;
mod example;
pub mod fewshot;
mod fields;
pub mod file;
pub mod filter;
pub mod format;
pub mod function;
pub mod index;
pub mod likelihood;
pub mod listing;
mod member;
pub mod memory_files;
pub mod metric;
pub mod options;
pub mod outcome;
mod path;
pub mod pattern;
mod pool;
mod problems;
pub mod prompt;
pub mod prompts;
pub mod python;
pub mod random;
pub mod registered;
pub mod request;
pub mod resolver;
pub mod results;
pub mod sample;
pub mod scoring;
pub mod select;
mod settings;
pub mod show;
pub mod source;
pub mod split;
pub mod table;
pub mod task;
pub mod tree;
mod truth;
mod use_prompt;
pub mod validate;
mod warnings;

pub use error::{Error, Result, Warning};
pub use function::{Function, Host, NoHost, Object};
pub use index::{IndexOptions, TaskFileIndex};
pub use memory_files::MemoryFiles;
pub use options::Options;
pub use outcome::TaskResult;
pub use prompt::Requests;
pub use prompts::Prompts;
pub use request::Request;
pub use resolver::TaskResolver;
pub use results::Results;
pub use scoring::Response;
pub use select::select;
pub use split::{Dataset, Need, Split};
pub use task::{OutputType, Task};
pub use tree::{Group, Leaf, Node, Tree};
pub use validate::{check_functions, validate};
