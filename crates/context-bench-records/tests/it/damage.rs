//! Damaged Parquet files: an error or records, never a panic, never without end.

use context_bench_testkit::shared;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

use crate::parquet::{all, nested};

fn small_file(codec: Compression) -> Vec<u8> {
    let tags = Some(vec![Some("x".to_owned()), None, Some("yyyy".to_owned())]);
    let rows = vec![
        Some(vec![Some((Some(1), tags)), None, Some((None, None))]),
        None,
        Some(vec![]),
        Some(vec![Some((Some(2), Some(vec![])))]),
    ];
    let properties = WriterProperties::builder().set_compression(codec).build();
    let many = rows.iter().cycle().take(20).cloned().collect();
    nested(&[many, rows], properties)
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = small_file(Compression::SNAPPY);
    assert_eq!(all(bytes.clone()).expect("good").len(), 24);
    for len in 0..bytes.len() {
        assert!(all(bytes[..len].to_vec()).is_err(), "{len} bytes");
    }
}

#[test]
fn every_flipped_byte_is_survived() {
    for codec in [
        Compression::UNCOMPRESSED,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let bytes = small_file(codec);
        for at in 0..bytes.len() {
            for by in [0x01, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= by;
                if let Err(error) = all(damaged) {
                    assert!(error.contains("far/a.parquet"), "{error}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn real_files_with_flipped_bytes_are_survived(
        flips in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..8),
    ) {
        for name in ["ifeval", "qasper", "mmlu.all", "natural-questions"] {
            let Some(path) = shared::path(&format!("data/parquet/{name}.parquet")) else {
                return Ok(());
            };
            let mut bytes = std::fs::read(path).expect("readable");
            // Pages and the footer, which is more telling than text.
            let start = bytes.len() - bytes.len().min(20_000);
            let len = bytes.len() - start;
            for (idx, (at, by)) in flips.iter().enumerate() {
                let at = if idx % 2 == 0 { start + at.index(len) } else { at.index(bytes.len()) };
                bytes[at] ^= by;
            }
            let _ = all(bytes);
        }
    }
}
