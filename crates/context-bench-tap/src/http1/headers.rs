//! [`Headers`]: a list that keeps spelling, order and repeats.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

/// One header line as it was received.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// The name in its own spelling.
    pub name: &'a str,
    /// The value; HTTP allows bytes that are not UTF-8.
    pub value: &'a [u8],
}

impl<'a> Header<'a> {
    /// Whether this is its name, in any case.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The value as text; what is not UTF-8 is replaced.
    pub fn text(&self) -> Cow<'a, str> {
        // Nearly all values are, and this looks at many bytes at once.
        match std::str::from_utf8(self.value) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(self.value),
        }
    }
}

// A value may be a key, so it is not shown.
impl fmt::Debug for Header<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {} bytes", self.name, self.value.len())
    }
}

fn is_comma(byte: &u8) -> bool {
    *byte == b','
}

/// Ends of so many headers need no memory of their own.
const FEW: usize = 8;

/// The headers of a message in their order; the same name may occur again.
///
/// All names stand in one piece of memory and all values in another: a call has some twenty
/// headers, and memory of its own for each would cost more than relaying them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers {
    names: String,
    values: Vec<u8>,
    /// Where the name and the value of each end.
    ends: SmallVec<[(u32, u32); FEW]>,
    /// The looks of all names.
    looks: Looks,
}

/// What names look like, a bit for each look. The relay asks every call for some twenty headers
/// that it does not have, and one look at this says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Looks(u64);

impl Looks {
    /// Of a name, the same in any case.
    fn of(name: &str) -> Self {
        let first = name.as_bytes().first().map_or(0, u8::to_ascii_lowercase);
        Self(1 << ((name.len() as u64 * 5 + u64::from(first)) % 64))
    }

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl Headers {
    /// None yet, with room for so many lines and so many bytes of names and values.
    pub(crate) fn with_room(lines: usize, names: usize, values: usize) -> Self {
        Self {
            names: String::with_capacity(names),
            values: Vec::with_capacity(values),
            ends: SmallVec::with_capacity(lines),
            looks: Looks::default(),
        }
    }

    /// Adds a line. What does not fit into 4 GB is left out: no head is as long.
    pub fn push(&mut self, name: &str, value: &[u8]) {
        let ends = (
            u32::try_from(self.names.len() + name.len()),
            u32::try_from(self.values.len() + value.len()),
        );
        if let (Ok(name_end), Ok(value_end)) = ends {
            self.names.push_str(name);
            self.values.extend_from_slice(value);
            self.ends.push((name_end, value_end));
            self.looks.0 |= Looks::of(name).0;
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Header<'_>> {
        self.lines().map(|line| self.at(line))
    }

    /// The first header of this name.
    pub fn get(&self, name: &str) -> Option<Header<'_>> {
        self.all(name).next()
    }

    /// How many lines are to be looked at for this name: all, or none.
    fn may_have(&self, name: &str) -> usize {
        match self.looks.has(Looks::of(name)) {
            true => self.ends.len(),
            false => 0,
        }
    }

    /// The value of the first header of this name, as text.
    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        self.get(name).map(|header| header.text())
    }

