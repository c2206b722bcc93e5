//! Numbers of examples, found in the order in which they were stored.
//!
//! A re-run asks for the same examples in nearly the same order. Reading the
//! neighbours of the first one, page after page, costs a fraction of as
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
/// How many of the wanted examples are tried as the place to start from.
const TRIES: usize = 8;

/// Where the examples of one look-up are.
pub(super) struct Neighbours {
    ids: HashMap<Key, i64, BuildHasherDefault<FirstBytes>>,
}

impl Neighbours {
    /// Reads what is stored near the first of the wanted examples, if they are many.
    pub(super) fn read(
        connection: &Connection,
        wanted: impl ExactSizeIterator<Item = Key>,
    ) -> rusqlite::Result<Self> {
        let n = wanted.len();
        let mut ids = HashMap::default();
        if n >= FEW
            && let Some(first) = first_known(connection, wanted)?
        {
            let after = first - SLACK as i64;
            let up_to = i64::try_from(n + 2 * SLACK).unwrap_or(i64::MAX);
            let mut statement = connection.prepare_cached(
                "SELECT id, key FROM examples WHERE id >= ?1 ORDER BY id LIMIT ?2",
            )?;
            ids.reserve(n + 2 * SLACK);
            let read = statement
                .query_map((after, up_to), |row| Ok((row.get(1)?, row.get(0)?)))?
                .try_for_each(|pair| {
                    let (key, id) = pair?;
                    ids.insert(key, id);
                    Ok(())
                });
            match read {
                // The index, or the row itself, will show what is broken.
                Err(error) if is_damage(&error) => ids.clear(),
                other => other?,
            }
        }
        Ok(Self { ids })
    }

    /// The number of an example.
    pub(super) fn find(&self, connection: &Connection, key: Key) -> rusqlite::Result<Option<i64>> {
        match self.ids.get(&key) {
            Some(id) => Ok(Some(*id)),
            None => probe(connection, key),
        }
    }
}

/// The number of the first of some examples that is stored.
fn first_known(
    connection: &Connection,
    wanted: impl Iterator<Item = Key>,
) -> rusqlite::Result<Option<i64>> {
    for key in wanted.take(TRIES) {
        match probe(connection, key) {
            Ok(None) => {}
            // The look-up itself will meet the damage and count it.
            Err(error) if is_damage(&error) => {}
            other => return other,
        }
    }
    Ok(None)
}

fn probe(connection: &Connection, key: Key) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT id FROM examples WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()
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
