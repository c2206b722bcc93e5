//! Parquet files written here column by column, with their levels.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use context_bench_records::{ReadAt, ReadSettings, Record, RecordSet, Records as _, Source};
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use serde_json::{Value, json};

type Group<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

/// A file of row groups, each written by one call.
pub(crate) fn file<T>(
    schema: &str,
    properties: WriterProperties,
    groups: impl IntoIterator<Item = T>,
    write: impl Fn(&T, &mut Group<'_>),
) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, properties.into()).expect("a writer");
    for rows in groups {
        let mut group = writer.next_row_group().expect("a row group");
        write(&rows, &mut group);
        group.close().expect("closed");
    }
    writer.into_inner().expect("written")
}

pub(crate) fn column<T: DataType>(
    group: &mut Group<'_>,
    values: &[T::T],
    definitions: Option<&[i16]>,
    repetitions: Option<&[i16]>,
) {
    let mut column = group.next_column().expect("a column").expect("one more");
    column
        .typed::<T>()
        .write_batch(values, definitions, repetitions)
        .expect("written");
    column.close().expect("closed");
}

pub(crate) fn text(text: &str) -> ByteArray {
    text.as_bytes().to_vec().into()
}

/// Bytes that remember what was asked of them.
struct RecordingSource {
    bytes: Bytes,
    reads: Mutex<Vec<(u64, usize)>>,
}

impl RecordingSource {
    fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self {
            bytes: bytes.into(),
            reads: Mutex::default(),
        })
    }

    fn reads(&self) -> Vec<(u64, usize)> {
        self.reads.lock().expect("not poisoned").clone()
    }
}

impl ReadAt for RecordingSource {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_at(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        self.reads.lock().expect("not poisoned").push((offset, len));
        let start = offset as usize;
        if start + len > self.bytes.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(self.bytes.slice(start..start + len))
    }

    fn name(&self) -> &str {
        "far/a.parquet"
    }
}

/// The records of a file, or the first error as text.
pub(crate) fn records(
    source: Arc<dyn ReadAt>,
    settings: &ReadSettings,
) -> Result<Vec<Record>, String> {
    let shown = |error: context_bench_records::RecordError| error.to_string();
    let mut records = Source::from_read_at(source)
        .and_then(|mut source| source.records(settings))
        .map_err(shown)?;
    let mut found = Vec::new();
    while let Some(record) = records.read_next() {
        found.push(record.map_err(shown)?.record);
    }
    assert_eq!(records.file(), Path::new("far/a.parquet"));
    Ok(found)
}

pub(crate) fn all(bytes: Vec<u8>) -> Result<Vec<Record>, String> {
    records(RecordingSource::new(bytes), &ReadSettings::default())
}

