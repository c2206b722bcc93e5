//! Members of zip archives.

use std::io::Write as _;

use context_bench_records::ReadSettings;

use crate::Folder;
use crate::formats::{bzip2, zstandard};

/// An archive as zip programs write it.
pub(crate) fn archive(members: &[(&str, u16, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for (name, method, text) in members {
        let packed = match method {
            8 => {
                let level = flate2::Compression::default();
                let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), level);
                encoder.write_all(text).expect("in memory");
                encoder.finish().expect("in memory")
            }
            12 => bzip2(text),
            93 => zstandard(text),
            _ => text.to_vec(),
        };
        let mut crc = flate2::Crc::new();
        crc.update(text);
        let start = bytes.len() as u32;
        // Version, flags, method, time, date, checksum, sizes, lengths.
        let mut fields = Vec::new();
        for field in [20_u16, 0, *method, 0, 0] {
            fields.extend(field.to_le_bytes());
        }
        for field in [crc.sum(), packed.len() as u32, text.len() as u32] {
            fields.extend(field.to_le_bytes());
        }
        fields.extend((name.len() as u16).to_le_bytes());
        fields.extend(0_u16.to_le_bytes());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&fields);
        bytes.extend(name.as_bytes());
        bytes.extend(packed);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&fields);
        directory.extend([0; 10]);
        directory.extend(start.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend((members.len() as u16).to_le_bytes());
    bytes.extend((members.len() as u16).to_le_bytes());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([7, 0]);
    bytes.extend(b"comment");
    bytes
}

#[test]
fn members_are_read_by_name_and_by_pattern() {
    let folder = Folder::new();
    let (one, two) = (b"{\"a\":1}\n".as_slice(), b"a\n2\n".as_slice());
    for method in [0, 8, 12, 93] {
        folder.write(
            "one.zip",
            archive(&[
                ("d/", 0, b""),
                ("d/x.jsonl", method, one),
                ("README", 0, b""),
            ]),
        );
        let expected = Ok(vec!["{\"a\":1}".to_owned()]);
        assert_eq!(
            folder.outcome("one.zip", ReadSettings::default()),
            expected,
            "{method}"
        );
        assert_eq!(
            folder.outcome("one.zip#d/x.jsonl", ReadSettings::default()),
            expected
        );
    }
    folder.write(
        "two.zip",
        archive(&[
            ("p10.csv", 8, two),
            ("p9.jsonl", 8, one),
            ("__MACOSX/p9.jsonl", 0, b"\0"),
        ]),
    );
    let both = Ok(vec!["{\"a\":1}".to_owned(), "{\"a\":\"2\"}".to_owned()]);
    assert_eq!(folder.outcome("two.zip#p*", ReadSettings::default()), both);
    for (path, expected) in [
        (
            "two.zip",
            "`two.zip` holds several files of records\nhint: name one as `two.zip#p10.csv`, or several with a pattern; there are `p10.csv` and `p9.jsonl`",
        ),
        (
            "two.zip#x.csv",
            "`two.zip#x.csv` holds no file of records\nhint: use files ending in",
        ),
        (
            "two.zip#x*.csv",
            "`two.zip#x*.csv` holds no file of records\nhint: use files ending in",
        ),
        ("none.zip#x.csv", "no file `none.zip`\nhint: check the path"),
    ] {
        let error = folder
            .outcome(path, ReadSettings::default())
            .expect_err(path);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn damaged_archives_and_bombs_are_errors() {
    let folder = Folder::new();
    let text = "{\"a\":\"0000000000\"}\n".repeat(1000);
    let good = archive(&[("x.jsonl", 8, text.as_bytes())]);
    let wrong = |mark: &[u8], at: usize, by: u8| {
        let mut bytes = good.clone();
        let start = bytes
            .windows(4)
            .rposition(|window| window == mark)
            .expect("there");
        bytes[start + at] ^= by;
        bytes
    };
    for (bytes, expected) in [
        (
            good[..good.len() / 2].to_vec(),
            "not a valid zip archive: it has no list of members; it may be cut short",
        ),
        (
            b"PK\x03\x04".to_vec(),
            "not a valid zip archive: it has no list of members",
        ),
        (
            wrong(b"PK\x01\x02", 16, 1),
            "the checksum of the member is wrong",
        ),
        (
            wrong(b"PK\x01\x02", 25, 0x40),
            "the member is larger than the archive says",
        ),
        (
            wrong(b"PK\x01\x02", 26, 1),
            "the member is shorter than the archive says",
        ),
        (wrong(b"PK\x01\x02", 10, 1), "unknown packing method 9"),
        (wrong(b"PK\x01\x02", 8, 1), "the member is encrypted"),
        (
            wrong(b"PK\x01\x02", 42, 1),
            "the member is not where the archive says",
        ),
        (
            wrong(b"PK\x05\x06", 19, 1),
            "not a valid zip archive: its list of members is damaged",
        ),
    ] {
        folder.write("x.zip", &bytes);
        let error = folder
            .outcome("x.zip", ReadSettings::default())
            .expect_err(expected);
        assert!(
            error.contains(expected) && error.contains("hint: "),
            "{expected}: {error}"
        );
    }
    let comment = b"comment".len();
    for at in 0..good.len() - comment {
        let mut bytes = good.clone();
        bytes[at] ^= 0x41;
        folder.write("x.zip", bytes);
        let _ = folder.outcome("x.zip", ReadSettings::default());
        folder.write("x.zip", &good[..at]);
        assert!(
            folder.outcome("x.zip", ReadSettings::default()).is_err(),
            "{at}"
        );
    }
}
