//! How much of their data tasks read: what their prompts need, on the hub and on disk.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use context_bench::dataset::catalog::{DatasetCatalog, Hub, HubAccess, HubSettings};
use context_bench::task::tasks::config::{Config, Origin};
use context_bench::task::tasks::options::Limit;
use context_bench::task::tasks::{Dataset, NoHost, Options, Split, Task};
use context_bench::task::{DataSettings, TaskData};
use context_bench_testkit::hub::{FakeHub, FakeRepo};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};

/// A line that is no record.
const BROKEN: &str = "{\"q\": \n";

fn task(more: Value) -> Task {
    let mut config = json!({
        "test_split": "test",
        "doc_to_text": "{{q}}",
        "doc_to_target": "{{a}}",
    });
    let Value::Object(more) = more else { panic!() };
    config.as_object_mut().unwrap().extend(more);
    let config = Config::from_json(config.as_object().unwrap(), &Origin::other("case"));
    Task::from_config("t", &config, None).unwrap()
}

fn limited(n: usize) -> Options {
    Options {
        limit: Some(Limit::Count(n)),
        ..Options::default()
    }
}

fn load(task: &Task, options: &Options, settings: DataSettings) -> Result<Dataset, String> {
    let data = TaskData::new(DatasetCatalog::builtin(), settings);
    let found = data.load(task, options, &NoHost);
    // What was read must do for the prompts.
    if let Ok(found) = &found {
        let made = task.requests(found, options, &NoHost);
        made.map_err(|error| error.to_string())?;
    }
    found.map_err(|error| error.to_string())
}

/// How many records were read of a split, and how many it is known to have.
fn sizes(dataset: &Dataset, split: &str) -> (usize, Option<usize>) {
    let split = dataset.get(split).unwrap();
    (split.records().len(), split.n_original())
}

fn lines(from: usize, n: usize, padding: usize) -> String {
    let mut text = String::new();
    for i in from..from + n {
        // Varied enough that nothing depends on it being packed.
        let pad = format!("{:016x}", i * 7919).repeat(padding / 16);
        let line = json!({"q": format!("q{i}"), "a": format!("a{i}"), "pad": pad});
        writeln!(text, "{line}").unwrap();
    }
    text
}

const GROUPS: usize = 40;
const ROWS: usize = 500;

/// A table of `GROUPS` row groups; subjects follow each other, two row groups each.
fn table() -> Vec<u8> {
    static TABLE: OnceLock<Vec<u8>> = OnceLock::new();
    TABLE.get_or_init(new_table).clone()
}

fn new_table() -> Vec<u8> {
    let schema = "message table {
        required binary q (UTF8);
        required binary a (UTF8);
        required binary subject (UTF8);
        required binary pad (UTF8);
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    for group in 0..GROUPS {
        let mut rows = writer.next_row_group().unwrap();
        for column in ["q", "a", "subject", "pad"] {
            let text = |row: usize| match column {
                "subject" => format!("s{}", group / 2),
                "pad" => (0..128)
                    .map(|n| format!("{:08x}", (group * ROWS + row) * 7919 + n * 104_729))
                    .collect(),
                other => format!("{other}{}", group * ROWS + row),
            };
            let values: Vec<ByteArray> = (0..ROWS).map(|row| text(row).as_str().into()).collect();
            let mut chunk = rows.next_column().unwrap().unwrap();
            let typed = chunk.typed::<ByteArrayType>();
            typed.write_batch(&values, None, None).unwrap();
            chunk.close().unwrap();
        }
        rows.close().unwrap();
    }
    writer.into_inner().unwrap()
}

fn hub_settings(hub: &FakeHub, cache: &tempfile::TempDir) -> DataSettings {
    let mut settings = HubSettings::new(cache.path());
    settings.endpoint = hub.url().to_owned();
    DataSettings {
        hub: Some(HubAccess::new(Hub::new(settings).unwrap())),
        ..DataSettings::default()
    }
}

