//! Formats and compressions, found by name and by bytes.

use std::io::Write as _;

use context_bench_records::{ReadSettings, RecordSet};

use crate::{Folder, first};

pub(crate) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).expect("in memory");
    encoder.finish().expect("in memory")
}

pub(crate) fn zstandard(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 0).expect("in memory")
}

pub(crate) fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text).expect("in memory");
    encoder.finish().expect("in memory")
}

#[test]
fn compressed_files_are_read_with_and_without_their_ending() {
    let (one, two) = (b"{\"a\":1}\n".as_slice(), b"{\"a\":2}\n".as_slice());
    let both = [one, two].concat();
    let folder = Folder::new();
    for (name, bytes) in [
        ("a.jsonl.gz", gzip(&both)),
        ("a.jsonl", gzip(&both)),
        ("a.jsonl.gz", [gzip(one), gzip(two)].concat()),
        ("a.jsonl.zst", zstandard(&both)),
        ("a.jsonl", zstandard(&both)),
        ("a.jsonl.BZ2", bzip2(&both)),
        ("a.jsonl.bz2", [bzip2(one), bzip2(two)].concat()),
        ("a.json", bzip2(&both)),
        ("a.json.gz", gzip(b"[{\"a\":1},{\"a\":2}]")),
        ("a.jsonl", both.clone()),
        ("a.json", both),
    ] {
        folder.write(name, bytes);
        let expected = Ok(vec!["{\"a\":1}".to_owned(), "{\"a\":2}".to_owned()]);
        assert_eq!(
            folder.outcome(name, ReadSettings::default()),
            expected,
            "{name}"
        );
    }
}

#[test]
fn damaged_compressed_files_are_errors() {
    let text: String = (0..2000)
        .map(|i| format!("{{\"a\":{}}}\n", i * 7919))
        .collect();
    let folder = Folder::new();
    for (ending, packed) in [
        ("gz", gzip(text.as_bytes())),
        ("zst", zstandard(text.as_bytes())),
        ("bz2", bzip2(text.as_bytes())),
    ] {
        let mut flipped = packed.clone();
        flipped[packed.len() / 2] ^= 0x55;
        // A frame of zstd made by the plain call has no checksum.
        let flipped = if ending == "zst" { Vec::new() } else { flipped };
        let name = format!("a.jsonl.{ending}");
        for bytes in [
            &packed[..packed.len() / 2],
            &packed[..packed.len() - 3],
            &packed[..5],
            &flipped[..],
            text.as_bytes(),
        ] {
            if bytes.is_empty() {
                continue;
            }
            folder.write(&name, bytes);
            // Damage may first look like a bad record; it must not end there.
            let set = RecordSet::open(&folder.path(&name), ReadSettings::default());
            let error = match set {
                Ok(set) => set.filter_map(Result::err).last(),
                Err(error) => Some(error),
            };
            let error = folder.shown(&error.expect(&name));
            assert!(
                error.starts_with(&format!("cannot read file `{name}`: "))
                    && error.ends_with("hint: the file is damaged, cut short or not what its name says; get it again"),
                "{} bytes of {name}: {error}",
                bytes.len()
            );
        }
    }
}

#[test]
fn json_is_read_in_all_its_shapes() {
    let two = "[{\"a\":1},{\"a\":2}]";
    let folder = Folder::new();
    let at = |field: &str| ReadSettings {
        field: Some(field.into()),
        ..ReadSettings::default()
    };
    let plain = ReadSettings::default;
    for (text, settings) in [
        (two.to_owned(), plain()),
        (format!("\u{feff} {two}\n"), plain()),
        (format!("{{\"data\": {two}}}"), plain()),
        (
            format!("{{\"n\": 2, \"questions\": {two}, \"tags\": [\"x\"]}}"),
            plain(),
        ),
        ("{\"a\": [1, 2]}".into(), plain()),
        ("{\"a\":1}\n{\"a\":2}\n".into(), plain()),
        ("{\n\"a\":1}{\n\"a\":2\n}".into(), plain()),
        ("{\"a\":1} {\"a\":2}".into(), plain()),
        (
            format!("{{\"data\": {{\"x\": [], \"test\": {two}, \"y\": 1}}, \"z\": {{}}}}"),
            at("/data/test"),
        ),
        (format!("{{\"test\": {two}, \"data\": [{{}}]}}"), at("test")),
        (format!("{{\"a/b\": {two}}}"), at("/a~1b")),
        ("{\"train\": {\"a\": [1, 2]}}".into(), at("train")),
    ] {
        folder.write("a.json", &text);
        let expected = Ok(vec!["{\"a\":1}".to_owned(), "{\"a\":2}".to_owned()]);
        assert_eq!(folder.outcome("a.json", settings), expected, "{text}");
    }
    folder.write("a.json", "{\"a\":1,\"data\":[5]}\n{\"a\":2,\"data\":[]}\n");
    assert_eq!(
        folder.outcome("a.json", first(1)),
        Ok(vec!["{\"a\":1,\"data\":[5]}".into()]),
        "lines with a well-known key are still lines"
    );
}

