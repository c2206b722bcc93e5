//! A hub that sends too much, too little, something else, or leads round in circles.

use std::path::Path;

use context_bench_testkit::hub::{FakeHub, FakeRepo, HubFault, Pages};
use context_bench_testkit::parquet;

use crate::program::{Done, arg, command};
use crate::siege::Siege;
use crate::templates::{limited, refused, survived};

const DATA: &str = "data/test-00000-of-00001.parquet";
/// What an endless body ends with: enough to be noticed on a disk.
const MUCH: u64 = 400_000_000;
/// What may be left on the disk by something that failed.
const LITTLE: u64 = 1_000_000;

pub(crate) fn attack(siege: &mut Siege) {
    endless(siege);
    pages(siege);
    for checksums in [true, false] {
        flipped_in_the_cache(siege, checksums);
        flipped_on_the_way(siege, checksums);
    }
    if siege.whole() {
        patience(siege);
    } else {
        siege.not_tried("bodies cut short and redirects without end: with their waits a minute");
    }
}

/// A hub with one dataset, a task about it, and a cache of its own.
struct Place {
    hub: FakeHub,
    folder: tempfile::TempDir,
}

impl Place {
    fn new(checksums: bool) -> Self {
        let file = file(checksums);
        let repo = FakeRepo::new("org/set").large(DATA, &file.bytes);
        let place = Self {
            hub: FakeHub::start([repo]),
            folder: tempfile::tempdir().unwrap(),
        };
        let task = "task: far\ndataset_path: org/set\ntest_split: test\n\
                    doc_to_text: \"{{question}}: {{answer}}\"\ndoc_to_target: a\n";
        std::fs::write(place.folder.path().join("far.yaml"), task).unwrap();
        place
    }

    fn run(&self, offline: bool) -> Done {
        let mut command = command();
        command.env("HF_ENDPOINT", self.hub.url());
        command.env("HF_HOME", self.folder.path().join("cache"));
        if offline {
            command.env("HF_HUB_OFFLINE", "1");
        }
        let task = self.folder.path().join("far.yaml");
        command.args(["render", "--output", "jsonl", "--tasks", arg(&task)]);
        limited(&command)
    }

    /// Bytes in the cache.
    fn stored(&self) -> u64 {
        stored(&self.folder.path().join("cache"))
    }

    /// The one file in the cache.
    fn blob(&self) -> std::path::PathBuf {
        let link = self
            .folder
            .path()
            .join("cache/hub/datasets--org--set/snapshots");
        let commit = std::fs::read_dir(link).unwrap().flatten().next().unwrap();
        std::fs::canonicalize(commit.path().join(DATA)).unwrap()
    }
}

fn stored(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.path().symlink_metadata() {
            Ok(there) if there.is_dir() => stored(&entry.path()),
            Ok(there) => there.len(),
            Err(_) => 0,
        })
        .sum()
}

fn file(checksums: bool) -> parquet::ParquetFile {
    let rows: Vec<Vec<String>> = (0..40)
        .map(|n| {
            vec![
                format!("what is number {n} of the list"),
                format!("it is the one with {} letters", n * 7),
            ]
        })
        .collect();
    parquet::texts(&["question", "answer"], &rows, checksums)
}

/// Refused, and nothing of it is kept.
fn refused_and_gone(place: &Place, done: &Done) -> Result<(), String> {
    refused(done)?;
    match place.stored() {
        0..LITTLE => Ok(()),
        much => Err(format!("{much} bytes are left in the cache")),
    }
}

/// The true rows, or an error.
fn true_or_refused(done: &Done, expected: &str) -> Result<(), String> {
    survived(done)?;
    match done.code == 0 && done.stdout != expected {
        true => Err(format!("other rows: {}", done.stdout)),
        false => Ok(()),
    }
}

fn endless(siege: &mut Siege) {
    for path in [DATA, "/revision/", "/tree/"] {
        let place = Place::new(false);
        place.hub.always(path, HubFault::Endless(MUCH));
        let done = place.run(false);
        siege.tried(
            format!("an endless body at {path}"),
            refused_and_gone(&place, &done),
        );
    }
    for more in [1, 1_000_000] {
        let place = Place::new(false);
        place.hub.always(DATA, HubFault::Longer(more));
        let done = place.run(false);
        siege.tried(
            format!("a body with {more} bytes more than listed"),
            refused_and_gone(&place, &done),
        );
    }
    for path in [DATA, "/tree/"] {
        let place = Place::new(false);
        let expected = place.run(false).stdout;
        assert!(expected.contains("number 39 of the list"), "{expected}");
        let place = Place::new(false);
        place.hub.always(path, HubFault::Encoded("gzip"));
        let done = place.run(false);
        siege.tried(
            format!("a body that is called compressed at {path}"),
            true_or_refused(&done, &expected),
        );
    }
}

fn pages(siege: &mut Siege) {
    for pages in [Pages::Same, Pages::Repeated, Pages::Empty, Pages::New] {
        let place = Place::new(false);
        place.hub.endless_pages(pages);
        let done = place.run(false);
        let held =
            refused_and_gone(&place, &done).and_then(|()| match place.hub.requests().len() {
                0..2000 => Ok(()),
                asked => Err(format!("{asked} requests")),
            });
        siege.tried(format!("a listing without end: {pages:?}"), held);
    }
}

/// A bit of a file in the cache flips between two runs.
fn flipped_in_the_cache(siege: &mut Siege, checksums: bool) {
    let place = Place::new(checksums);
    let expected = place.run(false);
    assert!(
        expected.code == 0 && expected.stdout.contains("number 39 of the list"),
        "{expected}"
    );
    let blob = place.blob();
    let whole = std::fs::read(&blob).unwrap();
    for turn in 0..siege.times(6, 300) {
        let (at, bit) = (siege.below(whole.len()), siege.below(8));
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << bit;
        std::fs::write(&blob, damaged).unwrap();
        let offline = turn % 2 == 0;
        let done = place.run(offline);
        let what = format!("bit {bit} of byte {at} in the cache (offline: {offline})");
        siege.tried(what, true_or_refused(&done, &expected.stdout));
        std::fs::write(&blob, &whole).unwrap();
    }
}

/// A bit flips on the way: once, or each time.
fn flipped_on_the_way(siege: &mut Siege, checksums: bool) {
    let expected = Place::new(checksums).run(false).stdout;
    assert!(expected.contains("number 39 of the list"), "{expected}");
    let len = file(checksums).bytes.len();
    for turn in 0..siege.times(2, 40) {
        let place = Place::new(checksums);
        let at = siege.below(len) as u64;
        let always = turn % 2 == 1;
        match always {
            true => place.hub.always(DATA, HubFault::Corrupt(at)),
            false => place.hub.fault(DATA, HubFault::Corrupt(at)),
        }
        let done = place.run(false);
        let held = match always {
            true => refused_and_gone(&place, &done),
            false => true_or_refused(&done, &expected),
        };
        siege.tried(
            format!("byte {at} arrives changed (always: {always})"),
            held,
        );
    }
}

/// What is tried again with pauses.
fn patience(siege: &mut Siege) {
    for (path, fault) in [
        (DATA, HubFault::CutAt(100)),
        (DATA, HubFault::Redirects),
        ("/revision/", HubFault::Redirects),
    ] {
        let place = Place::new(false);
        let what = format!("{fault:?} at {path}, each time");
        place.hub.always(path, fault);
        let done = place.run(false);
        siege.tried(what, refused_and_gone(&place, &done));
    }
}