#[test]
fn a_limit_fetches_a_small_part_of_a_table_on_the_hub() {
    let table = table();
    let size = table.len() as u64;
    let hub = FakeHub::start([FakeRepo::new("org/data").large("data/test.parquet", &table)]);
    let cache = tempfile::tempdir().unwrap();
    let task = task(json!({"dataset_path": "org/data"}));
    let few = load(&task, &limited(50), hub_settings(&hub, &cache)).unwrap();
    // The footer, which is read anyway, says how many there are.
    assert_eq!(sizes(&few, "test"), (50, Some(GROUPS * ROWS)));
    let sent = hub.bytes_sent(".parquet");
    assert!(sent > 0 && sent < size / 10, "{sent} of {size} bytes");

    // The documents that are named need what is before them.
    hub.forget_requests();
    let named = Options {
        documents: Some(vec![2, ROWS + 5]),
        ..Options::default()
    };
    let found = load(&task, &named, hub_settings(&hub, &cache)).unwrap();
    assert_eq!(sizes(&found, "test").0, ROWS + 6);
    let sent = hub.bytes_sent(".parquet");
    assert!(sent < size / 4, "{sent} of {size} bytes");

    // Without a limit everything is fetched, once, and then read from the cache.
    let all = load(&task, &Options::default(), hub_settings(&hub, &cache)).unwrap();
    let n = GROUPS * ROWS;
    assert_eq!(sizes(&all, "test"), (n, Some(n)));
    let records = |data: &Dataset| data.get("test").map(|split| split.records()[..50].to_vec());
    assert_eq!(records(&few), records(&all));
    hub.forget_requests();
    let again = load(&task, &limited(50), hub_settings(&hub, &cache)).unwrap();
    assert_eq!(hub.bytes_sent(".parquet"), 0);
    assert_eq!(records(&again), records(&few));
}

#[test]
fn a_limit_fetches_the_beginning_of_lines_on_the_hub() {
    let mut text = lines(0, 8000, 1024);
    let size = text.len() as u64;
    text += BROKEN;
    let repo = FakeRepo::new("org/data")
        .large("test.jsonl", text.as_bytes())
        .large("train.jsonl", text.as_bytes());
    let hub = FakeHub::start([repo]);
    let cache = tempfile::tempdir().unwrap();
    for (more, options, splits, known) in [
        (json!({}), limited(50), &[("test", 50)][..], None),
        // A part of a split that is read to its end is known whole.
        (
            json!({"test_split": "test[20:50]"}),
            Options::default(),
            &[("test[20:50]", 30)],
            Some(30),
        ),
        (
            json!({"num_fewshot": 3, "fewshot_config": {"sampler": "first_n", "split": "train"}}),
            limited(50),
            &[("test", 50), ("train", 3)],
            None,
        ),
        (
            json!({"dataset_kwargs": {"data_files": {"test": "*train.jsonl"}}}),
            limited(50),
            &[("test", 50)],
            None,
        ),
    ] {
        hub.forget_requests();
        let mut config = more.clone();
        config["dataset_path"] = json!("org/data");
        let found = load(&task(config), &options, hub_settings(&hub, &cache)).unwrap();
        for (split, n) in splits {
            assert_eq!(sizes(&found, split).0, *n, "{more}");
        }
        assert_eq!(sizes(&found, splits[0].0).1, known, "{more}");
        let sent = hub.bytes_sent(".jsonl");
        assert!(sent > 0 && sent < size / 10, "{sent} of {size}: {more}");
    }
    let whole = task(json!({"dataset_path": "org/data"}));
    let error = load(&whole, &Options::default(), hub_settings(&hub, &cache)).unwrap_err();
    assert!(error.contains("test.jsonl:8001"), "{error}");
}

#[test]
fn a_larger_limit_fetches_only_the_first_files() {
    let mut repo = FakeRepo::new("org/data");
    for shard in 0..4 {
        let text = lines(shard * 2000, 2000, 1024);
        repo = repo.large(
            &format!("data/test-{shard:05}-of-00004.jsonl"),
            text.as_bytes(),
        );
    }
    let hub = FakeHub::start([repo]);
    let cache = tempfile::tempdir().unwrap();
    let task = task(json!({"dataset_path": "org/data"}));
    for _ in 0..2 {
        let found = load(&task, &limited(3000), hub_settings(&hub, &cache)).unwrap();
        assert_eq!(sizes(&found, "test"), (3000, None));
    }
    let fetched = |shard: usize| hub.bytes_sent(&format!("test-{shard:05}"));
    assert!(fetched(0) > 0 && fetched(1) > 0);
    assert_eq!((fetched(2), fetched(3)), (0, 0));
    // Each file came once and is in the cache now.
    assert!(fetched(0) < 2 * lines(0, 2000, 1024).len() as u64);
}

