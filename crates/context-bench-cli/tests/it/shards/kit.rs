//! What the tests of shards share: chances that come out the same every time, segments that are
//! looked at while shards run, and the content of a store.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use context_bench_testkit::Request;

use super::segments;

/// Numbers that look random and are the same in every run of a test.
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).unwrap()
    }

    /// These in another order.
    pub(super) fn shuffled<T>(&mut self, mut all: Vec<T>) -> Vec<T> {
        for at in (1..all.len()).rev() {
            all.swap(at, self.below(at + 1));
        }
        all
    }
}

/// The number in a question such as `Number 7: …`.
pub(super) fn number_in(request: &Request) -> usize {
    let asked = request.last_user_content();
    let digits = asked.split("Number ").nth(1).unwrap_or_default();
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}

/// An answer that the question decides, right or wrong, short or long.
pub(super) fn decided_answer(request: &Request) -> String {
    match number_in(request) {
        n if n % 3 == 0 => "Paris".into(),
        n if n % 3 == 1 => format!("It is Paris, city number {n} of {}", n * 7),
        n => "Rome ".repeat(1 + n % 5),
    }
}

/// Answers that segments of a folder have, each once. Segments never change, so each is read once.
#[derive(Default)]
pub(super) struct Published {
    read: HashMap<PathBuf, usize>,
    keys: HashSet<String>,
}

impl Published {
    /// How many there are now.
    pub(super) fn count(&mut self, dir: &Path) -> usize {
        for path in segments(dir) {
            if self.read.contains_key(&path) {
                continue;
            }
            let Ok(keys) = answers_of(&path) else {
                // Its shard has just replaced it.
                continue;
            };
            self.read.insert(path, keys.len());
            self.keys.extend(keys);
        }
        self.keys.len()
    }
}

fn answers_of(path: &Path) -> rusqlite::Result<Vec<String>> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let store = rusqlite::Connection::open_with_flags(path, flags)?;
    let mut statement = store.prepare(
        "SELECT hex(e.key) || r.system || '/' || r.repeat FROM responses r
         JOIN examples e ON e.id = r.example",
    )?;
    let found = statement.query_map((), |row| row.get(0))?;
    found.collect()
}

/// Everything that a merged store says, whatever numbers it has for it.
pub(super) fn content(dir: &Path) -> Vec<String> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let store = rusqlite::Connection::open_with_flags(dir.join("store.sqlite"), flags).unwrap();
    let mut all = Vec::new();
    for query in [
        "SELECT hex(key) || checksum FROM examples",
        "SELECT hex(key) || name || settings FROM systems",
        "SELECT hex(key) || settings FROM scorers",
        "SELECT hex(e.key) || hex(s.key) || r.repeat || '/' || r.checksum || r.output_checksum
         FROM responses r JOIN examples e ON e.id = r.example JOIN systems s ON s.id = r.system",
        "SELECT hex(e.key) || hex(s.key) || r.repeat || hex(k.key) || c.checksum FROM scores c
         JOIN responses r ON r.id = c.response JOIN examples e ON e.id = r.example
         JOIN systems s ON s.id = r.system JOIN scorers k ON k.id = c.scorer",
        "SELECT r.id || '/' || w.system || '/' || w.position || '/' || w.repeat || '/' || w.checksum
         FROM run_rows w JOIN runs r ON r.number = w.run",
        "SELECT r.id || '/' || f.system || '/' || f.position || '/' || f.attempted_at
         FROM failures f JOIN runs r ON r.number = f.run",
        "SELECT id || '/' || checksum FROM runs",
        "SELECT plan || run || checksum FROM shards",
        "SELECT hex(example) || hex(system) || repeat || '/' || output_checksum || created_at
         FROM conflicts",
    ] {
        let mut statement = store.prepare(query).unwrap();
        let found = statement.query_map((), |row| row.get::<_, String>(0));
        let mut found: Vec<String> = found.unwrap().map(Result::unwrap).collect();
        found.sort();
        all.push(format!("{query}: {}", found.len()));
        all.extend(found);
    }
    all
}