    /// Every header of this name. Lines whose names are of another length are passed over without a
    /// look at them.
    pub fn all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = Header<'a>> + use<'a, 'n> {
        let lines = self.lines().take(self.may_have(name));
        let of_length = lines.filter(move |(names, _)| names.len() == name.len());
        of_length
            .map(|line| self.at(line))
            .filter(move |header| header.is(name))
    }

    /// Where the name and the value of each line stand.
    fn lines(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let mut begin = (0, 0);
        self.ends.iter().map(move |end| {
            let end = (end.0 as usize, end.1 as usize);
            let (names, values) = std::mem::replace(&mut begin, end);
            (names..end.0, values..end.1)
        })
    }

    fn at(&self, (names, values): (Range<usize>, Range<usize>)) -> Header<'_> {
        Header {
            name: &self.names[names],
            value: &self.values[values],
        }
    }

    /// The words of all headers of this name, which commas part, in lower case.
    pub fn words(&self, name: &str) -> Vec<String> {
        let mut words = Vec::new();
        for header in self.all(name) {
            let value = header.text();
            let said = value.split(',').map(str::trim);
            let said = said.filter(|word| !word.is_empty());
            words.extend(said.map(str::to_ascii_lowercase));
        }
        words
    }

    /// Whether one of the words of this name is this one, in any case. The relay asks this many
    /// times for every call.
    pub(crate) fn says(&self, name: &str, word: &str) -> bool {
        let mut words = self
            .all(name)
            .flat_map(|header| header.value.split(is_comma));
        words.any(|said| said.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Whether these are of an answer that comes as events.
    pub fn is_stream(&self) -> bool {
        const EVENTS: &[u8] = b"text/event-stream";
        let kind = self.get("content-type").map(|header| header.value);
        let kind = kind.and_then(|kind| kind.trim_ascii_start().get(..EVENTS.len()));
        kind.is_some_and(|kind| kind.eq_ignore_ascii_case(EVENTS))
    }

    /// How many bytes names and values have.
    pub(crate) fn bytes(&self) -> usize {
        self.names.len() + self.values.len()
    }

    /// The bytes of the lines, without the empty one that ends a head.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for header in self.iter() {
            write_line(out, header.name, header.value);
        }
    }
}

// Values may be keys, so only their lengths are shown.
impl fmt::Debug for Headers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.iter()).finish()
    }
}

impl<N: AsRef<str>, V: AsRef<[u8]>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(lines: I) -> Self {
        /// What most names and values are shorter than.
        const USUAL: usize = 32;
        let lines = lines.into_iter();
        let least = lines.size_hint().0;
        let mut headers = Self::with_room(least, USUAL * least, USUAL * least);
        for (name, value) in lines {
            headers.push(name.as_ref(), value.as_ref());
        }
        headers
    }
}

/// As a list of pairs of a name and a text.
impl Serialize for Headers {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter().map(|header| (header.name, header.text())))
    }
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let lines = Vec::<(String, String)>::deserialize(from)?;
        Ok(lines.into_iter().collect())
    }
}

/// Whether a name has this part, in any case. Every header of every call is asked, so nothing is
/// allocated.
pub(crate) fn contains_ignoring_case(name: &str, part: &str) -> bool {
    let (name, part) = (name.as_bytes(), part.as_bytes());
    let Some(first) = part.first() else {
        return true;
    };
    // Most places differ in their first letter.
    let begins = |here: &[u8]| here[0].eq_ignore_ascii_case(first);
    let mut places = name.windows(part.len());
    places.any(|here| begins(here) && here.eq_ignore_ascii_case(part))
}

/// Adds a line of a head.
pub(crate) fn write_line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_order_spelling_and_repeats() {
        let lines = [("X-A", "1"), ("x-empty", ""), ("x-a", "2, B ,"), ("É", "ü")];
        let headers: Headers = lines.into_iter().collect();
        let back: Vec<(&str, Cow<'_, str>)> = headers
            .iter()
            .map(|header| (header.name, header.text()))
            .collect();
        assert_eq!(back, lines.map(|(name, value)| (name, value.into())));
        assert_eq!(headers.text("x-A").as_deref(), Some("1"));
        assert_eq!(headers.words("x-a"), ["1", "2", "b"]);
        assert!(headers.says("x-a", "b") && !headers.says("x-a", "c"));
        assert!(headers.get("x-b").is_none());
        let json = serde_json::to_string(&headers).unwrap();
        assert_eq!(
            json,
            r#"[["X-A","1"],["x-empty",""],["x-a","2, B ,"],["É","ü"]]"#
        );
        assert_eq!(serde_json::from_str::<Headers>(&json).unwrap(), headers);
        assert!(!format!("{headers:?}").contains('B'));
    }
}
