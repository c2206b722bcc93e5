//! Datasets from a hub on loopback: how much is fetched, mirrors, URLs.

use std::sync::Arc;

use context_bench::dataset::catalog::{
    CacheState, DatasetCatalog, Hub, HubAccess, HubSettings, LoadSettings,
};
use context_bench::{Dataset, Example};
use context_bench_testkit::hub::{FakeHub, FakeRepo};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

const GROUPS: usize = 12;
const ROWS: usize = 500;

/// A table with the columns of BIG-Bench Hard and one that nobody reads.
fn table() -> Vec<u8> {
    let schema = "message table {
        required binary input (UTF8);
        required binary target (UTF8);
        required binary unused (UTF8);
    }";
    let schema = Arc::new(parse_message_type(schema).expect("valid"));
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::default()).expect("a writer");
    for group in 0..GROUPS {
        let mut rows = writer.next_row_group().expect("a group");
        for column in 0..3 {
            let text = |row: usize| match column {
                0 => format!("input {group} {row}"),
                1 => format!("target {group} {row}"),
                // Varied enough that it cannot be stored in less.
                _ => (0..128)
                    .map(|n| format!("{:08x}", (group * ROWS + row) * 7919 + n * 104_729))
                    .collect(),
            };
            let values: Vec<ByteArray> = (0..ROWS).map(|row| text(row).as_str().into()).collect();
            let mut chunk = rows.next_column().expect("valid").expect("a column");
            let typed = chunk.typed::<ByteArrayType>();
            typed.write_batch(&values, None, None).expect("written");
            chunk.close().expect("written");
        }
        rows.close().expect("written");
    }
    writer.into_inner().expect("written")
}

pub(super) fn access(hub: &FakeHub, cache: &tempfile::TempDir) -> HubAccess {
    let mut settings = HubSettings::new(cache.path());
    settings.endpoint = hub.url().to_owned();
    HubAccess::new(Hub::new(settings).expect("valid"))
}

fn examples(dataset: Dataset) -> Vec<Example> {
    dataset
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("valid")
}

#[test]
fn a_few_examples_of_a_large_table_cost_a_small_part_of_it() {
    let table = table();
    let size = table.len() as u64;
    assert!(size > 4 << 20, "{size}");
    let repo = FakeRepo::new("lukaemon/bbh")
        .large("boolean_expressions/test-00000-of-00001.parquet", &table);
    let hub = FakeHub::start([repo]);
    let cache = tempfile::tempdir().expect("a folder");
    let settings = |max_examples| {
        let mut settings = LoadSettings::default();
        settings.max_examples = max_examples;
        settings.hub = Some(access(&hub, &cache));
        settings
    };
    let catalog = DatasetCatalog::builtin();
    let few = examples(catalog.load("bbh", &settings(Some(5))).expect("loads"));
    assert_eq!(few.len(), 5);
    assert_eq!(few[4].text("answer"), Some("target 0 4"));
    let sent = hub.bytes_sent(".parquet");
    assert!(sent > 0 && sent < size / 20, "{sent} of {size} bytes");
    let config = catalog
        .get("bbh")
        .expect("known")
        .select(None, None)
        .expect("valid")
        .remove(0);
    let client = access(&hub, &cache);
    assert_eq!(config.cached(client.hub()), CacheState::Nothing);

    let all = examples(catalog.load("bbh", &settings(None)).expect("loads"));
    assert_eq!(all.len(), GROUPS * ROWS);
    assert_eq!(all[..5], few[..]);
    assert_eq!(config.cached(client.hub()), CacheState::Whole);

    // What is in the cache is read from there.
    hub.forget_requests();
    let again = examples(catalog.load("bbh", &settings(Some(5))).expect("loads"));
    assert_eq!(again, few);
    assert_eq!(hub.bytes_sent(".parquet"), 0);
}

#[test]
fn a_mirror_is_asked_when_the_repository_is_gone() {
    let record = r#"{"problem": "1+1?", "solution": "\\boxed{2}", "level": "1", "type": "a"}"#;
    let mirror =
        FakeRepo::new("hendrycks/competition_math").file("data/test.jsonl", record.as_bytes());
    let hub = FakeHub::start([mirror]);
    let cache = tempfile::tempdir().expect("a folder");
    let mut settings = LoadSettings::default();
    settings.hub = Some(access(&hub, &cache));
    let loaded = DatasetCatalog::builtin()
        .load("math", &settings)
        .expect("loads");
    assert_eq!(examples(loaded)[0].text("answer"), Some("2"));
}

#[test]
fn tables_that_are_joined_come_from_the_hub_as_well() {
    let line = |path: &str| std::fs::read(super::fixture(&format!("datasets/{path}"))).expect(path);
    let scifact = FakeRepo::new("allenai/scifact")
        .file(
            "claims/validation.jsonl",
            &line("scifact/claims/validation.jsonl"),
        )
        .file("corpus/train.jsonl", &line("scifact/corpus/train.jsonl"));
    let name = "BFCL_v3_live_simple.json";
    let bfcl = FakeRepo::new("gorilla-llm/Berkeley-Function-Calling-Leaderboard")
        .file(name, &line(&format!("bfcl/{name}")))
        .file(
            &format!("possible_answer/{name}"),
            &line(&format!("bfcl/possible_answer/{name}")),
        )
        .file("BFCL_v3_rest.json", &line("bfcl/BFCL_v3_rest.json"));
    let zip = FakeRepo::new("THUDM/LongBench").file("data.zip", &line("longbench/data.zip"));
    let hub = FakeHub::start([scifact, bfcl, zip]);
    let cache = tempfile::tempdir().expect("a folder");
    let mut settings = LoadSettings::default();
    settings.hub = Some(access(&hub, &cache));
    for typed in ["scifact", "bfcl:live_simple", "bfcl:rest", "longbench:trec"] {
        let remote = DatasetCatalog::builtin().load(typed, &settings);
        let remote = examples(remote.unwrap_or_else(|error| panic!("{typed}: {error}")));
        let name = typed.split(':').next().expect("a name");
        let mut local = LoadSettings::default();
        local.path = Some(super::fixture(&format!("datasets/{name}")));
        let local = examples(DatasetCatalog::builtin().load(typed, &local).expect(typed));
        assert_eq!(remote, local, "{typed}");
    }
}

#[test]
fn a_local_copy_may_be_an_address() {
    let hub = FakeHub::start([]);
    let record = "{\"input\": \"a\", \"target\": \"b\"}\n";
    let url = hub.web_file("copy.jsonl", record.as_bytes(), None);
    let cache = tempfile::tempdir().expect("a folder");
    let mut settings = LoadSettings::default();
    settings.hub = Some(access(&hub, &cache));
    let loaded = DatasetCatalog::builtin().load(&format!("bbh={url}"), &settings);
    assert_eq!(
        examples(loaded.expect("loads"))[0].text("answer"),
        Some("b")
    );
}
