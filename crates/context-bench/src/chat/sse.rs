//! Server-sent events: bytes in, the data of each event out.
//!
//! Only `data` matters to chat streams; comments, `event`, `id` and `retry` are
//! skipped. Bytes may be cut anywhere, inside a character too: lines are split
//! as bytes and only whole ones are read as text. No I/O here.

/// Collects bytes and gives back the data of complete events.
#[derive(Debug, Default)]
pub(crate) struct EventParser {
    /// Bytes of a line that is not complete yet.
    line: Vec<u8>,
    /// Data lines of an event that is not complete yet.
    data: Option<String>,
    /// The last byte was a carriage return, whose newline may follow.
    after_return: bool,
    /// A byte order mark is only skipped before the first line.
    started: bool,
}

impl EventParser {
    /// Takes the next bytes; calls `found` with the data of each event that
    /// they complete.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut found: impl FnMut(String)) {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(bytes);
                return;
            };
            self.line.extend_from_slice(&bytes[..end]);
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.end_line(&mut found);
        }
    }

    /// Ends the stream: an event whose blank line is missing still counts, since
    /// servers leave it out after the last one.
    pub(crate) fn finish(&mut self, mut found: impl FnMut(String)) {
        if !self.line.is_empty() {
            self.end_line(&mut found);
        }
        if let Some(data) = self.data.take() {
            found(data);
        }
    }

    fn end_line(&mut self, found: &mut impl FnMut(String)) {
        let line = std::mem::take(&mut self.line);
        let mut text = String::from_utf8_lossy(&line);
        if !std::mem::replace(&mut self.started, true)
            && let Some(rest) = text.strip_prefix('\u{feff}')
        {
            text = rest.to_owned().into();
        }
        if text.is_empty() {
            if let Some(data) = self.data.take() {
                found(data);
            }
            return;
        }
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        if field != "data" {
            return;
        }
        let value = value.strip_prefix(' ').unwrap_or(value);
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
            None => self.data = Some(value.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<String> {
        let mut parser = EventParser::default();
        let mut found = Vec::new();
        for piece in pieces {
            parser.push(piece, |data| found.push(data));
        }
        parser.finish(|data| found.push(data));
        found
    }

    #[test]
    fn events_are_read_in_all_spellings() {
        for (text, expected) in [
            ("data: a\n\ndata: b\n\n", &["a", "b"][..]),
            ("data:a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            ("data: a\r\rdata: b\r\r", &["a", "b"]),
            (": hello\n\n: again\ndata: a\n\n", &["a"]),
            ("event: x\nid: 1\nretry: 5\ndata: a\n\n", &["a"]),
            ("data: a\ndata: b\n\n", &["a\nb"]),
            ("data\n\n", &[""]),
            ("data:  a: b\n\n", &[" a: b"]),
            ("\u{feff}data: a\n\n", &["a"]),
            ("data: a\n\ndata: [DONE]", &["a", "[DONE]"]),
            ("datum: a\n\nevent: x\n\n", &[]),
            ("\n\n\n", &[]),
            ("", &[]),
        ] {
            assert_eq!(events(&[text.as_bytes()]), expected, "{text:?}");
        }
    }

    #[test]
    fn cuts_change_nothing() {
        let text = "data: {\"x\":\"é🦀\"}\r\n\r\n: ping\n\ndata: two\ndata: lines\n\n";
        let whole = events(&[text.as_bytes()]);
        assert_eq!(whole, ["{\"x\":\"é🦀\"}", "two\nlines"]);
        let bytes = text.as_bytes();
        for cut in 0..=bytes.len() {
            assert_eq!(
                events(&[&bytes[..cut], &bytes[cut..]]),
                whole,
                "cut at {cut}"
            );
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(events(&single), whole);
    }
}
