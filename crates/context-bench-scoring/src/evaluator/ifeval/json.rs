//! Whether a text is JSON as Python's `json.loads` reads it.
//!
//! More lenient than the standard: `NaN`, `Infinity` and `-Infinity`, lone
//! surrogates and numbers of any size are accepted. Nesting deeper than
//! Python's recursion limit is not. Written by hand for parity with IFEval's official check.

use crate::text::words::trim;

/// Python's default recursion limit, roughly what its parser can nest.
const MAX_DEPTH: usize = 990;

/// `detectable_format:json_format`: JSON, perhaps in a fence.
pub(super) fn is_json_answer(text: &str) -> bool {
    let mut text = trim(text);
    for fence in ["```json", "```Json", "```JSON", "```"] {
        text = text.strip_prefix(fence).unwrap_or(text);
    }
    is_json(trim(text.strip_suffix("```").unwrap_or(text)))
}

fn is_json(text: &str) -> bool {
    let mut reader = Reader {
        bytes: text.as_bytes(),
        at: 0,
    };
    reader.skip_space();
    let valid = reader.value(0).is_some();
    reader.skip_space();
    valid && reader.at == reader.bytes.len()
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, text: &str) -> Option<()> {
        let rest = self.bytes.get(self.at..)?;
        rest.starts_with(text.as_bytes()).then(|| {
            self.at += text.len();
        })
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.peek()? {
            b'"' => self.string(),
            b'{' => self.list(b'}', depth, |reader| {
                reader.string()?;
                reader.skip_space();
                reader.take(":")?;
                reader.skip_space();
                Some(())
            }),
            b'[' => self.list(b']', depth, |_| Some(())),
            b'n' => self.take("null"),
            b't' => self.take("true"),
            b'f' => self.take("false"),
            b'N' => self.take("NaN"),
            b'I' => self.take("Infinity"),
            b'-' => self.take("-Infinity").or_else(|| self.number()),
            b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    /// An array, or an object when `before` reads a key.
    fn list(&mut self, close: u8, depth: usize, before: fn(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        self.skip_space();
        if self.peek()? == close {
            self.at += 1;
            return Some(());
        }
        loop {
            before(self)?;
            self.value(depth + 1)?;
            self.skip_space();
            let next = self.peek()?;
            self.at += 1;
            if next == close {
                return Some(());
            }
            if next != b',' {
                return None;
            }
            self.skip_space();
        }
    }

    fn string(&mut self) -> Option<()> {
        self.take("\"")?;
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'"' => return Some(()),
                b'\\' => {
                    let escape = self.peek()?;
                    self.at += 1;
                    match escape {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                        b'u' => {
                            let digits = self.bytes.get(self.at..self.at + 4)?;
                            if !digits.iter().all(u8::is_ascii_hexdigit) {
                                return None;
                            }
                            self.at += 4;
                        }
                        _ => return None,
                    }
                }
                0..=0x1f => return None,
                _ => {}
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        // A fraction or exponent that is not one ends the number before it.
        let whole = self.at;
        if self.take(".").is_some() && self.digits().is_none() {
            self.at = whole;
            return Some(());
        }
        let mantissa = self.at;
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits().is_none() {
                self.at = mantissa;
            }
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_reads() {
        for text in [
            "{}",
            " [1, 2.5e-3, -0, null, true] ",
            r#"{"a": {"b": "\ud800 \u00e9"}}"#,
            "NaN",
            "[-Infinity, Infinity]",
            "1e999",
            "\"é\"",
            "```json\n{\"a\": 1}\n```",
            "```\n[]```",
        ] {
            assert!(is_json_answer(text), "{text:?}");
        }
        for text in [
            "",
            "{'a': 1}",
            "[1,]",
            "{\"a\": 1,}",
            "\"a\nb\"",
            "01",
            "1.",
            "+1",
            "[1] x",
            "Sure:\n```json\n{}\n```",
            r#""\x""#,
            r#""\u12"#,
            "\u{feff}{}",
            "{\"a\" 1}",
            "[",
        ] {
            assert!(!is_json_answer(text), "{text:?}");
        }
        assert!(!is_json(&"[".repeat(1_000_000)));
        assert!(is_json(&("[".repeat(900) + &"]".repeat(900))));
    }
}
