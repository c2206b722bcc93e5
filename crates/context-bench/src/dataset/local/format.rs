//! Which format a file has, told from its name alone.

use std::path::Path;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileFormat {
    pub(super) syntax: Syntax,
    pub(super) compression: Option<Compression>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    JsonLines,
    Json,
    Table { delimiter: u8 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
}

const COMPRESSIONS: [(&str, Compression); 2] =
    [(".gz", Compression::Gzip), (".zst", Compression::Zstd)];

const SYNTAXES: [(&str, Syntax); 5] = [
    (".jsonl", Syntax::JsonLines),
    (".ndjson", Syntax::JsonLines),
    (".json", Syntax::Json),
    (".csv", Syntax::Table { delimiter: b',' }),
    (".tsv", Syntax::Table { delimiter: b'\t' }),
];

impl FileFormat {
    /// The format of what comes through a pipe, which has no telling name.
    pub(super) const OF_PIPES: Self = Self {
        syntax: Syntax::JsonLines,
        compression: None,
    };

    /// The format that the ending of the name stands for, in any case.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let (stem, compression) = COMPRESSIONS
            .iter()
            .find_map(|(ending, compression)| {
                Some((name.strip_suffix(ending)?, Some(*compression)))
            })
            .unwrap_or((&name, None));
        let (_, syntax) = SYNTAXES.iter().find(|(ending, _)| stem.ends_with(ending))?;
        Some(Self {
            syntax: *syntax,
            compression,
        })
    }
}

/// Whether the name ends like a dataset file.
pub(in crate::dataset) fn has_known_extension(path: &Path) -> bool {
    FileFormat::of(path).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("a.gz", None),
            ("a.jsonl.gz.gz", None),
            ("a.jsonl.bz2", None),
            ("ajsonl", None),
            ("a.parquet", None),
            ("..", None),
        ] {
            let found = FileFormat::of(Path::new(name));
            let found = found.map(|format| (format.syntax, format.compression));
            assert_eq!(found, expected, "{name}");
        }
    }
}
