//! [`Headers`]: a list that keeps spelling, order and repeats.

use std::fmt;

/// One header line as it was received.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    /// The name in its own spelling.
    pub name: String,
    /// The value; HTTP allows bytes that are not UTF-8.
    pub value: Vec<u8>,
}

impl Header {
    /// A header of a name and a text.
    pub fn new(name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }

    /// Whether this is its name, in any case.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The value as text; what is not UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.value).into_owned()
    }
}

// A value may be a key, so it is not shown.
impl fmt::Debug for Header {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {} bytes", self.name, self.value.len())
    }
}

fn is_comma(byte: &u8) -> bool {
    *byte == b','
}

/// The headers of a message in their order; the same name may occur again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(pub Vec<Header>);

impl Headers {
    /// The first header of this name.
    pub fn get(&self, name: &str) -> Option<&Header> {
        self.0.iter().find(|header| header.is(name))
    }

    /// The value of the first header of this name, as text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(Header::text)
    }

    /// Every header of this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Header> {
        self.0.iter().filter(move |header| header.is(name))
    }

    /// The words of all headers of this name, which commas part, in lower case.
    pub fn words(&self, name: &str) -> Vec<String> {
        let values = self.all(name).map(Header::text);
        values
            .flat_map(|value| {
                let words = value
                    .split(',')
                    .map(|word| word.trim().to_ascii_lowercase());
                words.filter(|word| !word.is_empty()).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Whether one of the words of this name is this one, in any case. The relay asks this many
    /// times for every call.
    pub(crate) fn says(&self, name: &str, word: &str) -> bool {
        let mut words = self
            .all(name)
            .flat_map(|header| header.value.split(is_comma));
        words.any(|said| said.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
    }

    /// How many bytes names and values have.
    pub(crate) fn bytes(&self) -> usize {
        let lengths = self.0.iter().map(|one| one.name.len() + one.value.len());
        lengths.sum()
    }

    /// The bytes of the lines, without the empty one that ends a head.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for header in &self.0 {
            write_line(out, &header.name, &header.value);
        }
    }
}

/// Adds a line of a head.
pub(crate) fn write_line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