#[test]
fn every_type_becomes_the_value_that_json_has() {
    let schema = "message m {
        REQUIRED BOOLEAN flag;
        REQUIRED INT32 small;
        REQUIRED INT64 large;
        REQUIRED INT64 unsigned (INTEGER(64,false));
        REQUIRED FLOAT single;
        REQUIRED DOUBLE double;
        REQUIRED FIXED_LEN_BYTE_ARRAY (2) half (FLOAT16);
        REQUIRED INT32 cents (DECIMAL(9,2));
        REQUIRED FIXED_LEN_BYTE_ARRAY (16) money (DECIMAL(38,4));
        REQUIRED INT32 day (DATE);
        REQUIRED INT64 naive (TIMESTAMP(MICROS,false));
        REQUIRED INT64 utc (TIMESTAMP(MILLIS,true));
        REQUIRED INT96 old;
        REQUIRED BYTE_ARRAY text (UTF8);
        REQUIRED BYTE_ARRAY json (JSON);
        REQUIRED BYTE_ARRAY bytes;
        OPTIONAL BYTE_ARRAY nothing (UTF8);
        REQUIRED FIXED_LEN_BYTE_ARRAY (16) uuid (UUID);
        OPTIONAL group map (MAP) { REPEATED group key_value { REQUIRED BYTE_ARRAY key (UTF8); OPTIONAL INT64 value; } }
        OPTIONAL group plain (LIST) { REPEATED INT32 element; }
        OPTIONAL group tuples (LIST) { REPEATED group tuples_tuple { REQUIRED INT32 n; } }
        REPEATED INT32 bare;
    }";
    let fixed = |bytes: Vec<u8>| FixedLenByteArray::from(bytes);
    let bytes = file(schema, WriterProperties::default(), [()], |(), group| {
        column::<BoolType>(group, &[true], None, None);
        column::<Int32Type>(group, &[-7], None, None);
        column::<Int64Type>(group, &[i64::MAX], None, None);
        column::<Int64Type>(group, &[-1], None, None);
        column::<FloatType>(group, &[0.5], None, None);
        column::<DoubleType>(group, &[f64::NAN], None, None);
        column::<FixedLenByteArrayType>(group, &[fixed(vec![0x00, 0xc0])], None, None);
        column::<Int32Type>(group, &[-1234], None, None);
        let money = fixed(1_234_567_i128.to_be_bytes().to_vec());
        column::<FixedLenByteArrayType>(group, &[money], None, None);
        column::<Int32Type>(group, &[19_782], None, None);
        column::<Int64Type>(group, &[1_500_000], None, None);
        column::<Int64Type>(group, &[-1], None, None);
        let mut old = Int96::new();
        old.set_data(1_000_000_000, 0, 2_440_589);
        column::<Int96Type>(group, &[old], None, None);
        column::<ByteArrayType>(group, &[text("ä")], None, None);
        column::<ByteArrayType>(group, &[text("{\"a\":1}")], None, None);
        column::<ByteArrayType>(group, &[ByteArray::from(vec![0xff, 0x00])], None, None);
        column::<ByteArrayType>(group, &[], Some(&[0]), None);
        column::<FixedLenByteArrayType>(group, &[fixed(vec![0x11; 16])], None, None);
        column::<ByteArrayType>(group, &[text("x"), text("y")], Some(&[2, 2]), Some(&[0, 1]));
        column::<Int64Type>(group, &[5], Some(&[3, 2]), Some(&[0, 1]));
        column::<Int32Type>(group, &[1, 2], Some(&[2, 2]), Some(&[0, 1]));
        column::<Int32Type>(group, &[3], Some(&[2]), Some(&[0]));
        column::<Int32Type>(group, &[8, 9], Some(&[1, 1]), Some(&[0, 1]));
    });
    let expected = json!({
        "flag": true, "small": -7, "large": i64::MAX, "unsigned": u64::MAX, "single": 0.5,
        "double": null, "half": -2.0, "cents": "-12.34", "money": "123.4567",
        "day": "2024-02-29", "naive": "1970-01-01T00:00:01.500000",
        "utc": "1969-12-31T23:59:59.999000+00:00", "old": "1970-01-02T00:00:01",
        "text": "ä", "json": "{\"a\":1}", "bytes": "/wA=", "nothing": null,
        "uuid": "11111111-1111-1111-1111-111111111111", "map": {"x": 5, "y": null},
        "plain": [1, 2], "tuples": [{"n": 3}], "bare": [8, 9],
    });
    let found = all(bytes).expect("good");
    assert_eq!(found.len(), 1);
    for (key, value) in expected.as_object().expect("a map") {
        assert_eq!(&found[0][key], value, "{key}");
    }
    assert_eq!(
        Value::from(found[0].clone()).to_string(),
        expected.to_string(),
        "also the order"
    );
}

const NESTED: &str = "message m {
    REQUIRED INT64 id;
    OPTIONAL group items (LIST) { REPEATED group list { OPTIONAL group element {
        OPTIONAL INT64 n;
        OPTIONAL group tags (LIST) { REPEATED group list { OPTIONAL BYTE_ARRAY element (UTF8); } }
    } } }
}";

type Tags = Option<Vec<Option<String>>>;
type Items = Option<Vec<Option<(Option<i64>, Tags)>>>;