#[test]
fn a_limit_fetches_the_beginning_of_a_file_by_its_address() {
    let hub = FakeHub::start([]);
    let text = lines(0, 8000, 1024) + BROKEN;
    let url = hub.web_file("docs.jsonl", text.as_bytes(), Some("\"v1\""));
    let cache = tempfile::tempdir().unwrap();
    let task = task(json!({
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": url}},
    }));
    let settings = || hub_settings(&hub, &cache);
    let found = load(&task, &limited(50), settings()).unwrap();
    assert_eq!(sizes(&found, "test"), (50, None));
    let (sent, size) = (hub.bytes_sent("docs.jsonl"), text.len() as u64);
    assert!(sent > 0 && sent < size / 10, "{sent} of {size} bytes");
    let error = load(&task, &Options::default(), settings()).unwrap_err();
    assert!(error.contains("docs.jsonl:8001"), "{error}");
}

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_is_broken_behind_a_limit_is_not_met() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let text = lines(0, 400, 0) + BROKEN + &lines(400, 10, 0);
    let list = format!("[{}", lines(0, 400, 0).replace('\n', ",\n")) + "{\"q\": ]";
    let mut csv = "q,a\n".to_owned();
    for i in 0..400 {
        writeln!(csv, "q{i},a{i}").unwrap();
    }
    csv += "x,y,z,\"not closed\n";
    let mut damaged = table();
    // Somewhere in the second row group.
    let middle = damaged.len() / GROUPS * 3 / 2;
    damaged[middle..middle + 20_000].fill(0xff);
    for (builder, name, content, known) in [
        ("json", "a.jsonl", text.clone().into_bytes(), None),
        ("json", "a.json", list.into_bytes(), None),
        ("csv", "a.csv", csv.into_bytes(), None),
        ("parquet", "a.parquet", damaged, Some(GROUPS * ROWS)),
    ] {
        let file = write(at, name, content);
        let task = task(json!({
            "dataset_path": builder,
            "dataset_kwargs": {"data_files": {"test": file}},
        }));
        let load = |options: &Options| load(&task, options, DataSettings::default());
        let found = load(&limited(300)).expect(name);
        assert_eq!(sizes(&found, "test"), (300, known), "{name}");
        let error = load(&Options::default()).expect_err(name);
        assert!(error.contains(name), "{error}");
        let share = Options {
            limit: Some(Limit::Share(0.1)),
            ..Options::default()
        };
        load(&share).expect_err("a share is of all there are");
    }

    // Files behind the last that is needed are not opened.
    write(at, "more/test-1.jsonl", lines(0, 5, 0));
    write(at, "more/test-2.jsonl", BROKEN);
    let many = task(json!({"dataset_path": at.join("more").to_str().unwrap()}));
    let found = load(&many, &limited(5), DataSettings::default()).unwrap();
    assert_eq!(sizes(&found, "test"), (5, None));
    load(&many, &limited(6), DataSettings::default()).unwrap_err();

    // A file in place of a split, and blank lines, which are no records.
    let file = write(at, "b.jsonl", format!("\n\n{text}"));
    let replaced = || DataSettings {
        replaced: vec![("test".into(), file.clone().into())],
        ..DataSettings::default()
    };
    let found = load(&many, &limited(300), replaced()).unwrap();
    assert_eq!(sizes(&found, "test"), (300, None));
    load(&many, &Options::default(), replaced()).unwrap_err();
    // Bad records that are left out do not count.
    let skipping = DataSettings {
        skip_bad_lines: true,
        ..replaced()
    };
    let found = load(&many, &limited(405), skipping.clone()).unwrap();
    assert_eq!(sizes(&found, "test"), (405, None));
    let found = load(&many, &limited(500), skipping).unwrap();
    assert_eq!(sizes(&found, "test"), (410, Some(410)));
}

