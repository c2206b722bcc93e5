//! Digests that stand for content which must not be written down, such as keys.

use sha2::{Digest as _, Sha256};

/// 128 bits of SHA-256 as hexadecimal text.
pub fn hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let first = digest.iter().take(16);
    first.map(|byte| format!("{byte:02x}")).collect()
}
