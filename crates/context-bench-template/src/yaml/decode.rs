//! Bytes to text: UTF-8, or UTF-16 when a byte order mark says so.

use std::borrow::Cow;

use context_bench_error::{Place, Position};

use super::error::Error;

/// The text of a file, without its byte order mark.
pub(crate) fn decode<'b>(bytes: &'b [u8], file: &str) -> Result<Cow<'b, str>, Error> {
    match bytes {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes, file),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes, file),
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(rest, file),
        _ => utf8(bytes, file),
    }
}

fn utf8<'b>(bytes: &'b [u8], file: &str) -> Result<Cow<'b, str>, Error> {
    std::str::from_utf8(bytes)
        .map(Cow::Borrowed)
        .map_err(|wrong| {
            let before = String::from_utf8_lossy(&bytes[..wrong.valid_up_to()]);
            let position = Position::in_text(&before, before.len());
            Error::new("the file is not UTF-8 text", Place::new(file, position))
                .with_hint("save the file as UTF-8")
        })
}

fn utf16<'b>(bytes: &[u8], unit: fn([u8; 2]) -> u16, file: &str) -> Result<Cow<'b, str>, Error> {
    let wrong = || {
        Error::new("the file is not valid UTF-16 text", Place::file(file))
            .with_hint("save the file as UTF-8")
    };
    let pairs = bytes.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(wrong());
    }
    let units = pairs.map(|pair| unit([pair[0], pair[1]]));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.map(Cow::Owned).map_err(|_| wrong())
}

/// The text with a line break at its end, and whether it had none.
///
/// The scanner panics on a block scalar or an escape that the end of the text cuts off
/// (libyaml-safer 0.3.0); the composer takes the break back where it would be seen.
pub(crate) fn ended(text: Cow<'_, str>) -> (Cow<'_, str>, bool) {
    if text.is_empty() || text.ends_with(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']) {
        return (text, false);
    }
    (Cow::Owned(text.into_owned() + "\n"), true)
}
