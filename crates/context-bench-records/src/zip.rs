//! Zip archives: their list of members, and members as streams.
//!
//! Read from the end through `ReadAt`, so that one member of a remote archive
//! can be read without the others. Sizes and checksums are verified, and a
//! member never yields more than its directory entry says.
//!
//! By hand, because the `zip` crate lends its members from an archive that it owns and
//! seeks in, while here members outlive the list, are read side by side, and a remote
//! archive costs one request for its end, one for the list and one for each member.

use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use context_bench_error::Place;

use crate::RecordError;
use crate::error::unreadable;
use crate::read_at::{RangeReader, ReadAt};

/// The end record is followed by a comment of at most 64 KiB.
const END_BYTES: u64 = 22;
const LONGEST_END: u64 = END_BYTES + 65_535;
const LOCATOR_BYTES: u64 = 20;

/// A list of members that is longer is taken for damaged or hostile.
const LONGEST_DIRECTORY: u64 = 64 * 1024 * 1024;

/// A file in an archive.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) name: String,
    method: u16,
    is_encrypted: bool,
    crc: u32,
    packed: u64,
    size: u64,
    header: u64,
}

/// The files of an archive in stored order, without folders.
pub(crate) fn members(archive: &dyn ReadAt, path: &Path) -> Result<Vec<Member>, RecordError> {
    let io = |error| unreadable(path, error);
    let bad = |problem: &str| RecordError::BadFile {
        problem: format!("not a valid zip archive: {problem}"),
        at: Place::path(path),
    };
    let len = archive.len().map_err(io)?;
    let tail_len = len.min(LONGEST_END);
    let tail_start = len - tail_len;
    let tail = archive.read_at(tail_start, tail_len as usize).map_err(io)?;
    let end = tail
        .windows(4)
        .rposition(|bytes| bytes == b"PK\x05\x06")
        .filter(|end| tail.len() - end >= END_BYTES as usize)
        .ok_or_else(|| bad("it has no list of members; it may be cut short"))?;
    let record = Fields(&tail[end..]);
    let (mut size, mut start) = (u64::from(record.u32(12)), u64::from(record.u32(16)));
    if start == u64::from(u32::MAX) || size == u64::from(u32::MAX) {
        (size, start) = large_end(archive, tail_start + end as u64)
            .map_err(io)?
            .ok_or_else(|| bad("the end of a large archive is damaged"))?;
    }
    if size > LONGEST_DIRECTORY || start.checked_add(size).is_none_or(|end| end > len) {
        return Err(bad("its list of members is damaged"));
    }
    let directory = archive.read_at(start, size as usize).map_err(io)?;
    let mut rest = &directory[..];
    let mut members = Vec::new();
    while !rest.is_empty() {
        let (member, after) = entry(rest).ok_or_else(|| bad("its list of members is damaged"))?;
        if !member.name.ends_with('/') {
            members.push(member);
        }
        rest = after;
    }
    Ok(members)
}

/// Size and start of the directory of an archive above 4 GiB.
fn large_end(archive: &dyn ReadAt, end: u64) -> io::Result<Option<(u64, u64)>> {
    let Some(locator) = end.checked_sub(LOCATOR_BYTES) else {
        return Ok(None);
    };
    let locator = archive.read_at(locator, LOCATOR_BYTES as usize)?;
    if !locator.starts_with(b"PK\x06\x07") {
        return Ok(None);
    }
    let record = archive.read_at(Fields(&locator).u64(8), 56)?;
    let is_valid = record.starts_with(b"PK\x06\x06");
    Ok(is_valid.then(|| (Fields(&record).u64(40), Fields(&record).u64(48))))
}

/// One entry of the directory and what follows it.
fn entry(bytes: &[u8]) -> Option<(Member, &[u8])> {
    let (fixed, rest) = bytes.split_at_checked(46)?;
    if !fixed.starts_with(b"PK\x01\x02") {
        return None;
    }
    let fields = Fields(fixed);
    let (name, rest) = rest.split_at_checked(fields.u16(28).into())?;
    let (mut extra, rest) = rest.split_at_checked(fields.u16(30).into())?;
    let (_comment, rest) = rest.split_at_checked(fields.u16(32).into())?;
    let mut sizes = [fields.u32(24), fields.u32(20), fields.u32(42)].map(u64::from);
    // Values that do not fit are in an extra field, in this order.
    while let Some((head, after)) = extra.split_at_checked(4) {
        let (mut body, after) = after.split_at_checked(Fields(head).u16(2).into())?;
        if Fields(head).u16(0) == 1 {
            for size in &mut sizes {
                if *size == u64::from(u32::MAX) {
                    let (value, others) = body.split_at_checked(8)?;
                    *size = Fields(value).u64(0);
                    body = others;
                }
            }
        }
        extra = after;
    }
    let [size, packed, header] = sizes;
    let member = Member {
        name: String::from_utf8_lossy(name).into_owned(),
        method: fields.u16(10),
        is_encrypted: fields.u16(8) & 1 == 1,
        crc: fields.u32(16),
        packed,
        size,
        header,
    };
    Some((member, rest))
}

impl Member {
    /// The bytes of the member, unpacked and verified while they are read.
    pub(crate) fn open(&self, archive: &Arc<dyn ReadAt>) -> io::Result<Box<dyn Read + Send>> {
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        if self.is_encrypted {
            return Err(damaged("the member is encrypted"));
        }
        let header = archive.read_at(self.header, 30)?;
        if !header.starts_with(b"PK\x03\x04") {
            return Err(damaged("the member is not where the archive says"));
        }
        let fields = Fields(&header);
        let start = self.header + 30 + u64::from(fields.u16(26)) + u64::from(fields.u16(28));
        let end = start
            .checked_add(self.packed)
            .filter(|end| archive.len().is_ok_and(|len| *end <= len))
            .ok_or_else(|| damaged("the archive ends inside the member"))?;
        let packed = RangeReader::new(Arc::clone(archive), start, end);
        let bytes: Box<dyn Read + Send> = match self.method {
            0 => Box::new(packed),
            8 => Box::new(flate2::read::DeflateDecoder::new(packed)),
            12 => Box::new(bzip2::read::BzDecoder::new(packed)),
            93 => Box::new(zstd::stream::read::Decoder::with_buffer(BufReader::new(
                packed,
            ))?),
            other => return Err(damaged(&format!("unknown packing method {other}"))),
        };
        Ok(Box::new(VerifiedReader {
            bytes,
            left: self.size,
            crc: flate2::Crc::new(),
            expected: self.crc,
        }))
    }
}

/// Passes bytes on and fails when there are too many, too few or other ones.
struct VerifiedReader {
    bytes: Box<dyn Read + Send>,
    left: u64,
    crc: flate2::Crc,
    expected: u32,
}

impl Read for VerifiedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.bytes.read(buffer)?;
        self.crc.update(&buffer[..n_bytes]);
        let damaged = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        let Some(left) = self.left.checked_sub(n_bytes as u64) else {
            return damaged("the member is larger than the archive says");
        };
        self.left = left;
        if n_bytes == 0 && !buffer.is_empty() {
            if self.left > 0 {
                return damaged("the member is shorter than the archive says");
            }
            if self.crc.sum() != self.expected {
                return damaged("the checksum of the member is wrong");
            }
        }
        Ok(n_bytes)
    }
}

/// Little-endian numbers at fixed places; 0 beyond the end.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        if let Some(found) = self.0.get(at..at + N) {
            bytes.copy_from_slice(found);
        }
        bytes
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.bytes(at))
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes(at))
    }
}
