//! [`SyntheticCredential`]: a key that opens nothing and tells whose call it is.

use std::fmt;

/// What it begins with. Proxies treat keys by how they begin, so it looks like an ordinary one.
const PREFIX: &str = "sk-cb-";
const ID_LENGTH: usize = 26;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A key that a client gives to the proxy under test, one for each example or conversation.
/// The tap puts the real key in its place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SyntheticCredential {
    id: String,
}

impl SyntheticCredential {
    /// A new one.
    ///
    /// # Errors
    ///
    /// When the system has no random numbers.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; ID_LENGTH];
        getrandom::fill(&mut bytes)?;
        let letters = bytes
            .iter()
            .map(|byte| char::from(ALPHABET[usize::from(*byte % 32)]));
        Ok(Self {
            id: letters.collect(),
        })
    }

    /// What records call it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The id in the value of a header, with or without `Bearer`.
    pub fn id_in(value: &str) -> Option<String> {
        let value = value.trim();
        let key = value.rfind(' ').map_or(value, |space| &value[space + 1..]);
        let id = key.strip_prefix(PREFIX)?;
        let is_letter = |byte: u8| matches!(byte, b'a'..=b'z' | b'2'..=b'7');
        let is_id = id.len() == ID_LENGTH && id.bytes().all(is_letter);
        is_id.then(|| id.to_owned())
    }
}

/// The key itself.
impl fmt::Display for SyntheticCredential {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{PREFIX}{}", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_survive_the_way() {
        let one = SyntheticCredential::new().unwrap();
        assert_ne!(one, SyntheticCredential::new().unwrap());
        assert_eq!(
            SyntheticCredential::id_in(&one.to_string()).as_deref(),
            Some(one.id())
        );
        let bearer = format!("Bearer {one}");
        assert_eq!(
            SyntheticCredential::id_in(&bearer).as_deref(),
            Some(one.id())
        );
        for other in [
            "",
            "Bearer sk-real",
            "sk-cb-short",
            "sk-cb-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        ] {
            assert_eq!(SyntheticCredential::id_in(other), None, "{other}");
        }
    }
}
