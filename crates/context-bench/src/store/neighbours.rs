//! Numbers of examples, found in the order in which they were stored.
//!
//! A re-run asks for the same examples in nearly the same order. Reading the
//! neighbours of what was found last, page after page, costs a fraction of as
//! many probes all over the index of keys. What is not among the neighbours is
//! still looked up there, so this only ever saves time.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use rusqlite::{Connection, OptionalExtension as _};

use super::error::is_damage;
use super::key::Key;

/// How far workers that overtake each other mix up the order.
const SLACK: usize = 512;
/// Fewer wanted examples than this are not worth reading neighbours for.
const FEW: usize = 64;

/// What a reader knows about where examples are.
#[derive(Default)]
pub(super) struct Neighbours {
    /// The last example that was found.
    last: Option<i64>,
    ids: HashMap<Key, i64, BuildHasherDefault<FirstBytes>>,
}

impl Neighbours {
    /// Reads what is stored near the last find, if many are wanted.
    pub(super) fn read(&mut self, connection: &Connection, wanted: usize) -> rusqlite::Result<()> {
        self.ids.clear();
        let Some(last) = self.last.filter(|_| wanted >= FEW) else {
            return Ok(());
        };
        let after = last - SLACK as i64;
        let up_to = i64::try_from(wanted + 2 * SLACK).unwrap_or(i64::MAX);
        let mut statement = connection
            .prepare_cached("SELECT id, key FROM examples WHERE id > ?1 ORDER BY id LIMIT ?2")?;
        let read = statement
            .query_map((after, up_to), |row| Ok((row.get(1)?, row.get(0)?)))?
            .try_for_each(|pair| {
                let (key, id) = pair?;
                self.ids.insert(key, id);
                Ok(())
            });
        match read {
            // The index, or the row itself, will show what is broken.
            Err(error) if is_damage(&error) => {
                self.ids.clear();
                Ok(())
            }
            other => other,
        }
    }

    /// The number of an example.
    pub(super) fn find(
        &mut self,
        connection: &Connection,
        key: Key,
    ) -> rusqlite::Result<Option<i64>> {
        let id = match self.ids.get(&key) {
            Some(id) => Some(*id),
            None => connection
                .prepare_cached("SELECT id FROM examples WHERE key = ?1")?
                .query_row([key], |row| row.get(0))
                .optional()?,
        };
        self.last = id.or(self.last);
        Ok(id)
    }

    /// Forgets what was read; the store may change.
    pub(super) fn done(&mut self, found_any: bool) {
        self.ids.clear();
        if !found_any {
            self.last = None;
        }
    }
}

/// Keys are digests: their first bytes are as good as any hash.
#[derive(Default)]
pub(super) struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_ne_bytes(*first);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
