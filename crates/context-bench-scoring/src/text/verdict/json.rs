//! Verdicts written as JSON, in a fence or in the middle of prose.

use serde_json::Value;

/// Pieces that look like JSON but are not are given up after this many, so that
/// no reply takes long.
const MAX_FAILED: usize = 64;

/// Every JSON object or list in a text that stands inside no other, with the
/// place behind it.
pub(super) fn values(text: &str) -> Vec<(usize, Value)> {
    let mut found = Vec::new();
    let mut failed = 0;
    let mut at = 0;
    while let Some(start) = text[at..].find(['{', '[']).map(|start| at + start) {
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter();
        match stream.next() {
            Some(Ok(value)) => {
                at = start + stream.byte_offset();
                found.push((at, value));
            }
            _ => {
                failed += 1;
                at = start + 1;
                if failed > MAX_FAILED {
                    break;
                }
            }
        }
    }
    found
}

/// A key without case and separators: `Final_Score` is `finalscore`.
fn plain(key: &str) -> String {
    key.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// The member of an object that the first matching key names, in the order of `keys`.
pub(super) fn member<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    let object = value.as_object()?;
    keys.iter().find_map(|wanted| {
        let mut members = object.iter();
        members.find_map(|(key, value)| (plain(key) == *wanted).then_some(value))
    })
}
