//! [`BodyRecorder`]: keeps a copy of a body while it passes, short ones in memory and long
//! ones in a file without a name, so that memory stays bounded whatever is sent.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use sha2::{Digest as _, Sha256};

use super::scrub::Scrubber;
use super::scrub_stream::StreamScrubber;
use crate::hex::hex;

/// A body of more bytes goes to a file.
const IN_MEMORY: usize = 1024 * 1024;

/// How much memory all bodies together may take.
#[derive(Debug)]
pub(crate) struct BodyBudget {
    taken: AtomicUsize,
    limit: usize,
}

impl BodyBudget {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            taken: AtomicUsize::new(0),
            limit,
        })
    }

    fn take(&self, bytes: usize) -> bool {
        let has_room = self.taken.fetch_add(bytes, Relaxed) + bytes <= self.limit;
        if !has_room {
            self.give(bytes);
        }
        has_room
    }

    fn give(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Relaxed);
    }
}

/// Where the copy of a body is.
#[derive(Debug)]
pub(crate) enum BodyContent {
    /// As it was on the wire.
    Memory(HeldBytes),
    /// In a file, without secrets.
    Spilled { file: File, is_scrubbed: bool },
    /// Nowhere: there was no room for it.
    LeftOut,
}

/// Bytes of a body in memory, which give their share of the budget back once they are dropped.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    pub(crate) bytes: Vec<u8>,
    budget: Arc<BodyBudget>,
}

impl HeldBytes {
    /// The bytes, which from now on count for nothing: they are about to go.
    pub(crate) fn take(mut self) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.bytes);
        self.budget.give(bytes.len());
        bytes
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.budget.give(self.bytes.len());
    }
}

/// Copies a body while it passes.
#[derive(Debug)]
pub(crate) struct BodyRecorder {
    /// Of what has left the memory. What is in memory to the end is hashed by the recorder, if
    /// anybody wants that.
    hash: Option<Box<Sha256>>,
    length: u64,
    held: HeldBytes,
    spill: Option<Box<Spill>>,
    is_left_out: bool,
    /// Whether the bytes are encoded: secrets in them cannot be seen, so they go to no file.
    is_encoded: bool,
}

#[derive(Debug)]
struct Spill {
    file: File,
    stream: StreamScrubber,
}

impl BodyRecorder {
    pub(crate) fn new(budget: &Arc<BodyBudget>, is_encoded: bool) -> Self {
        Self {
            hash: None,
            length: 0,
            held: HeldBytes {
                bytes: Vec::new(),
                budget: Arc::clone(budget),
            },
            spill: None,
            is_left_out: false,
            is_encoded,
        }
    }

    /// How many bytes have passed.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Takes the next piece. A full disk costs the copy, never the call.
    pub(crate) fn feed(&mut self, bytes: &[u8], scrubber: &Arc<Scrubber>) {
        self.length += bytes.len() as u64;
        if let Some(hash) = &mut self.hash {
            hash.update(bytes);
        }
        if self.is_left_out {
            return;
        }
        if let Some(spill) = &mut self.spill {
            let safe = spill.stream.feed(bytes);
            self.is_left_out = spill.file.write_all(&safe).is_err();
            return;
        }
        let fits = self.held.bytes.len() + bytes.len() <= IN_MEMORY;
        if fits && self.held.budget.take(bytes.len()) {
            self.held.bytes.extend_from_slice(bytes);
            return;
        }
        let held = std::mem::take(&mut self.held.bytes);
        self.held.budget.give(held.len());
        let mut hash = Sha256::new();
        hash.update(&held);
        hash.update(bytes);
        self.hash = Some(Box::new(hash));
        self.is_left_out = self.is_encoded || self.spill([&held, bytes], scrubber).is_err();
    }

    /// Goes on in a file.
    fn spill(&mut self, pieces: [&[u8]; 2], scrubber: &Arc<Scrubber>) -> io::Result<()> {
        let mut spill = Spill {
            file: tempfile::tempfile()?,
            stream: StreamScrubber::new(Arc::clone(scrubber)),
        };
        for piece in pieces {
            let safe = spill.stream.feed(piece);
            spill.file.write_all(&safe)?;
        }
        self.spill = Some(Box::new(spill));
        Ok(())
    }