#[test]
fn json_that_holds_no_records_is_reported_with_its_place() {
    let folder = Folder::new();
    for (text, field, expected) in [
        (
            "{\"a\":1}",
            None,
            "expected a list of maps, or a map with one under `data`, `examples`, `rows` or `records`; found a map with `a`\n  at a.json",
        ),
        (
            "{\"a\":[1],\"b\":[1,2]}",
            None,
            "expected a list of maps, or a map with one under `data`, `examples`, `rows` or `records`; found a map with `a` and `b`\n  at a.json",
        ),
        (
            "{\"a\":1}{\"a\":2}]",
            None,
            "expected a value, found `]`\n  at a.json:1:15",
        ),
        (
            "{\"a\":[{}]}",
            Some("b"),
            "no key `b`; found a map with `a`\n  at a.json:1:10",
        ),
        (
            "{\"a\":[{}]}",
            Some("/a/b"),
            "expected a map with `b`, found `[`\n  at a.json:1:6",
        ),
        (
            "{\"a\":5}",
            Some("a"),
            "expected a list of maps under `a`\n  at a.json:1:6",
        ),
        (
            "{\"a\":[{}], \"b\" 1}",
            Some("a"),
            "expected `:`, found `1`\n  at a.json:1:16",
        ),
        (
            "{\"a\":[5]}",
            Some("a"),
            "a record must be a JSON object, found a number\n  at a.json:1:7",
        ),
    ] {
        folder.write("a.json", text);
        let settings = ReadSettings {
            field: field.map(Into::into),
            ..ReadSettings::default()
        };
        let error = folder.outcome("a.json", settings).expect_err(text);
        let (what, _hint) = error.split_once("\nhint: ").unwrap_or((&error, ""));
        assert_eq!(what, expected, "{text}");
    }
}

#[test]
fn a_wrong_ending_is_an_error_with_advice() {
    let folder = Folder::new();
    folder.write("a.parquet", "{\"a\":1}\n{\"a\":2}\n");
    folder.write("empty.parquet", "");
    folder.write("notes.txt", "hello");
    for (name, expected) in [
        ("a.parquet", "cannot read the footer of the Parquet file: "),
        (
            "empty.parquet",
            "cannot read the footer of the Parquet file: ",
        ),
        (
            "notes.txt",
            "cannot tell the format of file `notes.txt`\nhint: use files ending in .jsonl",
        ),
        ("none.jsonl", "no file `none.jsonl`\nhint: check the path"),
    ] {
        let error = folder
            .outcome(name, ReadSettings::default())
            .expect_err(name);
        assert!(
            error.starts_with(expected) && error.contains("hint: "),
            "{error}"
        );
    }
}

/// A small file that unpacks to a row without end is reported before memory is full.
#[test]
fn rows_without_end_are_errors() {
    let folder = Folder::new();
    let level = flate2::Compression::fast();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), level);
    let much = vec![b'a'; 1 << 20];
    packed.write_all(b"a,b\n\"").expect("in memory");
    for _ in 0..260 {
        packed.write_all(&much).expect("in memory");
    }
    folder.write("long.csv.gz", packed.finish().expect("in memory"));
    folder.write("wide.csv", format!("a,b\n{}", ",".repeat(1_100_000)));
    folder.write("wide.tsv", "\t".repeat(1_100_000));
    for name in ["long.csv.gz", "wide.csv", "wide.tsv"] {
        let error = folder
            .outcome(name, ReadSettings::default())
            .expect_err(name);
        assert!(error.contains("a record is longer than"), "{error}");
    }
}

#[test]
fn names_of_columns_may_come_from_outside() {
    use context_bench_records::TableHeader;
    let folder = Folder::new();
    let file = folder.write("a.csv", "one,1\ntwo,2\n");
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let records = |header: TableHeader| {
        let settings = ReadSettings {
            header,
            ..ReadSettings::default()
        };
        let found: Result<Vec<_>, _> = RecordSet::open(&file, settings).unwrap().collect();
        found.map(|found| {
            let texts = found.iter().map(|found| found.record["q"].to_string());
            texts.collect::<Vec<_>>()
        })
    };
    let given = records(TableHeader::Given(names(&["q", "a"]))).unwrap();
    assert_eq!(given, ["\"one\"", "\"two\""]);
    let over = records(TableHeader::InPlaceOfRow(names(&["q", "a"]))).unwrap();
    assert_eq!(over, ["\"two\""]);
    for header in [
        TableHeader::Given(names(&["q"])),
        TableHeader::InPlaceOfRow(names(&["q", "a", "b"])),
        TableHeader::Given(names(&["q", "q"])),
    ] {
        let error = records(header).unwrap_err().to_string();
        assert!(error.contains("names"), "{error}");
    }
}
