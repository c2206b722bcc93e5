//! [`EventReader`]: server-sent events out of bytes that are cut anywhere.
//!
//! Cuts may be inside a character too: lines are split as bytes and only whole ones are
//! read as text. Comments, `id` and `retry` are skipped. No I/O here.

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The field `event`; empty where it is not there.
    pub name: String,
    /// The lines of `data`, with a newline between them.
    pub data: String,
    /// How many bytes of the stream had been read when it was complete.
    pub end: u64,
}

/// Collects bytes and gives back complete events.
#[derive(Debug, Default)]
pub struct EventReader {
    /// Bytes of a line that is not complete yet.
    line: Vec<u8>,
    /// The name of an event that is not complete yet.
    name: String,
    /// Its data lines.
    data: Option<String>,
    /// The last byte was a carriage return, whose newline may follow.
    after_return: bool,
    /// A byte order mark is only skipped before the first line.
    has_started: bool,
    read: u64,
}

impl EventReader {
    /// Takes the next bytes; calls `found` with each event that they complete.
    pub fn feed(&mut self, mut bytes: &[u8], mut found: impl FnMut(Event)) {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                bytes = &bytes[1..];
                self.read += 1;
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                self.line.extend_from_slice(bytes);
                self.read += bytes.len() as u64;
                return;
            };
            self.line.extend_from_slice(&bytes[..end]);
            self.after_return = bytes[end] == b'\r';
            self.read += end as u64 + 1;
            bytes = &bytes[end + 1..];
            self.end_line(&mut found);
        }
    }

    /// Ends the stream: an event whose empty line is missing still counts, since servers leave
    /// it out after the last one.
    pub fn finish(&mut self, mut found: impl FnMut(Event)) {
        if !self.line.is_empty() {
            self.end_line(&mut found);
        }
        self.dispatch(&mut found);
    }

    fn end_line(&mut self, found: &mut impl FnMut(Event)) {
        let line = std::mem::take(&mut self.line);
        let mut text = String::from_utf8_lossy(&line);
        if !std::mem::replace(&mut self.has_started, true)
            && let Some(rest) = text.strip_prefix('\u{feff}')
        {
            text = rest.to_owned().into();
        }
        if text.is_empty() {
            return self.dispatch(found);
        }
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut self.data) {
            ("event", _) => value.clone_into(&mut self.name),
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("data", none) => *none = Some(value.to_owned()),
            // Comments, `id`, `retry`.
            _ => {}
        }
    }

    fn dispatch(&mut self, found: &mut impl FnMut(Event)) {
        let name = std::mem::take(&mut self.name);
        if let Some(data) = self.data.take() {
            found(Event {
                name,
                data,
                end: self.read,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<Event> {
        let mut reader = EventReader::default();
        let mut found = Vec::new();
        for piece in pieces {
            reader.feed(piece, |event| found.push(event));
        }
        reader.finish(|event| found.push(event));
        found
    }

    #[test]
    fn events_are_read_in_all_spellings() {
        let event = |name: &str, data: &str, end| Event {
            name: name.to_owned(),
            data: data.to_owned(),
            end,
        };
        for (text, expected) in [
            (
                "data: a\n\ndata: b\n\n",
                vec![event("", "a", 9), event("", "b", 18)],
            ),
            ("event: x\r\ndata:a\r\n\r\n", vec![event("x", "a", 19)]),
            (
                "data: a\r\rdata: b\r\r",
                vec![event("", "a", 9), event("", "b", 18)],
            ),
            (
                ": hi\n\nid: 1\nretry: 5\ndata: a\ndata: b\n\n",
                vec![event("", "a\nb", 38)],
            ),
            ("\u{feff}data\n\n", vec![event("", "", 9)]),
            ("event: x\n\ndata: [DONE]", vec![event("", "[DONE]", 22)]),
            ("", vec![]),
        ] {
            let found = events(&[text.as_bytes()]);
            let plain = |events: &[Event]| -> Vec<(String, String)> {
                events
                    .iter()
                    .map(|e| (e.name.clone(), e.data.clone()))
                    .collect()
            };
            assert_eq!(plain(&found), plain(&expected), "{text:?}");
            let ends = |events: &[Event]| events.iter().map(|e| e.end).collect::<Vec<_>>();
            if !text.contains('\r') {
                assert_eq!(ends(&found), ends(&expected), "{text:?}");
            }
        }
    }

    #[test]
    fn cuts_change_nothing() {
        let text = "event: é\r\ndata: {\"x\":\"🦀\"}\r\n\r\n: ping\n\ndata: two\ndata: lines\n\n";
        let whole = events(&[text.as_bytes()]);
        assert_eq!(whole.len(), 2);
        for cut in 0..text.len() {
            let (a, b) = text.as_bytes().split_at(cut);
            assert_eq!(events(&[a, b]), whole, "{cut}");
        }
    }

    #[test]
    fn data_is_read_in_all_spellings() {
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
            assert_eq!(data(&[text.as_bytes()]), expected, "{text:?}");
        }
    }

    #[test]
    fn single_bytes_change_nothing() {
        let text = "data: {\"x\":\"é🦀\"}\r\n\r\n: ping\n\ndata: two\ndata: lines\n\n";
        let whole = data(&[text.as_bytes()]);
        assert_eq!(whole, ["{\"x\":\"é🦀\"}", "two\nlines"]);
        let bytes = text.as_bytes();
        for cut in 0..=bytes.len() {
            let (a, b) = bytes.split_at(cut);
            assert_eq!(data(&[a, b]), whole, "cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(data(&single), whole);
    }

    fn data(pieces: &[&[u8]]) -> Vec<String> {
        events(pieces).into_iter().map(|event| event.data).collect()
    }
}
