//! Folders, patterns and shards.

use context_bench_records::{ReadSettings, RecordSet};

use crate::{Folder, first};

fn shards() -> Folder {
    let folder = Folder::new();
    for i in [1, 2, 10] {
        folder.write(
            &format!("data/part-{i}.jsonl"),
            format!("{{\"i\":{i}}}\n{{\"i\":{}}}\n", i + 100),
        );
    }
    folder.write("data/part-3.csv", "i\n3\n");
    folder.write("data/README.md", "about");
    folder.write("data/deep/part-4.jsonl", "{\"i\":4}\n");
    folder
}

#[test]
fn files_are_read_as_one_in_natural_order() {
    let folder = shards();
    let all = [
        "{\"i\":1}",
        "{\"i\":101}",
        "{\"i\":2}",
        "{\"i\":102}",
        "{\"i\":\"3\"}",
        "{\"i\":10}",
        "{\"i\":110}",
    ];
    let lines: Vec<&str> = all
        .iter()
        .copied()
        .filter(|text| !text.contains('"') || !text.contains("\"3\""))
        .collect();
    for (path, settings, expected) in [
        ("data", ReadSettings::default(), &all[..]),
        ("data/*.jsonl", ReadSettings::default(), &lines),
        ("*/part-*.jsonl", ReadSettings::default(), &lines),
        (
            "data/part-?.{jsonl,csv}",
            ReadSettings::default(),
            &all[..5],
        ),
        ("data/part-[2-3].*", ReadSettings::default(), &all[2..5]),
        ("data", first(3), &all[..3]),
        ("data", first(4), &all[..4]),
        ("data", first(0), &[]),
        ("**/part-4.jsonl", ReadSettings::default(), &["{\"i\":4}"]),
    ] {
        let expected: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(folder.outcome(path, settings), Ok(expected), "{path}");
    }
    let set = RecordSet::open(&folder.path("data"), ReadSettings::default()).expect("files");
    let positions: Vec<usize> = set
        .map(|found| found.expect("good").position.index)
        .collect();
    assert_eq!(
        positions,
        [0, 1, 2, 3, 4, 5, 6],
        "positions count through all files"
    );
}

#[test]
fn shards_are_opened_when_their_turn_comes() {
    let folder = shards();
    folder.write("data/part-9.parquet", "not parquet");
    let mut set = RecordSet::open(&folder.path("data"), ReadSettings::default()).expect("files");
    for _ in 0..5 {
        set.next().expect("a record").expect("good");
    }
    let error = set.next().expect("an error").expect_err("a broken shard");
    assert!(
        folder.shown(&error).contains("at data/part-9.parquet"),
        "{error}"
    );
    assert!(set.next().is_none(), "nothing is left out silently");
}

#[test]
fn a_set_without_files_is_an_error_with_advice() {
    let folder = shards();
    folder.write("other/notes.txt", "");
    for (path, expected) in [
        (
            "other",
            "`other` holds no file of records\nhint: use files ending in .jsonl",
        ),
        (
            "data/*.tsv",
            "`data/*.tsv` holds no file of records\nhint: use files ending in",
        ),
        ("none/*.tsv", "no file `none`\nhint: check the path"),
        ("data/[", "`"),
    ] {
        let error = folder
            .outcome(path, ReadSettings::default())
            .expect_err(path);
        assert!(error.starts_with(expected), "{error}");
    }
}