/// Values and levels of the two leaves below `items`.
#[derive(Default)]
struct StripedColumns {
    numbers: (Vec<i64>, Vec<i16>, Vec<i16>),
    texts: (Vec<ByteArray>, Vec<i16>, Vec<i16>),
}

impl StripedColumns {
    fn number(&mut self, definition: i16, repetition: i16) {
        self.numbers.1.push(definition);
        self.numbers.2.push(repetition);
    }

    fn text(&mut self, definition: i16, repetition: i16) {
        self.texts.1.push(definition);
        self.texts.2.push(repetition);
    }

    fn add(&mut self, items: &Items) {
        let Some(items) = items else {
            self.number(0, 0);
            return self.text(0, 0);
        };
        if items.is_empty() {
            self.number(1, 0);
            return self.text(1, 0);
        }
        for (item_idx, item) in items.iter().enumerate() {
            let repetition = i16::from(item_idx > 0);
            let Some((number, tags)) = item else {
                self.number(2, repetition);
                self.text(2, repetition);
                continue;
            };
            self.number(if number.is_some() { 4 } else { 3 }, repetition);
            self.numbers.0.extend(number);
            match tags {
                None => self.text(3, repetition),
                Some(tags) if tags.is_empty() => self.text(4, repetition),
                Some(tags) => {
                    for (tag_idx, tag) in tags.iter().enumerate() {
                        let repetition = if tag_idx > 0 { 2 } else { repetition };
                        self.text(if tag.is_some() { 6 } else { 5 }, repetition);
                        self.texts.0.extend(tag.as_deref().map(text));
                    }
                }
            }
        }
    }
}

pub(crate) fn nested(groups: &[Vec<Items>], properties: WriterProperties) -> Vec<u8> {
    file(NESTED, properties, groups, |rows, group| {
        let ids: Vec<i64> = (0..rows.len() as i64).collect();
        column::<Int64Type>(group, &ids, None, None);
        let mut striped = StripedColumns::default();
        rows.iter().for_each(|items| striped.add(items));
        let (values, definitions, repetitions) = &striped.numbers;
        column::<Int64Type>(group, values, Some(definitions), Some(repetitions));
        let (values, definitions, repetitions) = &striped.texts;
        column::<ByteArrayType>(group, values, Some(definitions), Some(repetitions));
    })
}

fn as_json(items: &Items) -> Value {
    let Some(items) = items else {
        return Value::Null;
    };
    items
        .iter()
        .map(|item| match item {
            None => Value::Null,
            Some((number, tags)) => json!({"n": number, "tags": tags}),
        })
        .collect()
}

fn any_items() -> impl Strategy<Value = Items> {
    let tags = proptest::option::of(proptest::collection::vec(
        proptest::option::of("[a-cä]{0,3}"),
        0..4,
    ));
    let item = proptest::option::of((proptest::option::of(-3_i64..3), tags));
    proptest::option::of(proptest::collection::vec(item, 0..4))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn nested_columns_are_put_together_as_they_were(
        groups in proptest::collection::vec(proptest::collection::vec(any_items(), 1..30), 1..3),
        page_rows in 3_usize..40,
        is_v2 in any::<bool>(),
        has_dictionary in any::<bool>(),
        codec in 0_usize..6,
        max_records in proptest::option::of(0_usize..100),
    ) {
        let codec = [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(GzipLevel::default()),
            Compression::ZSTD(ZstdLevel::default()),
            Compression::LZ4_RAW,
            Compression::BROTLI(BrotliLevel::default()),
        ][codec];
        let properties = WriterProperties::builder()
            .set_compression(codec)
            .set_dictionary_enabled(has_dictionary)
            .set_writer_version(if is_v2 { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 })
            .set_data_page_row_count_limit(page_rows)
            .set_write_batch_size(page_rows)
            .build();
        let settings = ReadSettings { max_records, ..ReadSettings::default() };
        let found = records(RecordingSource::new(nested(&groups, properties)), &settings).expect("good");
        let expected: Vec<Value> = groups
            .iter()
            .flat_map(|rows| rows.iter().enumerate())
            .map(|(id, items)| json!({"id": id, "items": as_json(items)}))
            .take(max_records.unwrap_or(usize::MAX))
            .collect();
        let found: Vec<Value> = found.into_iter().map(Value::from).collect();
        prop_assert_eq!(found, expected);
    }
}

