//! [`ChunkReader`]: follows a chunked body so that its end and its payload are known while the
//! bytes themselves are passed on as they are, sizes, extensions and trailers included.

/// The longest line of a size, its extensions, or a trailer that is read.
const MAX_LINE: usize = 16 * 1024;

/// Where in a chunked body the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// In the digits of a size.
    Size,
    /// In what follows the digits, up to the end of the line.
    Extension,
    /// In the payload of a chunk, of which so much is left.
    Payload(u64),
    /// Before the line end that follows a payload.
    PayloadEnd,
    /// In the lines after the last chunk; whether the line so far is empty.
    Trailer {
        is_empty: bool,
    },
    Done,
}

/// Follows a chunked body through any cuts.
#[derive(Debug)]
pub(crate) struct ChunkReader {
    stage: Stage,
    size: u64,
    digits: usize,
    line: usize,
}

impl ChunkReader {
    pub(crate) fn new() -> Self {
        Self {
            stage: Stage::Size,
            size: 0,
            digits: 0,
            line: 0,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Takes bytes, calls `payload` with each piece of content, and says how many bytes belong
    /// to this body.
    pub(crate) fn feed<'a>(
        &mut self,
        bytes: &'a [u8],
        mut payload: impl FnMut(&'a [u8]),
    ) -> Result<usize, String> {
        let mut at = 0;
        while at < bytes.len() && self.stage != Stage::Done {
            if let Stage::Payload(left) = self.stage {
                let here = usize::try_from(left)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len() - at);
                payload(&bytes[at..at + here]);
                at += here;
                self.stage = match left - here as u64 {
                    0 => Stage::PayloadEnd,
                    left => Stage::Payload(left),
                };
                continue;
            }
            self.byte(bytes[at])?;
            at += 1;
        }
        Ok(at)
    }

    fn byte(&mut self, byte: u8) -> Result<(), String> {
        self.line += 1;
        if self.line > MAX_LINE {
            return Err("a chunk line without end".to_owned());
        }
        match (self.stage, byte) {
            (Stage::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                let size = self.size.checked_mul(16);
                let size = size.and_then(|size| size.checked_add(digit.into()));
                self.size = size.ok_or_else(|| "a chunk size beyond all bounds".to_owned())?;
                self.digits += 1;
            }
            (Stage::Size | Stage::Extension, b'\n') if self.digits > 0 => self.sized(),
            (Stage::Size, _) if self.digits > 0 => self.stage = Stage::Extension,
            (Stage::Extension, _) if byte != b'\n' => {}
            (Stage::PayloadEnd, b'\r') => {}
            (Stage::PayloadEnd, b'\n') => {
                self.stage = Stage::Size;
                self.line = 0;
            }
            (Stage::Trailer { is_empty: true }, b'\n') => self.stage = Stage::Done,
            (Stage::Trailer { .. }, b'\n') => self.stage = Stage::Trailer { is_empty: true },
            (Stage::Trailer { .. }, b'\r') => {}
            (Stage::Trailer { .. }, _) => self.stage = Stage::Trailer { is_empty: false },
            _ => return Err("a chunk without its size".to_owned()),
        }
        Ok(())
    }

    /// The line of a size is complete.
    fn sized(&mut self) {
        self.stage = match self.size {
            0 => Stage::Trailer { is_empty: true },
            size => Stage::Payload(size),
        };
        self.size = 0;
        self.digits = 0;
        self.line = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Result<(Vec<Vec<u8>>, bool, usize), String> {
        let mut reader = ChunkReader::new();
        let mut found = Vec::new();
        let mut used = 0;
        for piece in pieces {
            used += reader.feed(piece, |payload| found.push(payload.to_vec()))?;
        }
        Ok((found, reader.is_done(), used))
    }

    #[test]
    fn chunks_are_followed_to_their_end() {
        let text = b"5\r\nhello\r\n1;x=\"y\"\r\n!\r\n0\r\nA: b\r\n\r\nGET /";
        let (found, is_done, used) = read(&[text]).unwrap();
        assert_eq!(found, [b"hello".to_vec(), b"!".to_vec()]);
        assert!(is_done);
        assert_eq!(&text[used..], b"GET /");
    }

    #[test]
    fn cuts_change_nothing() {
        let text = b"a\r\n0123456789\r\n3\r\nabc\r\n0\r\n\r\n";
        for cut in 0..text.len() {
            let (found, is_done, used) = read(&[&text[..cut], &text[cut..]]).unwrap();
            assert_eq!(found.concat(), b"0123456789abc", "{cut}");
            assert!(is_done && used == text.len(), "{cut}");
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(read(&bytes).unwrap().0.concat(), b"0123456789abc");
    }

    #[test]
    fn broken_chunks_are_refused() {
        for text in ["x\r\n", "\r\n", "ffffffffffffffffff\r\n", "2\r\nabc"] {
            assert!(read(&[text.as_bytes()]).is_err(), "{text}");
        }
        assert!(!read(&[b"5\r\nhel"]).unwrap().1);
    }
}
