//! The cache of the index, one small file: the whole index for trees in which nothing has
//! changed, and the heads of files for those in which something has.
//!
//! A head is used only while its file has the same size and modification time. The
//! file carries a format number and checksums; anything unexpected means that the
//! tree is read again, never an error.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use super::head::{Head, Stamp};
use super::snapshot::Snapshot;

/// Format of the file; change it with the layout, and with what is read into a head.
const MAGIC: &[u8; 8] = b"cbtask\x00\x07";

/// Heads by path, with the stamp they were read at.
pub(crate) type Heads = HashMap<String, (Stamp, Head)>;

/// The cache that the last run wrote, not decoded yet.
#[derive(Debug, Default)]
pub(super) struct IndexCache {
    bytes: Vec<u8>,
}

impl IndexCache {
    pub(super) fn load(file: &Path) -> Self {
        Self {
            bytes: std::fs::read(file).unwrap_or_default(),
        }
    }

    /// Both parts, each behind its length and checksum.
    fn parts(&self) -> Option<(&[u8], &[u8])> {
        let rest = self.bytes.strip_prefix(MAGIC)?;
        let (n, rest) = rest.split_first_chunk::<8>()?;
        rest.split_at_checked(usize::try_from(u64::from_le_bytes(*n)).ok()?)
    }

    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        Snapshot::decode(sound(self.parts()?.0)?)
    }

    pub(super) fn heads(&self) -> Heads {
        let heads = self.parts().and_then(|(_, heads)| decode(sound(heads)?));
        heads.unwrap_or_default()
    }
}

/// The bytes behind a checksum, if they are those that were written.
fn sound(part: &[u8]) -> Option<&[u8]> {
    let (sum, body) = part.split_first_chunk::<8>()?;
    (checksum(body) == u64::from_le_bytes(*sum)).then_some(body)
}

fn put_part(out: &mut Vec<u8>, body: &[u8]) {
    out.extend(checksum(body).to_le_bytes());
    out.extend(body);
}

/// Writes a new file beside the old one and puts it in its place.
pub(super) fn store(file: &Path, heads: &Heads, snapshot: &Snapshot) -> std::io::Result<()> {
    let mut bytes = MAGIC.to_vec();
    let snapshot = snapshot.encode();
    bytes.extend((snapshot.len() as u64 + 8).to_le_bytes());
    put_part(&mut bytes, &snapshot);
    put_part(&mut bytes, &encode(heads));
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let fresh = file.with_extension(format!("{}.tmp", std::process::id()));
    let written = std::fs::File::create(&fresh)
        .and_then(|mut out| out.write_all(&bytes).and_then(|()| out.sync_all()))
        .and_then(|()| std::fs::rename(&fresh, file));
    if written.is_err() {
        // The old file still stands; the half-written one must not stay.
        let _ = std::fs::remove_file(&fresh);
    }
    written
}

/// FNV-1a over words of eight bytes, which finds damage; nobody is kept out by it.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| {
        step(hash, u64::from_le_bytes(*word))
    });
    let hash = rest
        .iter()
        .fold(hash, |hash, &byte| step(hash, u64::from(byte)));
    step(hash, bytes.len() as u64)
}

fn encode(heads: &Heads) -> Vec<u8> {
    let mut body = Vec::with_capacity(heads.len() * 96);
    let mut paths: Vec<&String> = heads.keys().collect();
    paths.sort_unstable();
    put_number(&mut body, paths.len() as u64);
    for path in paths {
        let (stamp, head) = &heads[path];
        put_text(&mut body, path);
        put_number(&mut body, stamp.size);
        put_number(&mut body, stamp.modified);
        put_option(&mut body, head.task.as_deref());
        put_option(&mut body, head.group.as_deref());
        body.push(u8::from(head.class));
        body.push(u8::from(head.dataset));
        match &head.tags {
            None => body.push(0),
            Some(tags) => {
                body.push(1);
                put_list(&mut body, tags);
            }
        }
        put_list(&mut body, &head.includes);
        put_option(&mut body, head.output_type.as_deref());
        put_list(&mut body, &head.unset);
        put_option(&mut body, head.problem.as_deref());
    }
    body
}