#[test]
fn columns_of_tables_have_types_and_names() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |text: &str, more: Value, n: Option<usize>| {
        let file = write(folder.path(), "rows.csv", text);
        let mut kwargs = json!({"data_files": {"test": file}});
        kwargs
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let task = task(json!({
            "dataset_path": "csv", "dataset_kwargs": kwargs, "output_type": "multiple_choice",
            "doc_to_choice": ["no", "yes"], "doc_to_target": "a",
        }));
        let options = n.map(limited).unwrap_or_default();
        let found = load(&task, &options, DataSettings::default())?;
        let records = found.get("test").unwrap().records();
        Ok::<_, String>(
            records
                .iter()
                .cloned()
                .map(Value::Object)
                .collect::<Vec<_>>(),
        )
    };
    let typed = [
        json!({"q": "x?", "a": 1, "b": true}),
        json!({"q": "y?", "a": 0, "b": null}),
    ];
    let text = "q,a,b\nx?,1,True\ny?,0,\n";
    assert_eq!(rows(text, json!({}), None).unwrap(), typed);
    // A limit changes nothing about what a column is.
    assert_eq!(rows(text, json!({}), Some(1)).unwrap(), typed[..1]);
    let late = "q,a,b\nx?,1,True\ny?,z,\n";
    assert_eq!(rows(late, json!({}), Some(1)).unwrap()[0]["a"], json!("1"));
    let names = json!(["q", "a", "b"]);
    let bare = "x?,1,True\ny?,0,\n";
    let without = json!({"column_names": names, "header": null});
    assert_eq!(rows(bare, without, None).unwrap(), typed);
    assert_eq!(
        rows(bare, json!({"column_names": names}), None).unwrap(),
        typed
    );
    let over = json!({"column_names": names, "header": 0});
    assert_eq!(
        rows("1,2,3\nx?,1,True\ny?,0,\n", over, None).unwrap(),
        typed
    );
    for (more, part) in [
        (json!({"header": null}), "need names"),
        (json!({"column_names": ["q"]}), "1 names are given"),
        (json!({"column_names": "q"}), "must be a list"),
        (json!({"sep": ";"}), "`sep` is not known"),
    ] {
        let error = rows(bare, more, None).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn examples_that_are_the_first_ones_need_only_these() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = |train: &str| {
        let (test, train) = (
            write(at, "test.jsonl", lines(0, 10, 0)),
            write(at, "train.jsonl", train),
        );
        json!({"test": test, "train": train})
    };
    let run = |train: &str, fewshot: Value, split: &str| {
        let task = task(json!({
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": data(train)},
            "test_split": split,
            "num_fewshot": 3,
            "fewshot_config": fewshot,
        }));
        load(&task, &limited(2), DataSettings::default())
    };
    let broken = lines(0, 5, 0) + BROKEN;
    let first = json!({"sampler": "first_n", "split": "train"});
    let found = run(&broken, first.clone(), "test").unwrap();
    assert_eq!(sizes(&found, "train"), (3, None));
    let picked = json!({"split": "train", "fewshot_indices": [4, 0, 1]});
    let found = run(&broken, picked, "test").unwrap();
    assert_eq!(sizes(&found, "train"), (5, None));
    let error = run(&broken, json!({"split": "train"}), "test").unwrap_err();
    assert!(error.contains("train.jsonl:6"), "{error}");

    // One split for both. Records that are there twice may leave too few others.
    let apart = lines(0, 10, 0);
    let found = run(&apart, first.clone(), "train").unwrap();
    assert_eq!(sizes(&found, "train"), (4, None));
    let twice = lines(0, 1, 0) + &lines(0, 10, 0);
    let found = run(&twice, first, "train").unwrap();
    assert_eq!(sizes(&found, "train"), (11, Some(11)));
}

/// A dataset whose subjects are in one file.
const SUBJECTS: &str = "
name: subjects
category: knowledge
source: {hub: org/subjects, config: all, split: test}
default_config: s0
configs: {s0: {}, s1: {}, s2: {}, s3: {}, s19: {}}
belongs_when: subject == config
fields: {question: q, answer: a}
";

fn of_subject(name: &str) -> Task {
    task(json!({"dataset": format!("subjects:{name}")}))
}

fn subjects() -> DatasetCatalog {
    let mut catalog = DatasetCatalog::builtin();
    catalog.add(SUBJECTS, Path::new("subjects.yaml")).unwrap();
    catalog
}

/// Where the records of a subject of the table begin.
fn places(split: &Split) -> Vec<String> {
    let records = split.records().iter();
    records
        .map(|r| r["q"].as_str().unwrap().to_owned())
        .collect()
}

fn expected(subject: usize, n: usize) -> Vec<String> {
    (0..n)
        .map(|i| format!("q{}", subject * 2 * ROWS + i))
        .collect()
}

