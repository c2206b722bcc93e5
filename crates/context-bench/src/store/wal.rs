//! The write-ahead log, looked at before SQLite opens it.
//!
//! SQLite takes a log up to its first frame that is not whole and forgets the
//! rest without a word. After a crash that is right: the rest was never
//! committed. Here is told when it was: a commit that stands behind a broken
//! frame, or a log whose head is broken.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

const HEAD: usize = 32;
const FRAME_HEAD: usize = 24;
const MAGIC: u32 = 0x377f_0682;

/// What is wrong with a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken {
    /// Frames that can be used.
    whole: u64,
    /// The length of the log.
    bytes: u64,
}

/// Looks for committed frames that SQLite will not read. A log that cannot be
/// read at all is SQLite's to complain about.
pub(super) fn broken(path: &Path) -> Option<Broken> {
    let file = File::open(path).ok()?;
    let bytes = file.metadata().ok()?.len();
    let mut log = BufReader::with_capacity(1 << 20, file);
    let mut head = [0; HEAD];
    log.read_exact(&mut head).ok()?;
    let Some(mut reader) = Frames::of(&head) else {
        return Some(Broken { whole: 0, bytes });
    };
    let mut whole = 0;
    let mut frame = vec![0; FRAME_HEAD + reader.page];
    loop {
        let n = read_up_to(&mut log, &mut frame).ok()?;
        if n < frame.len() {
            // A killed process may leave the head of a frame without its page, or
            // a page up to a boundary of the file system. Other lengths were cut.
            let natural = n == 0 || n == FRAME_HEAD || bytes.is_multiple_of(4096);
            return (!natural).then_some(Broken { whole, bytes });
        }
        if !reader.is_next(&frame) {
            break;
        }
        whole += 1;
    }
    // A whole commit behind the break, or the broken frame itself was to be one.
    loop {
        if reader.is_of_this_log(&frame) && Frames::is_commit(&frame) {
            return Some(Broken { whole, bytes });
        }
        if read_up_to(&mut log, &mut frame).ok()? < frame.len() {
            return None;
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn read_up_to(file: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut n = 0;
    while n < buffer.len() {
        match file.read(&mut buffer[n..])? {
            0 => break,
            more => n += more,
        }
    }
    Ok(n)
}

/// The frames of a log, checked one after the other as SQLite does.
struct Frames {
    page: usize,
    big_endian: bool,
    salt: [u8; 8],
    sums: (u32, u32),
}

impl Frames {
    /// `None` when the head is not what was written.
    fn of(head: &[u8; HEAD]) -> Option<Self> {
        let big_endian = match number(head, 0) {
            MAGIC => false,
            magic if magic == MAGIC + 1 => true,
            _ => return None,
        };
        let mut salt = [0; 8];
        salt.copy_from_slice(&head[16..24]);
        let frames = Self {
            page: usize::try_from(number(head, 8)).ok()?,
            big_endian,
            salt,
            sums: sum((0, 0), &head[..24], big_endian),
        };
        let sums = (number(head, 24), number(head, 28));
        let possible = frames.page.is_power_of_two() && (512..=65536).contains(&frames.page);
        (possible && frames.sums == sums).then_some(frames)
    }

    /// Whether this frame continues those before it.
    fn is_next(&mut self, frame: &[u8]) -> bool {
        let sums = sum(self.sums, &frame[..8], self.big_endian);
        let sums = sum(sums, &frame[FRAME_HEAD..], self.big_endian);
        let whole = self.is_of_this_log(frame) && sums == (number(frame, 16), number(frame, 20));
        if whole {
            self.sums = sums;
        }
        whole
    }

    /// Logs are written over from their beginning; older frames have another salt.
    fn is_of_this_log(&self, frame: &[u8]) -> bool {
        frame[8..16] == self.salt
    }

    fn is_commit(frame: &[u8]) -> bool {
        number(frame, 4) != 0
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..).and_then(|rest| rest.first_chunk());
    u32::from_be_bytes(four.copied().unwrap_or_default())
}

/// The running checksum of the log format.
fn sum(start: (u32, u32), bytes: &[u8], big_endian: bool) -> (u32, u32) {
    let word = |four: &[u8]| {
        let four = four.first_chunk().copied().unwrap_or_default();
        match big_endian {
            true => u32::from_be_bytes(four),
            false => u32::from_le_bytes(four),
        }
    };
    let (mut a, mut b) = start;
    for pair in bytes.chunks_exact(8) {
        a = a.wrapping_add(word(&pair[..4])).wrapping_add(b);
        b = b.wrapping_add(word(&pair[4..])).wrapping_add(a);
    }
    (a, b)
}
