//! However bytes are cut into chunks on their way, the records are the same.

use std::io::{self, Read};
use std::path::Path;

use context_bench_records::{ReadSettings, Source};
use proptest::prelude::*;

use crate::formats::gzip;

/// Gives bytes in chunks of the given sizes, over and over.
struct Chunks {
    bytes: Vec<u8>,
    at: usize,
    sizes: Vec<usize>,
    n_reads: usize,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes[self.n_reads % self.sizes.len()];
        self.n_reads += 1;
        let n_bytes = size.min(buffer.len()).min(self.bytes.len() - self.at);
        buffer[..n_bytes].copy_from_slice(&self.bytes[self.at..self.at + n_bytes]);
        self.at += n_bytes;
        Ok(n_bytes)
    }
}

/// Records with their places, or errors, as text.
fn read(name: &str, bytes: &[u8], sizes: Vec<usize>) -> Vec<String> {
    let chunks = Chunks {
        bytes: bytes.to_vec(),
        at: 0,
        sizes,
        n_reads: 0,
    };
    let mut source = Source::from_reader(Path::new(name), chunks).expect("a known name");
    let mut records = match source.records(&ReadSettings::default()) {
        Ok(records) => records,
        Err(error) => return vec![error.to_string()],
    };
    let mut found = Vec::new();
    while let Some(record) = records.read_next() {
        match record {
            Ok(record) => found.push(format!("{:?} {:?}", record.position, record.record)),
            Err(error) => {
                let is_last = !error.is_about_one_record();
                found.push(error.to_string());
                if is_last {
                    break;
                }
            }
        }
    }
    found
}

const PIECES: [&str; 14] = [
    "{\"a\":\"ä€😀\"}",
    "{\"a\":[1,{\"b\":\"}\\\"\"}]}",
    "\n",
    "\r\n",
    "\n\n",
    " ",
    ",",
    "[",
    "]",
    "\u{feff}",
    "{\"a\":",
    "\"x,y\"",
    "a,b",
    "5",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn chunk_boundaries_do_not_matter(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES.to_vec()), 0..20),
        sizes in proptest::collection::vec(1_usize..40, 1..6),
    ) {
        let text = pieces.concat();
        for name in ["a.jsonl", "a.csv"] {
            let whole = read(name, text.as_bytes(), vec![usize::MAX]);
            prop_assert_eq!(&read(name, text.as_bytes(), sizes.clone()), &whole, "{}", name);
            let (packed, name) = (gzip(text.as_bytes()), format!("{name}.gz"));
            let whole = read(&name, &packed, vec![usize::MAX]);
            prop_assert_eq!(&read(&name, &packed, sizes.clone()), &whole);
        }
        // Whether `.json` is really lines is seen in the first chunk only, which
        // changes how positions count. Behind a list it cannot be.
        let list = format!("[{text}");
        let whole = read("a.json", list.as_bytes(), vec![usize::MAX]);
        prop_assert_eq!(&read("a.json", list.as_bytes(), sizes), &whole);
    }
}

#[test]
fn a_line_of_ten_megabytes_is_a_record() {
    let text = format!("{{\"a\":\"{}\"}}\n{{\"a\":1}}\n", "wörd ".repeat(2_000_000));
    assert!(text.len() > 10_000_000);
    assert_eq!(read("a.jsonl", text.as_bytes(), vec![8191]).len(), 2);
    assert_eq!(read("a.json", text.as_bytes(), vec![8191]).len(), 2);
}

#[test]
fn bytes_that_are_not_text_are_reported_with_their_place() {
    let found = read(
        "a.jsonl",
        b"{}\n{\"a\":\"\xff\"}\n{\"b\":1}",
        vec![usize::MAX],
    );
    assert_eq!(found[1], "not valid UTF-8: byte 0xff\n  at a.jsonl:2:7");
    assert_eq!(found.len(), 3, "what follows is still read");
}