#[test]
fn a_limit_counts_the_records_of_a_subject_and_one_file_is_read_once_for_all() {
    let table = table();
    let size = table.len() as u64;
    let repo = FakeRepo::new("org/subjects").large("all/test-00000-of-00001.parquet", &table);
    let hub = FakeHub::start([repo]);
    let cache = tempfile::tempdir().unwrap();
    let data = TaskData::new(subjects(), hub_settings(&hub, &cache));
    let mut sent = Vec::new();
    for (subject, n) in [(1, 30), (0, 50), (1, 10), (1, 40), (3, 20)] {
        let task = of_subject(&format!("s{subject}"));
        let found = data.load(&task, &limited(n), &NoHost).unwrap();
        let split = found.get("test").unwrap();
        assert_eq!(places(split), expected(subject, n));
        // Which records are of the subject shows only when they are read.
        assert_eq!(split.n_original(), None);
        sent.push(hub.bytes_sent(".parquet"));
    }
    assert!(sent[0] < size / 4, "{sent:?} of {size}");
    // What was read for one subject serves the others.
    assert_eq!([sent[1], sent[2], sent[3]], [sent[0]; 3]);
    assert!(
        sent[4] > sent[0] && sent[4] < size / 2,
        "{sent:?} of {size}"
    );
    let all = data.load(&of_subject("s19"), &Options::default(), &NoHost);
    let all = all.unwrap();
    assert_eq!(sizes(&all, "test"), (2 * ROWS, Some(2 * ROWS)));
    assert!(hub.bytes_sent(".parquet") < size * 11 / 10, "read once");
}

#[test]
fn a_copy_with_all_subjects_is_read_as_far_as_each_needs() {
    let folder = tempfile::tempdir().unwrap();
    let row = |subject: &str, i: usize| {
        json!({"q": format!("{subject} {i}"), "a": "x", "subject": subject}).to_string() + "\n"
    };
    let rows = |subject: &str| (0..20).map(|i| row(subject, i)).collect::<String>();
    let text = rows("s0") + &rows("s1") + BROKEN + &rows("s2") + &rows("s0");
    let file = write(folder.path(), "subjects.all.test.jsonl", text);
    let settings = DataSettings {
        copies: vec![("subjects".into(), file.into())],
        ..DataSettings::default()
    };
    let data = TaskData::new(subjects(), settings.clone());
    let load = |data: &TaskData, subject: &str, options: &Options| {
        let found = data.load(&of_subject(subject), options, &NoHost);
        found
            .map(|found| sizes(&found, "test"))
            .map_err(|e| e.to_string())
    };
    for _ in 0..2 {
        for subject in ["s0", "s1"] {
            assert_eq!(load(&data, subject, &limited(20)), Ok((20, None)));
        }
        // What lies behind the broken line cannot be had, however often it is tried.
        for (subject, options) in [("s2", limited(1)), ("s0", limited(21))] {
            let error = load(&data, subject, &options).unwrap_err();
            assert!(error.contains(".jsonl:41"), "{error}");
        }
        load(&data, "s1", &Options::default()).unwrap_err();
    }
    let skipping = DataSettings {
        skip_bad_lines: true,
        ..settings
    };
    let data = TaskData::new(subjects(), skipping);
    assert_eq!(load(&data, "s2", &limited(5)), Ok((5, None)));
    assert_eq!(load(&data, "s0", &limited(50)), Ok((40, Some(40))));
    assert_eq!(data.skipped().total(), 1);
}

#[test]
fn a_table_of_the_catalog_without_subjects_is_read_by_rows() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "test.parquet", table());
    let spec = "
name: plain
category: knowledge
source: {files: test.parquet}
fields: {question: q, answer: a}
";
    let mut catalog = DatasetCatalog::builtin();
    let path = Path::new(&file).with_file_name("plain.yaml");
    catalog.add(spec, &path).unwrap();
    let data = TaskData::new(catalog, DataSettings::default());
    let task = task(json!({"dataset": "plain"}));
    let all = GROUPS * ROWS;
    // More than before, less, and all of it, from one reader of data.
    for n in [20, 700, 3, all, all + 1] {
        let found = data.load(&task, &limited(n), &NoHost).unwrap();
        assert_eq!(sizes(&found, "test"), (n.min(all), Some(all)));
    }
    let found = data.load(&task, &Options::default(), &NoHost).unwrap();
    assert_eq!(sizes(&found, "test"), (all, Some(all)));
}
