//! Local files end to end: bytes on disk in, examples or exact messages out.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::error::{Hint, Place};

/// A folder with files, removed at the end of the test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).expect("written");
        path
    }

    /// The error of opening a file, with the folder left out of the paths.
    fn shown(&self, error: &DatasetError) -> String {
        let folder = format!("{}/", self.0.path().display());
        let hint = error
            .hint()
            .map(|hint| format!("\nhint: {hint}"))
            .unwrap_or_default();
        format!("{error}{hint}").replace(&folder, "")
    }
}

const SKIP: LocalSettings = LocalSettings {
    skip_bad_lines: true,
    max_examples: None,
};

fn first(max: usize) -> LocalSettings {
    LocalSettings {
        skip_bad_lines: false,
        max_examples: Some(max),
    }
}

/// The examples of a file as JSON text, after checking that the first pass counted them.
fn read(name: &str, bytes: impl AsRef<[u8]>, settings: LocalSettings) -> Vec<String> {
    let folder = Folder::new();
    let dataset = LocalFile::open(folder.write(name, bytes), settings)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let len = dataset.known_len();
    let examples: Vec<String> = dataset
        .into_iter()
        .map(|example| serde_json::to_string(&example.expect("valid")).expect("JSON"))
        .collect();
    assert_eq!(len, Some(examples.len()), "{name}");
    examples
}

/// What is wrong with a file, without the hint.
fn problem(name: &str, bytes: impl AsRef<[u8]>) -> String {
    let folder = Folder::new();
    let path = folder.write(name, bytes);
    match LocalFile::open(path, LocalSettings::default()) {
        Ok(_) => "no error".into(),
        Err(error) => {
            let shown = folder.shown(&error);
            let (what, _hint) = shown.split_once("\nhint: ").unwrap_or((&shown, ""));
            what.to_owned()
        }
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).expect("in memory");
    encoder.finish().expect("in memory")
}

fn zstandard(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 0).expect("in memory")
}

