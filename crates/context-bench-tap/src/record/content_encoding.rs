//! Bodies that were compressed on the wire, decoded for a look at them.

use std::io::{self, Read, Write as _};

use super::call::Frame;

/// Why a body could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// An encoding that is not known.
    #[error("unknown content-encoding `{0}`")]
    Unknown(String),
    /// Bytes that are not what the header says.
    #[error("not `{encoding}`: {reason}")]
    Broken {
        /// What the header says.
        encoding: String,
        /// What is wrong.
        reason: String,
    },
    /// More than was allowed.
    #[error("more than {0} bytes when decoded")]
    TooLong(usize),
}

/// A body without its `content-encoding`; several encodings are undone from the last one.
///
/// # Errors
///
/// When an encoding is unknown, the bytes are broken, or there are more than `limit` of them.
pub fn decoded(
    bytes: impl Into<Vec<u8>>,
    encodings: &[String],
    limit: usize,
) -> Result<Vec<u8>, DecodeError> {
    let mut bytes = bytes.into();
    for encoding in encodings.iter().rev() {
        let read = match encoding.as_str() {
            "identity" => continue,
            "gzip" | "x-gzip" => {
                limited(flate2::read::MultiGzDecoder::new(bytes.as_slice()), limit)
            }
            "deflate" => limited(flate2::read::ZlibDecoder::new(bytes.as_slice()), limit),
            "br" => limited(
                brotli_decompressor::Decompressor::new(bytes.as_slice(), 4096),
                limit,
            ),
            "zstd" => zstd::stream::read::Decoder::new(bytes.as_slice())
                .and_then(|decoder| limited(decoder, limit)),
            other => return Err(DecodeError::Unknown(other.to_owned())),
        };
        let decoded = read.map_err(|error| DecodeError::Broken {
            encoding: encoding.clone(),
            reason: error.to_string(),
        })?;
        if decoded.len() > limit {
            return Err(DecodeError::TooLong(limit));
        }
        bytes = decoded;
    }
    Ok(bytes)
}

/// The pieces of a gzipped body as pieces of its content: what each of them let a reader see.
/// None when the bytes are broken or more than the limit. Compression in front of a stream holds the first token back
/// until a block ends, which is what this shows.
pub(super) fn content_frames(bytes: &[u8], frames: &[Frame], limit: usize) -> Option<Vec<Frame>> {
    let mut decoder = flate2::write::MultiGzDecoder::new(Vec::new());
    let mut shown = Vec::with_capacity(frames.len());
    let mut seen = 0;
    for frame in frames {
        let start = usize::try_from(frame.offset()).ok()?;
        let end = usize::try_from(frame.offset() + frame.length()).ok()?;
        decoder.write_all(bytes.get(start..end)?).ok()?;
        decoder.flush().ok()?;
        let content = decoder.get_ref().len() as u64;
        if content > limit as u64 {
            return None;
        }
        if content > seen {
            shown.push(Frame(seen, content - seen, frame.after()));
            seen = content;
        }
    }
    Some(shown)
}

/// Reads one byte more than the limit at most, which tells that there is more.
fn limited(reader: impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    reader.take(limit as u64 + 1).read_to_end(&mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn encodings_are_undone_in_order() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        let text = b"hello hello hello";
        let zstd = zstd::encode_all(&text[..], 1).unwrap();
        for (bytes, encodings) in [
            (text.to_vec(), &[][..]),
            (text.to_vec(), &["identity"]),
            (gzip(text), &["gzip"]),
            (zstd.clone(), &["zstd"]),
            (gzip(&zstd), &["zstd", "gzip"]),
            // A brotli stream of one uncompressed block.
            ([&[0x0b, 0x08, 0x80][..], text, &[0x03]].concat(), &["br"]),
        ] {
            let decoded = decoded(bytes.as_slice(), &names(encodings), 100);
            assert_eq!(decoded.as_deref(), Ok(&text[..]), "{encodings:?}");
        }
    }

    #[test]
    fn pieces_show_what_a_reader_could_see() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut ends = vec![0];
        for text in ["first ", "second "] {
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.flush().unwrap();
            ends.push(encoder.get_ref().len() as u64);
        }
        let bytes = encoder.finish().unwrap();
        ends.push(bytes.len() as u64);
        let frames: Vec<Frame> = ends
            .windows(2)
            .zip(1..)
            .map(|(ends, at)| Frame(ends[0], ends[1] - ends[0], at))
            .collect();
        let shown = content_frames(&bytes, &frames, 100);
        assert_eq!(shown, Some(vec![Frame(0, 6, 1), Frame(6, 7, 2)]));
        assert_eq!(content_frames(&bytes, &frames, 5), None);
        assert_eq!(
            content_frames(b"no gzip at all", &[Frame(0, 14, 1)], 100),
            None
        );
    }

    #[test]
    fn what_cannot_be_decoded_is_said() {
        let bomb = gzip(&vec![0; 100_000]);
        let names = |name: &str| vec![name.to_owned()];
        assert_eq!(
            decoded(bomb.as_slice(), &names("gzip"), 1000),
            Err(DecodeError::TooLong(1000))
        );
        assert!(matches!(
            decoded(b"x", &names("gzip"), 10),
            Err(DecodeError::Broken { .. })
        ));
        assert_eq!(
            decoded(b"x", &names("lzma"), 10),
            Err(DecodeError::Unknown("lzma".into()))
        );
    }
}