    /// The body once it has passed.
    pub(crate) fn finish(mut self) -> RecordedBody {
        let content = match (self.is_left_out, self.spill.take()) {
            (true, _) => BodyContent::LeftOut,
            (false, None) => BodyContent::Memory(self.held),
            (false, Some(mut spill)) => {
                let rest = spill.stream.finish();
                let written = spill
                    .file
                    .write_all(&rest)
                    .and_then(|()| spill.file.rewind());
                match written {
                    Ok(()) => BodyContent::Spilled {
                        file: spill.file,
                        is_scrubbed: spill.stream.has_scrubbed,
                    },
                    Err(_) => BodyContent::LeftOut,
                }
            }
        };
        RecordedBody {
            hash: self.hash,
            length: self.length,
            content,
        }
    }
}

/// A body that has passed.
#[derive(Debug)]
pub(crate) struct RecordedBody {
    /// Of what has left the memory.
    hash: Option<Box<Sha256>>,
    pub(crate) length: u64,
    pub(crate) content: BodyContent,
}

impl RecordedBody {
    /// Of the bytes on the wire.
    pub(crate) fn digest(&self) -> String {
        let digest = match (&self.content, &self.hash) {
            (BodyContent::Memory(held), _) => Sha256::digest(&held.bytes),
            (_, Some(hash)) => Sha256::clone(hash).finalize(),
            (_, None) => Sha256::digest([]),
        };
        format!("sha256:{}", hex(digest))
    }

    /// How many bytes it counts for while it waits. An open file counts for what it would
    /// take in memory, since there is a limit to them too.
    pub(crate) fn weight(&self) -> usize {
        match &self.content {
            BodyContent::Memory(held) => held.bytes.len(),
            BodyContent::Spilled { .. } => IN_MEMORY,
            BodyContent::LeftOut => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn record(pieces: &[&[u8]], limit: usize, is_encoded: bool) -> RecordedBody {
        let budget = BodyBudget::new(limit);
        let scrubber = Arc::new(Scrubber::new(["own-secret"]));
        let mut recorder = BodyRecorder::new(&budget, is_encoded);
        let pieces = pieces.iter();
        pieces.for_each(|piece| recorder.feed(piece, &scrubber));
        let body = recorder.finish();
        let in_memory = match &body.content {
            BodyContent::Memory(held) => held.bytes.len(),
            _ => 0,
        };
        assert_eq!(budget.taken.load(Relaxed), in_memory);
        body
    }

    #[test]
    fn short_bodies_stay_in_memory() {
        let body = record(&[b"ab", b"c"], 100, false);
        assert!(matches!(&body.content, BodyContent::Memory(held) if held.bytes == b"abc"));
        let expected = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((body.digest().as_str(), body.length), (expected, 3));
    }

    #[test]
    fn long_bodies_go_to_a_file_without_secrets() {
        let piece = "x own-secret ".repeat(1000);
        let pieces = vec![piece.as_bytes(); 100];
        for (limit, pieces) in [(usize::MAX, &pieces[..]), (20_000, &pieces[..2])] {
            let body = record(pieces, limit, false);
            assert_eq!(body.length, (piece.len() * pieces.len()) as u64);
            let digest = body.digest();
            let BodyContent::Spilled {
                mut file,
                is_scrubbed,
            } = body.content
            else {
                panic!("{:?}", body.content);
            };
            assert!(is_scrubbed);
            let whole = pieces.concat();
            assert_eq!(digest, format!("sha256:{}", hex(Sha256::digest(whole))));
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, "x <redacted:credential> ".repeat(1000 * pieces.len()));
        }
    }

    #[test]
    fn encoded_bytes_go_to_no_file() {
        let bytes = vec![b'x'; 2 * IN_MEMORY];
        let (first, second) = bytes.split_at(1000);
        let body = record(&[first, second], usize::MAX, true);
        assert!(matches!(body.content, BodyContent::LeftOut));
        let expected = format!("sha256:{}", hex(Sha256::digest(&bytes)));
        assert_eq!(body.digest(), expected);
        assert_eq!(body.length, 2 * IN_MEMORY as u64);
    }
}
