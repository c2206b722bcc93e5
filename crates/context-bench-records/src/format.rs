//! The format of a file, found from its name or its first bytes.

use std::path::Path;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// How records are written.
    pub syntax: Syntax,
    /// How their bytes are packed.
    pub compression: Option<Compression>,
}

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Syntax {
    /// One JSON object per line.
    JsonLines,
    /// One JSON value that holds a list of objects, or objects one after the other.
    Json,
    /// A header row and rows of text.
    Table {
        /// What stands between two fields.
        delimiter: u8,
    },
    /// Columns in row groups.
    Parquet,
}

/// How bytes are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstd,
    /// `.bz2`
    Bzip2,
}

const COMPRESSIONS: [(&str, Compression); 3] = [
    (".gz", Compression::Gzip),
    (".zst", Compression::Zstd),
    (".bz2", Compression::Bzip2),
];

const SYNTAXES: [(&str, Syntax); 6] = [
    (".jsonl", Syntax::JsonLines),
    (".ndjson", Syntax::JsonLines),
    (".json", Syntax::Json),
    (".csv", Syntax::Table { delimiter: b',' }),
    (".tsv", Syntax::Table { delimiter: b'\t' }),
    (".parquet", Syntax::Parquet),
];

const PARQUET_MAGIC: &[u8] = b"PAR1";
const ZIP_MAGICS: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

impl Format {
    /// The format of what comes through a pipe, which has no telling name.
    pub const OF_PIPES: Self = Self {
        syntax: Syntax::JsonLines,
        compression: None,
    };

    /// The format that the ending of the name stands for, in any case.
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let (stem, compression) = COMPRESSIONS
            .iter()
            .find_map(|(ending, compression)| {
                Some((name.strip_suffix(ending)?, Some(*compression)))
            })
            .unwrap_or((&name, None));
        let (_, syntax) = SYNTAXES.iter().find(|(ending, _)| stem.ends_with(ending))?;
        if *syntax == Syntax::Parquet && compression.is_some() {
            // Parquet packs its pages itself and is read from its end.
            return None;
        }
        Some(Self {
            syntax: *syntax,
            compression,
        })
    }
}

impl Compression {
    /// How bytes are packed that begin like this.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            // The block size, then the digits of pi that begin every block.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, ..] => Some(Self::Bzip2),
            _ => None,
        }
    }
}

/// What stands between the fields of a table that begins like this: what its name says,
/// unless the header row has none of that and another of the usual ones.
pub(crate) fn delimiter(start: &[u8], named: u8) -> u8 {
    let mut is_quoted = false;
    let mut found = named;
    let header = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start);
    let header = header.trim_ascii_start();
    for byte in header {
        match byte {
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'\n' | b'\r' => break,
            byte if *byte == named => return named,
            b';' | b'\t' if found == named => found = *byte,
            _ => {}
        }
    }
    found
}

/// Whether the name ends like an archive.
pub(crate) fn is_archive_name(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("zip"))
}

/// Whether the bytes begin like an archive.
pub(crate) fn is_archive(bytes: &[u8]) -> bool {
    ZIP_MAGICS.iter().any(|magic| bytes.starts_with(magic))
}

/// Whether the bytes begin like a Parquet file.
pub(crate) fn is_parquet(bytes: &[u8]) -> bool {
    bytes.starts_with(PARQUET_MAGIC)
}

/// Whether JSON text is really JSON Lines: the first line is one whole object and
/// another begins on a line after it. Such files are published as `.json`.
///
/// `bytes` is the start of the text. A first line that is longer says nothing.
pub(crate) fn is_json_lines(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return false;
    };
    let (line, rest) = bytes.split_at(end);
    rest.trim_ascii_start().starts_with(b"{")
        && line.trim_ascii().starts_with(b"{")
        && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_tells_what_stands_between_fields() {
        for (header, named, expected) in [
            ("a;b\n1,2;3", b',', b';'),
            ("\u{feff}\n\"a,b\";c\r\n", b',', b';'),
            ("a\tb;c\n", b',', b'\t'),
            ("a,b;c\n", b',', b','),
            ("\"a;b\"\n", b',', b','),
            ("a\nb;c", b',', b','),
            ("a;b\n", b'\t', b';'),
            ("", b',', b','),
        ] {
            assert_eq!(delimiter(header.as_bytes(), named), expected, "{header}");
        }
    }

    #[test]
    fn the_ending_tells_the_format() {
        let table = |delimiter| Syntax::Table { delimiter };
        let (gzip, zstd) = (Some(Compression::Gzip), Some(Compression::Zstd));
        for (name, expected) in [
            ("a.jsonl", Some((Syntax::JsonLines, None))),
            ("dir.csv/A.NDJSON", Some((Syntax::JsonLines, None))),
            ("ä ö.Json.GZ", Some((Syntax::Json, gzip))),
            ("a.csv.zst", Some((table(b','), zstd))),
            ("a.b.tsv", Some((table(b'\t'), None))),
            (
                "a.jsonl.bz2",
                Some((Syntax::JsonLines, Some(Compression::Bzip2))),
            ),
            ("a.Parquet", Some((Syntax::Parquet, None))),
            ("a.parquet.gz", None),
            ("a.gz", None),
            ("a.jsonl.gz.gz", None),
            ("ajsonl", None),
            ("..", None),
        ] {
            let found = Format::of(Path::new(name));
            let found = found.map(|format| (format.syntax, format.compression));
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn lines_are_told_from_one_value() {
        for (text, expected) in [
            ("{\"a\":1}\n{\"a\":2}\n", true),
            ("\u{feff}{\"a\":1}\r\n\n {\"a\"", true),
            ("{\"a\":1}\n", false),
            ("{\"a\":1}", false),
            ("{\n\"a\":1}\n{\"a\":2}", false),
            ("[{\"a\":1},\n{\"a\":2}]", false),
            ("{\"a\":}\n{\"a\":2}\n", false),
        ] {
            assert_eq!(is_json_lines(text.as_bytes()), expected, "{text}");
        }
    }
}
