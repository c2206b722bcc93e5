//! Tasks and groups in the format of lm-evaluation-harness: everything about them
//! that needs no model.
//!
//! Files are indexed and loaded, names selected, groups resolved with their overrides,
//! prompts rendered, responses filtered and scored, scores aggregated and shown. There
//! is no network and no runtime in here: Python functions go through a [`Host`].

pub mod aggregate;
pub mod catalog;
pub mod config;
pub mod error;
pub mod file;
pub mod function;
pub mod index;
mod path;
pub mod pattern;
pub mod python;
pub mod random;
pub mod select;
pub mod suggest;
pub mod tree;

pub use catalog::Catalog;
pub use error::{Error, Result, Warning};
pub use function::{Function, Host, NoHost, Object};
pub use index::{Index, IndexOptions};
pub use select::select;
pub use tree::{Group, Leaf, Node, Tree};
