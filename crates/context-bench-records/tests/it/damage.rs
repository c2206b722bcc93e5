//! Damaged Parquet files: an error or records, never a panic, never without end.

use context_bench_testkit::{needs_shared, parquet as testkit_parquet, shared};
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

/// With checksums no bit of a page can change unnoticed; without them a changed letter
/// is a letter like any other.
#[test]
fn checksums_of_pages_tell_every_flipped_bit() {
    let rows: Vec<Vec<String>> = (0..20)
        .map(|n| vec![format!("question {n}"), format!("the answer to {n}")])
        .collect();
    for checksums in [true, false] {
        let file = testkit_parquet::texts(&["question", "answer"], &rows, checksums);
        let whole = all(file.bytes.clone()).expect("good");
        assert_eq!(whole.len(), 20);
        assert_eq!(whole[3]["answer"], "the answer to 3");
        let mut changed = 0;
        for at in file.pages.iter().cloned().flatten() {
            for bit in 0..8 {
                let mut damaged = file.bytes.clone();
                damaged[at] ^= 1 << bit;
                match all(damaged) {
                    Err(error) if checksums => {
                        assert!(error.contains("checksum"), "{error}");
                    }
                    Err(_) => {}
                    Ok(read) => changed += usize::from(read != whole),
                }
            }
        }
        assert_eq!(
            changed == 0,
            checksums,
            "{changed} changes were not noticed"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]
    #[needs_shared("data/parquet")]
    #[test]
    fn real_files_with_flipped_bytes_are_survived(
        flips in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..8),
    ) {
        for name in ["ifeval", "qasper", "mmlu.all", "natural-questions"] {
            let path = shared::path(&format!("data/parquet/{name}.parquet"));
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
