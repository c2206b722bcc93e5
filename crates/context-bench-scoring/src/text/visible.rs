//! Text from outside as terminals and pages may show it.
//!
//! An id, a name or a message can hold what steers a terminal (`ESC [2J`) or turns the
//! order of letters around. Such characters are written out, so that one sees that they
//! are there: `\x1b`, `\u{202e}`. What programs read (JSON, JSON lines, CSV) is data, and
//! keeps them.

use std::borrow::Cow;

/// The text with everything written out that steers a terminal or misleads: control
/// characters but newlines and tabs, marks that turn the order of letters around, and
/// characters that nobody sees.
pub fn visible(text: &str) -> Cow<'_, str> {
    written_out(text, hides)
}

/// The same on one line: newlines and tabs are blanks.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    match text.contains(['\n', '\t']) {
        true => visible(&text.replace(['\n', '\t'], " "))
            .into_owned()
            .into(),
        false => visible(text),
    }
}

/// JSON that means the same, with such characters as escapes of JSON.
pub fn visible_json(text: &str) -> Cow<'_, str> {
    let hides = |c| hides(c) && c != '\r';
    if !text.contains(hides) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match hides(c) {
            true => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            false => out.push(c),
        }
    }
    out.into()
}

fn written_out(text: &str, hides: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hides) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !hides(c) => out.push(c),
            '\r' => out.push_str("\\r"),
            c if (c as u32) < 0x100 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
        }
    }
    out.into()
}

/// Whether a character does something else than to be seen.
fn hides(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        // Arabic letter mark, Mongolian vowel separator, soft hyphen.
        '\u{ad}' | '\u{61c}' | '\u{180e}' => true,
        // No width, direction marks; U+200C and U+200D join letters and emoji.
        '\u{200b}' | '\u{200e}' | '\u{200f}' => true,
        // Line and paragraph separators, embeddings and overrides, isolates.
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' => true,
        // A byte order mark, annotations, tags.
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_written_out() {
        for (text, expected) in [
            (
                "plain\n\ttext é 漢 👩\u{200d}🚀",
                "plain\n\ttext é 漢 👩\u{200d}🚀",
            ),
            ("\u{1b}[2J\u{7}\u{0}", "\\x1b[2J\\x07\\x00"),
            ("\u{9b}31m\u{7f}\r", "\\x9b31m\\x7f\\r"),
            (
                "a\u{202e}b\u{2066}c\u{200f}\u{61c}",
                "a\\u{202e}b\\u{2066}c\\u{200f}\\u{61c}",
            ),
            (
                "\u{feff}x\u{200b}y\u{e0041}",
                "\\u{feff}x\\u{200b}y\\u{e0041}",
            ),
        ] {
            assert_eq!(visible(text), expected);
            assert_eq!(visible(expected), expected, "again");
        }
        assert_eq!(visible_line("a\nb\t\u{1b}"), "a b \\x1b");
    }

    #[test]
    fn json_means_the_same() {
        let value = serde_json::json!({"a\u{202e}": "\u{9b}\u{e0041}\u{7f}\r\n\u{1b}"});
        let text = format!("{value:#}");
        let shown = visible_json(&text);
        assert!(!shown.contains(hides), "{shown:?}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).ok(),
            Some(value)
        );
    }
}
