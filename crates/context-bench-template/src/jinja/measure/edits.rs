//! What is written into the source of a template, and where.

/// Texts to put into a source.
#[derive(Default)]
pub(super) struct Edits(Vec<Edit>);

struct Edit {
    at: usize,
    /// How much of the source it replaces.
    length: usize,
    text: String,
}

impl Edits {
    pub(super) fn insert(&mut self, at: usize, text: String) {
        self.replace(at, 0, text);
    }

    pub(super) fn replace(&mut self, at: usize, length: usize, text: String) {
        self.0.push(Edit { at, length, text });
    }

    /// Takes back what was to be put at a place.
    pub(super) fn remove_at(&mut self, at: usize) {
        self.0.retain(|edit| edit.at != at);
    }

    /// The source with all of them. Those at one place stay in the order in which they
    /// came, from the inside to the outside.
    pub(super) fn apply(mut self, source: &str) -> String {
        self.0.sort_by_key(|edit| edit.at);
        let mut out = String::with_capacity(source.len() + 16 * self.0.len());
        let mut done = 0;
        for edit in &self.0 {
            out.push_str(&source[done..edit.at]);
            out.push_str(&edit.text);
            done = edit.at + edit.length;
        }
        out.push_str(&source[done..]);
        out
    }
}
