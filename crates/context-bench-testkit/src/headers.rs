//! The headers of one request, in order of arrival.
//!
//! Names are compared without regard to case, as HTTP demands. Values are kept
//! as text; bytes that are not UTF-8 are replaced, never refused.

/// Request headers with case-insensitive lookup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    pub(crate) fn from_parsed(parsed: &[httparse::Header<'_>]) -> Self {
        Self(
            parsed
                .iter()
                .map(|header| {
                    let value = String::from_utf8_lossy(header.value).into_owned();
                    (header.name.to_owned(), value)
                })
                .collect(),
        )
    }

    /// The value of the first header with this name, whatever its case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Whether a header with this name was sent.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// All headers as (name, value), in order of arrival, names as sent.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}