#[test]
fn json_lines_skip_blank_lines_which_still_count() {
    // Vectors cb-0375 and cb-0376.
    let text = "{\"id\": \"a\", \"context\": \"x\"}\n\n{\"context\": \"y\"}\n";
    assert_eq!(
        read("a.jsonl", text, LocalSettings::default()),
        [r#"{"id":"a","context":"x"}"#, r#"{"context":"y","id":2}"#]
    );
    let text = "{\"context\": \"x\"}\n\n{\"context\": \"y\"}\n";
    assert_eq!(
        read("a.jsonl", text, first(2)),
        [r#"{"context":"x","id":0}"#]
    );
    assert_eq!(read("a.jsonl", text, first(3)).len(), 2);
    assert_eq!(read("a.jsonl", text, first(0)).len(), 0);
}

#[test]
fn files_of_all_editors_are_read() {
    let expected = [r#"{"a":"ä","id":0}"#, r#"{"a":2,"id":2}"#];
    for text in [
        "{\"a\":\"ä\"}\n\n{\"a\":2}\n",
        "{\"a\":\"ä\"}\r\n\r\n{\"a\":2}\r\n",
        "\u{feff}{\"a\":\"ä\"}\n \t \n{\"a\":2}",
        " {\"a\": \"\\u00e4\"} \n\n\t{\"a\":1, \"a\":2}",
    ] {
        assert_eq!(
            read("a.jsonl", text, LocalSettings::default()),
            expected,
            "{text}"
        );
    }
    let expected = [r#"{"a":"ä","id":0}"#, r#"{"a":2,"id":1}"#];
    for text in [
        "[{\"a\":\"ä\"},{\"a\":2}]",
        "\u{feff}[\r\n  {\"a\": \"ä\"} ,\r\n  {\"a\": 2}\r\n]\r\n",
        "{\"data\": [{\"a\":\"ä\"},{\"a\":2}]}",
        "{\"version\": {\"n\": [1, \"}\"]}, \"rows\": [{\"a\":\"ä\"},{\"a\":2}], \"n\": 2}",
        "{\"data\": \"about\", \"records\" : [ {\"a\":\"ä\"},{\"a\":2}] , \"x\": [] }",
    ] {
        assert_eq!(
            read("a.json", text, LocalSettings::default()),
            expected,
            "{text}"
        );
    }
}

#[test]
fn an_empty_list_or_file_of_lines_is_an_empty_dataset() {
    for (name, text) in [
        ("a.jsonl", ""),
        ("a.jsonl", "\n\r\n"),
        ("a.jsonl", "\u{feff}"),
        ("a.json", " [ ] "),
        ("a.json", "{\"examples\":[]}"),
        ("a.csv", "id,context\n"),
    ] {
        assert_eq!(
            read(name, text, LocalSettings::default()).len(),
            0,
            "{name}"
        );
    }
}

#[test]
fn bad_json_lines_are_reported_with_their_place() {
    for (text, expected) in [
        (
            "{\"a\":1}\n{\"a\":}\n",
            "cannot parse JSON: expected value\n  at a.jsonl:2:6",
        ),
        (
            "{\"a\":\"x\n",
            "cannot parse JSON: EOF while parsing a string\n  at a.jsonl:1:7",
        ),
        (
            "{\"a\":\"x",
            "cannot parse JSON: EOF while parsing a string\n  at a.jsonl:1:7",
        ),
        (
            "\n\n{\"a\":\"\0\"}",
            "cannot parse JSON: control character (\\u0000-\\u001F) found while parsing a string\n  at a.jsonl:3:7",
        ),
        (
            "{} {}",
            "cannot parse JSON: trailing characters\n  at a.jsonl:1:4",
        ),
        (
            "{\"a\":NaN}",
            "cannot parse JSON: expected value\n  at a.jsonl:1:6",
        ),
        (
            "{\"a\":1e999}",
            "cannot parse JSON: number out of range\n  at a.jsonl:1:10",
        ),
        (
            "{\"a\":\"\\ud800\"}",
            "cannot parse JSON: unexpected end of hex escape\n  at a.jsonl:1:13",
        ),
        (
            "{\"a\":\"\\udc00 \"}",
            "cannot parse JSON: lone leading surrogate in hex escape\n  at a.jsonl:1:12",
        ),
        (
            "{1:2}",
            "cannot parse JSON: key must be a string\n  at a.jsonl:1:2",
        ),
        (
            "{}\n[{\"a\":1}]",
            "an example must be a JSON object, found a list\n  at a.jsonl:2:1",
        ),
        (
            "[\n{}\n]",
            "cannot parse JSON: EOF while parsing a list\n  at a.jsonl:1:1",
        ),
        (
            "\"text\"",
            "an example must be a JSON object, found text\n  at a.jsonl:1:1",
        ),
        (
            "null",
            "an example must be a JSON object, found null\n  at a.jsonl:1:1",
        ),
        (
            "{\"id\":1.5}",
            "`id` must be text or a 64-bit integer, found 1.5\n  at a.jsonl:1:1",
        ),
        (
            "{\"id\":1,\"id\":{}}",
            "`id` must be text or a 64-bit integer, found {}\n  at a.jsonl:1:1",
        ),
    ] {
        assert_eq!(problem("a.jsonl", text), expected, "{text}");
    }
}

#[test]
fn bytes_that_are_not_text_are_reported_with_their_place() {
    let utf16: Vec<u8> = "\u{feff}{}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (name, bytes, expected) in [
        (
            "a.jsonl",
            b"{}\n{\"a\":\"\xff\"}".to_vec(),
            "not valid UTF-8: byte 0xff\n  at a.jsonl:2:7",
        ),
        (
            "a.jsonl",
            b"{\"a\":\"\xe4\xb8".to_vec(),
            "not valid UTF-8: byte 0xe4\n  at a.jsonl:1:7",
        ),
        (
            "a.json",
            b"[{},\n {\n\"a\":\"\xff\"}]".to_vec(),
            "not valid UTF-8: byte 0xff\n  at a.json:3:6",
        ),
        (
            "a.jsonl",
            utf16,
            "not valid UTF-8: byte 0xff; the file looks like UTF-16\n  at a.jsonl:1:1",
        ),
        (
            "a.csv",
            b"a,b\n1,2\n3,\xff\n".to_vec(),
            "not valid UTF-8 in field 2\n  at a.csv:3",
        ),
    ] {
        assert_eq!(problem(name, bytes), expected);
    }
}

#[test]
fn bad_json_files_are_reported_with_their_place() {
    let expected_list =
        "expected a list of maps, or a map with one under `data`, `examples`, `rows` or `records`";
    for (text, expected) in [
        (
            "",
            format!("the file is empty; {expected_list}\n  at a.json:1:1"),
        ),
        (
            "{}",
            format!("{expected_list}; found an empty map\n  at a.json"),
        ),
        (
            "{\"data\":{\"train\":[]},\"x\":1}",
            format!("{expected_list}; found a map with `data` and `x`\n  at a.json"),
        ),
        (
            "\"text\"",
            "expected a list or a map, found `\"`\n  at a.json:1:1".into(),
        ),
        (
            "[{},\n  {\"a\": }\n]",
            "cannot parse JSON: expected value\n  at a.json:2:9".into(),
        ),
        (
            "[{},\n  {\n\"a\": }\n]",
            "cannot parse JSON: expected value\n  at a.json:3:6".into(),
        ),
        (
            "[{},\n 5]",
            "an example must be a JSON object, found a number\n  at a.json:2:2".into(),
        ),
        (
            "[{\"id\":[]}]",
            "`id` must be text or a 64-bit integer, found []\n  at a.json:1:2".into(),
        ),
        (
            "[{},]",
            "expected a value, found `]`\n  at a.json:1:5".into(),
        ),
        (
            "[{}",
            "expected `,` or `]`, found the end of the file\n  at a.json:1:4".into(),
        ),
        (
            "[{} {}]",
            "expected `,` or `]`, found `{`\n  at a.json:1:5".into(),
        ),
        (
            "[{},\n{\"a\": \"x}]",
            "the file ends before this JSON value is closed\n  at a.json:2:1".into(),
        ),
        (
            "[{\"a\":1]",
            "cannot parse JSON: expected `,` or `}`\n  at a.json:1:8".into(),
        ),
        (
            "[{}] x",
            "found more text after the end of the JSON value\n  at a.json:1:6".into(),
        ),
        (
            "{\"data\":[{}],\"rows\":[{}]}",
            "found a list under both `data` and `rows`\n  at a.json:1:21".into(),
        ),
        (
            "{\"data\":[{}]",
            "expected `,` or `}`, found the end of the file\n  at a.json:1:13".into(),
        ),
        (
            "{data:[]}",
            "expected a key in quotes, found `d`\n  at a.json:1:2".into(),
        ),
        (
            "{\"data\" []}",
            "expected `:`, found `[`\n  at a.json:1:9".into(),
        ),
        (
            "{\"x\": tru, \"data\":[]}",
            "this value is not valid JSON\n  at a.json:1:7".into(),
        ),
        (
            "\u{ff5b}",
            "expected JSON text, found byte 0xbd\n  at a.json:1:2".into(),
        ),
    ] {
        assert_eq!(problem("a.json", text), expected, "{text}");
    }
}

#[test]
fn tables_hold_text_and_nothing_is_guessed() {
    let settings = LocalSettings::default();
    for (name, text, expected) in [
        (
            "a.csv",
            "id,n\n007,1e5\n",
            vec![r#"{"id":"007","n":"1e5"}"#],
        ),
        (
            "a.csv",
            "\u{feff}a,b\r\n1,\r\n\r\n\"x\r\ny\",\"say \"\"hi\"\"\"\r\n",
            vec![
                r#"{"a":"1","b":"","id":0}"#,
                r#"{"a":"x\r\ny","b":"say \"hi\"","id":1}"#,
            ],
        ),
        (
            "a.csv",
            "\u{feff}\"a,b\",c\n1,2",
            vec![r#"{"a,b":"1","c":"2","id":0}"#],
        ),
        (
            "a.csv",
            "a\n5\" pipe\nx\"y\n",
            vec![r#"{"a":"5\" pipe","id":0}"#, r#"{"a":"x\"y","id":1}"#],
        ),
        (
            "a.tsv",
            "a\tb c\n1,2\tü\n",
            vec![r#"{"a":"1,2","b c":"ü","id":0}"#],
        ),
    ] {
        assert_eq!(read(name, text, settings), expected, "{text}");
    }
    assert_eq!(read("a.csv", "a\n1\n2\n3\n", first(2)).len(), 2);
}

#[test]
fn bad_tables_are_reported_with_their_line() {
    for (text, expected) in [
        ("", "the file is empty; expected a header row\n  at a.csv:1"),
        (
            "a,\n",
            "column 2 has no name in the header row\n  at a.csv:1",
        ),
        (
            "a,b,a\n",
            "the header row names column `a` twice\n  at a.csv:1",
        ),
        (
            "a,b\n1,2\n3\n",
            "the header row has 2 fields, this row has 1\n  at a.csv:3",
        ),
        (
            "a,b\r\n1,2\r\n3,4,5\r\n",
            "the header row has 2 fields, this row has 3\n  at a.csv:3",
        ),
        (
            "a,b\n\"1\n\n\",2\n\n3\n",
            "the header row has 2 fields, this row has 1\n  at a.csv:6",
        ),
        (
            "a,b\n1,2\n3,\"4\n5,6\n",
            "a quoted field is never closed\n  at a.csv:3",
        ),
        (
            "a,b\n\"1,2\n3,4\n",
            "a quoted field is never closed\n  at a.csv:2",
        ),
        ("a,\"b\n", "a quoted field is never closed\n  at a.csv:1"),
    ] {
        assert_eq!(problem("a.csv", text), expected, "{text}");
    }
}

#[test]
fn compressed_files_are_read_also_in_several_parts() {
    let (one, two) = ("{\"a\":1}\n", "{\"a\":2}\n");
    let expected = [r#"{"a":1,"id":0}"#, r#"{"a":2,"id":1}"#];
    for (name, bytes) in [
        ("a.jsonl.gz", gzip(&[one, two].concat())),
        ("a.jsonl.gz", [gzip(one), gzip(two)].concat()),
        ("A.NDJSON.ZST", zstandard(&[one, two].concat())),
        ("a.jsonl.zst", [zstandard(one), zstandard(two)].concat()),
        ("a.json.gz", gzip("[{\"a\":1},{\"a\":2}]")),
        // The bytes tell what the name does not.
        ("a.jsonl", gzip(&[one, two].concat())),
        ("a.json", [one, two].concat().into_bytes()),
        ("a.json", b"{\"a\":[1,2]}".to_vec()),
    ] {
        assert_eq!(
            read(name, bytes, LocalSettings::default()),
            expected,
            "{name}"
        );
    }
    let rows = read("a.tsv.zst", zstandard("a\n1\n"), LocalSettings::default());
    assert_eq!(rows, [r#"{"a":"1","id":0}"#]);
}

#[test]
fn damaged_compressed_files_are_errors_even_when_skipping() {
    let text: String = (0..2000)
        .map(|i| format!("{{\"a\":{}}}\n", i * 7919))
        .collect();
    let (gz, zst) = (gzip(&text), zstandard(&text));
    let mut flipped = gz.clone();
    flipped[gz.len() / 2] ^= 0x55;
    for (name, bytes) in [
        ("a.jsonl.gz", &gz[..gz.len() / 2]),
        ("a.jsonl.gz", &gz[..gz.len() - 4]),
        ("a.jsonl.gz", &gz[..5]),
        ("a.jsonl.gz", &flipped),
        ("a.jsonl.gz", text.as_bytes()),
        ("a.jsonl.gz", b""),
        ("a.jsonl.zst", &zst[..zst.len() / 2]),
        ("a.jsonl.zst", text.as_bytes()),
    ] {
        let folder = Folder::new();
        let error = LocalFile::open(folder.write(name, bytes), SKIP).err();
        let shown = error.map(|error| folder.shown(&error)).unwrap_or_default();
        assert!(
            shown.starts_with(&format!("cannot read dataset file `{name}`: "))
                && shown.ends_with(
                    "hint: the file is damaged, cut short or not what its name says; get it again"
                ),
            "{} bytes: {shown}",
            bytes.len()
        );
    }
}

#[test]
fn bad_records_are_skipped_and_counted_on_request() {
    let bad_line = |line| {
        (
            Place::file("a").line(line).column(1),
            "an example must be a JSON object, found a number",
        )
    };
    let folder = Folder::new();
    let text: String = (0..20)
        .map(|i| if i % 2 == 0 { "{}\n" } else { "5\n" })
        .collect();
    let dataset = LocalFile::open(folder.write("a.jsonl", text), SKIP).expect("skipped");
    let skipped = dataset.skipped().clone();
    assert_eq!((dataset.known_len(), skipped.total()), (Some(10), 10));
    let found: Vec<_> = skipped
        .first()
        .into_iter()
        .map(|record| {
            (
                Place {
                    file: "a".into(),
                    ..record.at
                },
                record.problem,
            )
        })
        .collect();
    let expected: Vec<_> = [2, 4, 6, 8, 10]
        .map(bad_line)
        .map(|(at, problem)| (at, problem.to_owned()))
        .into();
    assert_eq!(found, expected);
    assert_eq!(dataset.into_iter().filter(Result::is_ok).count(), 10);
    assert_eq!(skipped.total(), 10, "the second pass counts nothing twice");

    for (name, text, n_good, n_bad) in [
        (
            "a.json",
            "[{}, 5, {\"a\":}, {\"id\":true}, {\"a\":1}]",
            2,
            3,
        ),
        ("a.csv", "a,b\n1\n1,2\n1,2,3\n3,4\n", 2, 2),
        ("a.jsonl", "{}\n{\"a\":\"\\ud800\"}\n\n{\n", 1, 2),
    ] {
        let dataset = LocalFile::open(folder.write(name, text), SKIP).expect(name);
        assert_eq!(dataset.known_len(), Some(n_good), "{name}");
        assert_eq!(dataset.skipped().total(), n_bad, "{name}");
        assert_eq!(dataset.into_iter().filter(Result::is_ok).count(), n_good);
    }
    for (name, text) in [("a.json", "[{}, 5"), ("a.csv", "a,a\n1,2\n")] {
        assert!(LocalFile::open(folder.write(name, text), SKIP).is_err());
    }
}

#[test]
fn bad_records_count_towards_the_maximum() {
    let settings = LocalSettings {
        max_examples: Some(3),
        ..SKIP
    };
    for (name, text) in [
        ("a.jsonl", "{}\n5\n{}\n{}\n6\n"),
        ("a.json", "[{}, 5, {}, {}, 6"),
        ("a.csv", "a\n1\n2,3\n4\n5\n6,7\n"),
    ] {
        assert_eq!(read(name, text, settings).len(), 2, "{name}");
    }
}

#[test]
fn long_lines_and_deep_nesting_are_no_danger() {
    let long = format!("{{\"context\":\"{}\"}}\n{{}}\n", "wörd ".repeat(2_000_000));
    assert!(long.len() > 10_000_000);
    assert_eq!(read("a.jsonl", &long, LocalSettings::default()).len(), 2);
    let as_list = format!("[{}]", long.trim().replace('\n', ","));
    assert_eq!(read("a.json", as_list, LocalSettings::default()).len(), 2);

    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    assert_eq!(
        problem("a.jsonl", &deep),
        "cannot parse JSON: recursion limit exceeded\n  at a.jsonl:1:132"
    );
    let closed = format!("[{deep}{}}}]", "]".repeat(100_000));
    assert_eq!(
        problem("a.json", closed),
        "cannot parse JSON: recursion limit exceeded\n  at a.json:1:133"
    );
}

#[test]
fn a_path_that_is_no_file_gets_advice() {
    let folder = Folder::new();
    folder.write("questions.jsonl", "");
    folder.write("täst ü.csv.gz", gzip("a\n"));
    folder.write("notes.txt", "");
    let root = folder.0.path();
    for (path, expected) in [
        (
            "question.jsonl",
            "no dataset file `question.jsonl`\nhint: did you mean `questions.jsonl`?",
        ),
        (
            "täst ü.csv",
            "no dataset file `täst ü.csv`\nhint: did you mean `täst ü.csv.gz`?",
        ),
        (
            "zzz.json",
            "no dataset file `zzz.json`\nhint: check the path; it is taken relative to the current folder",
        ),
        (
            "no/such.json",
            "no dataset file `no/such.json`\nhint: the folder `no` does not exist",
        ),
        (
            "notes.txt",
            "cannot tell the format of dataset file `notes.txt`\nhint: use a file ending in .jsonl, .json, .csv or .tsv, each also with .gz, .zst or .bz2, in .parquet or in .zip",
        ),
    ] {
        let error = LocalFile::open(root.join(path), SKIP).err().expect(path);
        assert_eq!(folder.shown(&error), expected);
    }
    let error = LocalFile::open(root, SKIP).err().expect("a folder");
    assert!(folder.shown(&error).ends_with(
        "is a folder, not a file\nhint: name a file in it, such as `questions.jsonl` or `täst ü.csv.gz`"
    ));
    assert!(LocalFile::open(root.join("täst ü.csv.gz"), SKIP).is_ok());
}

#[test]
fn a_file_that_changes_between_the_passes_still_gives_errors() {
    let folder = Folder::new();
    for (name, before, after) in [
        ("a.jsonl", "{}\n{}\n", "{}\n{"),
        ("a.json", "[{},{}]", "[{},{"),
        ("a.csv", "a\n1\n2\n", "a\n1\n2,3\n"),
    ] {
        let path = folder.write(name, before);
        let dataset = LocalFile::open(&path, LocalSettings::default()).expect("valid");
        let skipping = LocalFile::open(&path, SKIP).expect("valid");
        // Written in place: the same file, now with other bytes.
        fs::write(&path, after).expect("written");
        let found: Vec<bool> = dataset.into_iter().map(|example| example.is_ok()).collect();
        assert_eq!(found, [true, false], "{name}");

        let skipped = skipping.skipped().clone();
        let n_good = skipping.into_iter().filter(Result::is_ok).count();
        assert_eq!(n_good, 1, "{name}");
        let is_record = name != "a.json";
        assert_eq!(skipped.total(), usize::from(is_record), "{name}");
    }
}

#[test]
#[cfg(unix)]
fn a_pipe_is_only_streamed() {
    let folder = Folder::new();
    let pipe = folder.0.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let open = |settings| {
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::write(pipe, "{\"a\":1}\n5\n{\"a\":2}\n").expect("written")
        });
        let dataset = LocalFile::open(&pipe, settings).expect("opened");
        assert_eq!(dataset.known_len(), None);
        let skipped = dataset.skipped().clone();
        let found: Vec<bool> = dataset.into_iter().map(|example| example.is_ok()).collect();
        writer.join().expect("no panic");
        (found, skipped.total())
    };
    assert_eq!(open(LocalSettings::default()), (vec![true, false], 0));
    assert_eq!(open(SKIP), (vec![true, true], 1));
}

#[test]
fn datasets_are_tagged_cut_and_chained() {
    let folder = Folder::new();
    let one = folder.write("one.jsonl", "{}\nbad\n{\"dataset\":\"own\"}\n{}\n");
    let two = folder.write("two.csv", "a\n1\n2,3\n");
    let open = |path: &PathBuf| LocalFile::open(path, SKIP).expect("valid");
    let both = open(&one)
        .take(2)
        .tagged("one")
        .chain(open(&two).tagged("two"));
    assert_eq!((both.known_len(), both.skipped().total()), (Some(3), 2));
    let tags: Vec<Value> = both
        .into_iter()
        .map(|example| example.expect("valid").fields()["dataset"].clone())
        .collect();
    assert_eq!(tags, [json!("one"), json!("own"), json!("two")]);
}

/// Pieces of which random files are put together, broken in most cases.
const PIECES: [&[u8]; 26] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b",",
    b":",
    b"\\",
    b"\n",
    b"\r\n",
    b" ",
    b"\xff",
    b"\xef",
    b"\xef\xbb\xbf",
    b"\0",
    b"1",
    b"1e999",
    b"a",
    b"{}",
    b"{\"a\":\"\\ud800\"}",
    b"\"id\":",
    b"{\"id\":",
    b"{\"a\":1},",
    b"[{\"a\":[1]},",
    b"{\"data\":[",
    b"null",
];

proptest::proptest! {
    #[test]
    fn the_first_pass_accepts_what_the_second_reads(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES.to_vec()), 0..24),
        skip_bad in proptest::bool::ANY,
    ) {
        let bytes = pieces.concat();
        let folder = Folder::new();
        for name in ["a.jsonl", "a.json", "a.csv"] {
            let path = folder.write(name, &bytes);
            let read = ReadSettings::default();
            let mut source = Source::open(&path).expect("known");
            // The bytes may be those of a compression and too few.
            let Ok(mut first) = source.records(&read) else {
                continue;
            };
            let tally = Tally::default();
            let checked = check(first.as_mut(), RecordFilter::new(skip_bad, tally.clone()));
            let examples = LocalExamples {
                source,
                shape: Shape::default(),
                read,
                records: None,
                sieve: RecordFilter::new(skip_bad, tally),
                is_over: false,
            };
            let read: Result<Vec<Example>, DatasetError> = examples.collect();
            assert_eq!(
                checked.map_err(|error| error.to_string()),
                read.map(|examples| examples.len()).map_err(|error| error.to_string()),
                "{name}"
            );
        }
    }
}
