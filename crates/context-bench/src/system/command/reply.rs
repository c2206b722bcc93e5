//! A reply of a child: one line, one map of JSON.

use serde_json::{Map, Value};

/// The map of a line.
///
/// # Errors
///
/// What the child wrote instead, in words.
pub(crate) fn read_map(line: &[u8]) -> Result<Map<String, Value>, String> {
    match serde_json::from_slice(line) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("the command wrote JSON that is not a map".into()),
        Err(_) => {
            let advice = "standard output is for replies, messages go to standard error";
            Err(format!(
                "the command wrote a line that is not JSON ({advice})"
            ))
        }
    }
}
