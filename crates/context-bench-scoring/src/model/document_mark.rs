//! [`DocumentMark`]: which examples are about the same document.
//!
//! Questions about one document resemble each other, so they must not count as independent. Rows are
//! kept by the million: a mark is four bytes, and lies where a row has room anyway. Two documents out
//! of 100,000 may have the same mark, which makes intervals a hair wider and no more.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

use super::Example;

/// The field of an example that names its document.
pub const DOCUMENT_ID: &str = "document_id";

/// The highest bit says that the data names the document.
const NAMED: u32 = 1 << 31;

/// Which document an example is about, as a digest; equal marks are of one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DocumentMark(u32);

impl DocumentMark {
    /// The document that the field `document_id` names, else the one that the context is; none for
    /// an example with neither.
    pub fn of(example: &Example) -> Self {
        let named = example.get(DOCUMENT_ID).filter(|value| !value.is_null());
        if let Some(name) = named {
            return Self(digest(&named_as(name)) | NAMED);
        }
        match example.context() {
            "" => Self::default(),
            // 0 is no mark.
            context => Self((digest(context) & !NAMED).max(1)),
        }
    }

    /// Whether there is a document.
    pub fn is_some(self) -> bool {
        self.0 != 0
    }

    /// Whether the data names it; else it is known by its text.
    pub fn is_named(self) -> bool {
        self.0 & NAMED != 0
    }
}

fn named_as(name: &Value) -> String {
    // `1` and `"1"` are different names, as they are different ids.
    name.to_string()
}

fn digest(text: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    // The low half is as good as any.
    hasher.finish() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_named_or_known_by_their_text() {
        let about = |context: &str| Example::new().with("context", context);
        let (a, b) = (
            DocumentMark::of(&about("one")),
            DocumentMark::of(&about("two")),
        );
        assert!(a.is_some() && !a.is_named() && a != b);
        assert_eq!(a, DocumentMark::of(&about("one").with("question", "q")));
        assert!(!DocumentMark::of(&about("")).is_some());
        let named =
            |context: &str, id: Value| DocumentMark::of(&about(context).with(DOCUMENT_ID, id));
        assert_eq!(named("one", "d".into()), named("two", "d".into()));
        assert_ne!(named("one", 1.into()), named("one", "1".into()));
        assert!(named("one", "d".into()).is_named());
        assert_eq!(named("one", Value::Null), a);
    }
}
