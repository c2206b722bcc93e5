//! YAML 1.1 as PyYAML's safe loader reads it, with the place of every value.
//!
//! Tags of one's own (`!function utils.f`) are kept, anchors are shared, duplicate
//! keys are reported. Size and depth of what a text can make are bounded.
//!
//! The events come from libyaml-safer, a translation of the library behind PyYAML's C
//! loader. It panics on two kinds of text: those that end within a block or an escape,
//! which are given a line break (`decode::ended`), and tags with a comma right behind
//! them, which are refused before it sees them (`tags`). `make fuzz-yaml` mutates the
//! files of the catalog and has found no other panic.

mod compose;
mod construct;
mod decode;
mod emit;
mod error;
mod json;
mod node;
mod scalar;
mod tags;

pub use emit::emit;
pub use error::{DuplicateKey, Error};
pub use json::{from_json, to_json, to_json_with};
pub use node::{Entry, Map, Node, Style, Yaml};

use std::sync::Arc;

/// A document that was read.
#[derive(Debug, Clone)]
pub struct Document {
    /// Its value; `null` for an empty file.
    pub root: Arc<Node>,
    /// Keys given twice in one mapping.
    pub duplicates: Vec<DuplicateKey>,
}

/// Reads the one document of a file; `file` is the name used in errors.
///
/// ```
/// use context_bench_template::yaml;
///
/// let document = yaml::parse(b"task: demo\nfunction: !function utils.f\n", "demo.yaml")?;
/// assert_eq!(document.root.get("task").and_then(|node| node.as_str()), Some("demo"));
/// # Ok::<(), yaml::Error>(())
/// ```
pub fn parse(bytes: &[u8], file: &str) -> Result<Document, Error> {
    let (text, added_break) = decode::ended(decode::decode(bytes, file)?);
    let mut composer = compose::Composer::new(&text, added_break, file);
    let root = composer.document()?;
    Ok(Document {
        root,
        duplicates: composer.duplicates,
    })
}
