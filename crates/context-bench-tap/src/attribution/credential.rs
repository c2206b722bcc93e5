//! [`SyntheticCredential`]: a key that opens nothing and tells whose call it is.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// What it begins with. Proxies treat keys by how they begin, so it looks like an ordinary one.
const PREFIX: &str = "sk-cb-";
const ID_LENGTH: usize = 26;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A key that a client gives to the proxy under test, one for each example or conversation.
/// The tap puts the real key in its place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SyntheticCredential {
    id: Arc<str>,
}

impl SyntheticCredential {
    /// A new one.
    ///
    /// # Errors
    ///
    /// When the system has no random numbers.
    pub fn new() -> Result<Self, getrandom::Error> {
        let bytes = random()?;
        let letters = bytes.map(|byte| ALPHABET[usize::from(byte % 32)]);
        // Letters of the alphabet are text.
        let id = std::str::from_utf8(&letters).unwrap_or_default();
        Ok(Self { id: id.into() })
    }

    /// What records call it.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The value of `Authorization` with it.
    pub fn bearer(&self) -> String {
        ["Bearer ", PREFIX, &self.id].concat()
    }

    /// The id in the value of a header, with or without `Bearer`.
    pub fn id_in(value: &str) -> Option<&str> {
        let value = value.trim();
        let key = value.rfind(' ').map_or(value, |space| &value[space + 1..]);
        let id = key.strip_prefix(PREFIX)?;
        let is_letter = |byte: u8| matches!(byte, b'a'..=b'z' | b'2'..=b'7');
        let is_id = id.len() == ID_LENGTH && id.bytes().all(is_letter);
        is_id.then_some(id)
    }
}

/// Random numbers for one id. The system is asked for many at once: every example has an id, and
/// to ask takes longer than to make one.
fn random() -> Result<[u8; ID_LENGTH], getrandom::Error> {
    const IDS: usize = 64;
    thread_local! {
        static STOCK: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    STOCK.with_borrow_mut(|stock| {
        if stock.len() < ID_LENGTH {
            stock.resize(IDS * ID_LENGTH, 0);
            if let Err(error) = getrandom::fill(stock) {
                // What is not random must not be handed out.
                stock.clear();
                return Err(error);
            }
        }
        let rest = stock.len() - ID_LENGTH;
        let mut bytes = [0; ID_LENGTH];
        bytes.copy_from_slice(&stock[rest..]);
        stock.truncate(rest);
        Ok(bytes)
    })
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
    fn no_two_are_the_same() {
        let made: std::collections::HashSet<String> = (0..1000)
            .map(|_| SyntheticCredential::new().unwrap().to_string())
            .collect();
        assert_eq!(made.len(), 1000);
    }

    #[test]
    fn ids_survive_the_way() {
        let one = SyntheticCredential::new().unwrap();
        assert_ne!(one, SyntheticCredential::new().unwrap());
        assert_eq!(
            SyntheticCredential::id_in(&one.to_string()),
            Some(&**one.id())
        );
        let bearer = one.bearer();
        assert_eq!(bearer, format!("Bearer {one}"));
        assert_eq!(SyntheticCredential::id_in(&bearer), Some(&**one.id()));
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