pub(super) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number as u8) | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend(text.as_bytes());
}

pub(super) fn put_option(out: &mut Vec<u8>, text: Option<&str>) {
    out.push(u8::from(text.is_some()));
    if let Some(text) = text {
        put_text(out, text);
    }
}

pub(super) fn put_list(out: &mut Vec<u8>, items: &[String]) {
    put_number(out, items.len() as u64);
    for item in items {
        put_text(out, item);
    }
}

fn decode(body: &[u8]) -> Option<Heads> {
    let mut reader = Reader { rest: body };
    let n = reader.number()?;
    let mut heads = Heads::with_capacity(usize::try_from(n).unwrap_or(0).min(body.len()));
    for _ in 0..n {
        let path = reader.text()?;
        let stamp = Stamp {
            size: reader.number()?,
            modified: reader.number()?,
        };
        let head = Head {
            task: reader.option()?,
            group: reader.option()?,
            class: reader.byte()? == 1,
            dataset: reader.byte()? == 1,
            tags: match reader.byte()? {
                0 => None,
                _ => Some(reader.list()?),
            },
            includes: reader.list()?,
            output_type: reader.option()?,
            unset: reader.list()?,
            problem: reader.option()?,
        };
        heads.insert(path, (stamp, head));
    }
    reader.rest.is_empty().then_some(heads)
}

/// Reads what the functions above wrote.
pub(super) struct Reader<'b> {
    pub(super) rest: &'b [u8],
}

impl Reader<'_> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn text(&mut self) -> Option<String> {
        let n = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    pub(super) fn option(&mut self) -> Option<Option<String>> {
        match self.byte()? {
            0 => Some(None),
            _ => self.text().map(Some),
        }
    }

    pub(super) fn list(&mut self) -> Option<Vec<String>> {
        self.many(Self::text)
    }

    /// A number, and so many things.
    pub(super) fn many<T>(&mut self, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let n = self.number()?;
        // Whatever the number says, there are no more things than bytes.
        let n = usize::try_from(n).ok().filter(|n| *n <= self.rest.len())?;
        let mut items = Vec::with_capacity(n);
        for _ in 0..n {
            items.push(one(self)?);
        }
        Some(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads() -> Heads {
        let stamp = Stamp {
            size: 300,
            modified: u64::MAX,
        };
        let full = Head {
            task: Some("té".into()),
            group: None,
            class: true,
            dataset: true,
            tags: Some(vec!["a".into(), String::new()]),
            includes: vec!["../x".into()],
            output_type: Some("multiple_choice".into()),
            unset: vec!["group".into()],
            problem: Some("no".into()),
        };
        [("a.yaml", full), ("b.yaml", Head::default())]
            .map(|(path, head)| (path.into(), (stamp, head)))
            .into()
    }

    #[test]
    fn what_is_written_is_read_and_damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/index.bin");
        let snapshot = Snapshot {
            key: 7,
            ..Snapshot::default()
        };
        store(&file, &heads(), &snapshot).unwrap();
        let kept = IndexCache::load(&file);
        assert_eq!(kept.heads(), heads());
        assert_eq!(kept.snapshot().map(|snapshot| snapshot.key), Some(7));
        for i in 0..kept.bytes.len() {
            let mut damaged = kept.bytes.clone();
            damaged[i] ^= 1;
            let cut = kept.bytes[..i].to_vec();
            for bytes in [damaged, cut] {
                let kept = IndexCache { bytes };
                let both = (kept.snapshot().is_some(), !kept.heads().is_empty());
                assert_ne!(both, (true, true), "byte {i}");
            }
        }
        assert_eq!(
            std::fs::read_dir(folder.path().join("deep"))
                .unwrap()
                .count(),
            1
        );
    }
}