/// Four row groups of large rows that do not compress.
fn large() -> Vec<u8> {
    let schema = "message m { REQUIRED BYTE_ARRAY before (UTF8); REQUIRED INT64 id; REQUIRED BYTE_ARRAY context (UTF8); }";
    let mut state = 1_u64;
    let mut noise = |n: usize| -> String {
        (0..n)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                char::from(b' ' + ((state >> 33) % 90) as u8)
            })
            .collect()
    };
    let groups: Vec<Vec<String>> = (0..4)
        .map(|_| (0..1000).map(|_| noise(2000)).collect())
        .collect();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_data_page_size_limit(32 * 1024)
        .build();
    file(schema, properties, &groups, |texts, group| {
        let texts: Vec<ByteArray> = texts.iter().map(|noise| text(noise)).collect();
        let ids: Vec<i64> = (0..texts.len() as i64).collect();
        column::<ByteArrayType>(group, &texts, None, None);
        column::<Int64Type>(group, &ids, None, None);
        column::<ByteArrayType>(group, &texts, None, None);
    })
}

#[test]
fn only_what_is_needed_is_fetched() {
    let bytes = large();
    assert!(bytes.len() > 15_000_000);
    let fetch = |max_records: Option<usize>, columns: Option<&[&str]>| {
        let source = RecordingSource::new(bytes.clone());
        let settings = ReadSettings {
            max_records,
            columns: columns.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
            ..ReadSettings::default()
        };
        let found = records(Arc::<RecordingSource>::clone(&source), &settings).expect("good");
        let n_bytes: usize = source.reads().iter().map(|(_, len)| len).sum();
        (found, source.reads().len(), n_bytes)
    };
    let footer = 64 * 1024;
    let (found, n_reads, n_bytes) = fetch(Some(50), Some(&["id"]));
    assert_eq!(found.len(), 50);
    assert_eq!(Value::from(found[49].clone()), json!({"id": 49}));
    assert!(
        n_reads == 2 && n_bytes <= footer + 10_000,
        "{n_reads} reads, {n_bytes} bytes"
    );

    let (found, n_reads, n_bytes) = fetch(Some(50), None);
    assert_eq!(found.len(), 50);
    assert!(
        n_reads <= 4 && n_bytes < bytes.len() / 25,
        "{n_reads} reads, {n_bytes} bytes"
    );

    let (found, _, n_bytes) = fetch(None, Some(&["id", "absent"]));
    assert_eq!(found.len(), 4000);
    assert!(n_bytes < bytes.len() / 50, "{n_bytes} bytes");

    let (found, n_reads, n_bytes) = fetch(None, None);
    assert_eq!(found.len(), 4000);
    assert!(
        n_reads <= 5 && n_bytes <= bytes.len() + footer,
        "{n_reads} reads, {n_bytes} bytes"
    );

    let settings = ReadSettings {
        columns: Some(vec!["question".into()]),
        ..ReadSettings::default()
    };
    assert_eq!(
        records(RecordingSource::new(bytes), &settings),
        Err("no column `question` in `far/a.parquet`".into())
    );
}

/// One file says so itself; the first of several does not know about the others.
#[test]
fn how_many_records_there_are_is_known_without_reading_them() {
    let folder = crate::Folder::new();
    let bytes = large();
    for name in ["a.parquet", "b.parquet"] {
        folder.write(name, &bytes);
    }
    folder.write("c.jsonl", "{}\n");
    for (names, expected) in [
        (&["a.parquet"][..], Some(4000)),
        (&["a.parquet", "b.parquet"], None),
        (&["c.jsonl"], None),
    ] {
        let paths = names.iter().map(|name| folder.path(name)).collect();
        let set = RecordSet::of_files(paths, crate::first(3)).expect("files");
        assert_eq!(set.known_len(), expected, "{names:?}");
    }
}
