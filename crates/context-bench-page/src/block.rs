//! Blocks: compressed bytes in an element of the page that no browser runs.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::Value;

/// Writes a block and says how many bytes it takes in the file. `kind` and `number` are what the
/// script finds it by; base64 has no character that could end the element.
pub(crate) fn write(
    out: &mut dyn Write,
    kind: &str,
    number: usize,
    bytes: &[u8],
) -> io::Result<usize> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(bytes)?;
    let text = STANDARD.encode(encoder.finish()?);
    writeln!(
        out,
        "<script type=\"application/octet-stream\" id=\"{kind}-{number}\">{text}</script>"
    )?;
    Ok(text.len())
}

/// Writes JSON as an inert element. Nothing in it can end the element or open a comment.
pub(crate) fn write_json(out: &mut dyn Write, id: &str, json: &str) -> io::Result<()> {
    let safe = json.replace('<', "\\u003c").replace('>', "\\u003e");
    writeln!(
        out,
        "<script type=\"application/json\" id=\"{id}\">{safe}</script>"
    )
}

/// Texts on their way into a block: an array of JSON values.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    json: String,
    len: usize,
    /// How many there are in blocks that were taken.
    before: usize,
}

impl Texts {
    pub(crate) fn push(&mut self, value: &Value) {
        self.json.push(if self.len == 0 { '[' } else { ',' });
        self.json.push_str(&value.to_string());
        self.len += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that wait.
    pub(crate) fn size(&self) -> usize {
        self.json.len()
    }

    /// The array, and the number of its first value; begins anew.
    pub(crate) fn take(&mut self) -> (usize, String) {
        let first = self.before;
        self.before += self.len;
        self.len = 0;
        (first, std::mem::take(&mut self.json) + "]")
    }
}
