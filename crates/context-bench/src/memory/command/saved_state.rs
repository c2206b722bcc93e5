//! What is kept of a child that saves itself: whose state it is, and the state.
//!
//! The command may be the same while the memory behind it was updated. Its state then
//! belongs to another version and is not given back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::protocol::Hello;

/// The bytes to keep, of a state as the child wrote it.
///
/// # Errors
///
/// When the state is not base64.
pub(super) fn pack(hello: &Hello, state: &str) -> Result<Vec<u8>, String> {
    let bytes = STANDARD
        .decode(state)
        .map_err(|error| format!("its `state` is not base64: {error}"))?;
    let mut packed = whose(hello).to_string().into_bytes();
    packed.push(b'\n');
    packed.extend(bytes);
    Ok(packed)
}

/// The state as the child wrote it; `None` when it is of another memory or version.
pub(super) fn unpack(hello: &Hello, packed: &[u8]) -> Option<String> {
    let end = packed.iter().position(|byte| *byte == b'\n')?;
    let found: Value = serde_json::from_slice(&packed[..end]).ok()?;
    (found == whose(hello)).then(|| STANDARD.encode(&packed[end + 1..]))
}

fn whose(hello: &Hello) -> Value {
    json!({"memory": hello.name, "version": hello.version})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_belongs_to_one_version() {
        let hello = |version: &str| Hello {
            name: Some("m\n".into()),
            version: Some(version.into()),
            saves: true,
        };
        let packed = pack(&hello("1"), "AAoB").expect("base64");
        assert_eq!(unpack(&hello("1"), &packed).as_deref(), Some("AAoB"));
        assert_eq!(unpack(&hello("2"), &packed), None);
        for damaged in [&b""[..], b"x", b"x\ny", &packed[..5]] {
            assert_eq!(unpack(&hello("1"), damaged), None);
        }
        assert!(pack(&hello("1"), "é").is_err());
    }
}
