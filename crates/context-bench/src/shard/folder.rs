//! The store of a shard that works: in a folder of its own, with what is new going out as segments
//! to the folder that all shards share.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use tempfile::TempDir;

use super::local_folder::unusable;
use super::shared_folder::{FolderError, LocalFile, SUFFIX, SegmentFile, SharedFolder};
use super::{Shard, unit_key};
use crate::store::{MergeSource, Run, SegmentRows, Store, StoreError, Wanted};

/// The store of a shard that works, and where its segments go.
pub struct ShardFolder {
    /// The store that the run writes; it is gone with this value.
    pub store: Store,
    /// Answers that were taken over from what is there.
    pub known: u64,
    /// What should be said about it.
    pub notes: Vec<String>,
    _scratch: TempDir,
    publisher: Arc<Publisher>,
    ticking: Option<JoinHandle<()>>,
}

impl ShardFolder {
    /// Opens a store for a shard in a scratch folder and takes over what is there for it: the
    /// answers of the merged store (in `base`, else in the folder) and of earlier segments.
    ///
    /// # Errors
    ///
    /// When the scratch store cannot be made, or the folder not be used.
    pub fn open(
        folder: &Arc<dyn SharedFolder>,
        (plan, shard): (&str, Shard),
        scratch: Option<&Path>,
        base: Option<&dyn SharedFolder>,
    ) -> Result<Self, FolderError> {
        let scratch = match scratch {
            Some(parent) => {
                fs::create_dir_all(parent).map_err(|error| unusable(parent, &error))?;
                TempDir::with_prefix_in("context-bench-shard-", parent)
            }
            None => TempDir::with_prefix("context-bench-shard-"),
        };
        let scratch = scratch.map_err(|error| unusable(&std::env::temp_dir(), &error))?;
        folder.prepare(plan, shard)?;
        let opened = Store::open(scratch.path().join("store"))?;
        let mut open = Self {
            publisher: Arc::new(Publisher {
                store: opened.store.clone(),
                scratch: scratch.path().to_owned(),
                folder: Arc::clone(folder),
                plan: plan.to_owned(),
                shard,
                state: Mutex::default(),
                ended: Condvar::new(),
            }),
            store: opened.store,
            known: 0,
            notes: opened.notes,
            _scratch: scratch,
            ticking: None,
        };
        let ours: Wanted = Arc::new(move |key, fields| shard.holds(unit_key(key, fields)));
        let base = base.unwrap_or(&**folder);
        if let Some(store) = base.fetch_store()? {
            open.take(&store, &base.address(), &ours)?;
        }
        let there = folder.segments(Some(plan))?;
        for segment in there.iter().filter(|one| one.shard.overlaps(shard)) {
            // A segment that is gone was just replaced by a larger one.
            if let Some(file) = folder.fetch(segment)? {
                open.take(&file, &segment.name(), &ours)?;
            }
        }
        open.store.note_new_rows()?;
        Ok(open)
    }

    /// Takes over answers. What cannot be read is asked for again.
    fn take(&mut self, file: &LocalFile, name: &str, ours: &Wanted) -> Result<(), StoreError> {
        match MergeSource::open(file.path()) {
            Ok(source) => {
                let taken = self.store.take_answers(source, Arc::clone(ours))?;
                self.known += taken.answers;
            }
            Err(error) if file.path().exists() => self.notes.push(format!(
                "{error}; what `{name}` holds is not reused by this shard"
            )),
            Err(_) => {}
        }
        Ok(())
    }

    /// Publishes what is new every so often, on a thread of its own, until the shard is
    /// [done](Self::finish).
    pub fn publish_every(&mut self, interval: Duration) {
        let publisher = Arc::clone(&self.publisher);
        let thread = std::thread::Builder::new().name("publish".into());
        let ticking = thread.spawn(move || publisher.tick(interval));
        // Without a thread everything is published at the end.
        self.ticking = ticking.ok();
    }

    /// Publishes the whole run in one segment, in place of those before it.
    ///
    /// # Errors
    ///
    /// When the segment cannot be written.
    pub fn finish(mut self) -> Result<(), FolderError> {
        self.publisher.state().is_over = true;
        self.publisher.ended.notify_all();
        if let Some(ticking) = self.ticking.take() {
            let _ = ticking.join();
        }
        let earlier = std::mem::take(&mut self.publisher.state().published);
        self.publisher.publish(SegmentRows::All)?;
        for segment in earlier {
            self.publisher.folder.withdraw(&segment);
        }
        Ok(())
    }
}

/// Writes segments; shared with the thread that does so now and then.
struct Publisher {
    store: Store,
    scratch: PathBuf,
    folder: Arc<dyn SharedFolder>,
    plan: String,
    shard: Shard,
    state: Mutex<PublishState>,
    ended: Condvar,
}

#[derive(Default)]
struct PublishState {
    is_over: bool,
    number: u32,
    published: Vec<SegmentFile>,
    /// Written, and not yet where others see it.
    waiting: Vec<(SegmentFile, PathBuf)>,
}

impl Publisher {
    fn state(&self) -> MutexGuard<'_, PublishState> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn tick(&self, interval: Duration) {
        let mut state = self.state();
        loop {
            let waited = self
                .ended
                .wait_timeout_while(state, interval, |state| !state.is_over);
            let (waiting, _) = waited.unwrap_or_else(|e| e.into_inner());
            if waiting.is_over {
                return;
            }
            drop(waiting);
            // What cannot be published now is tried again later.
            let _ = self.publish(SegmentRows::New);
            state = self.state();
        }
    }

    /// The run of the shard: the only one of its store that has rows of its own.
    fn run(&self) -> Result<Option<Run>, StoreError> {
        let last = self.store.runs()?.pop();
        Ok(last.map(|stored| stored.run))
    }

    fn publish(&self, rows: SegmentRows) -> Result<(), FolderError> {
        let Some(run) = self.run()? else {
            return Ok(());
        };
        let number = {
            let mut state = self.state();
            state.number += 1;
            state.number
        };
        let file = format!("{}-{number:06}{SUFFIX}", run.id());
        let written = self.scratch.join(&file);
        let n = self.store.write_segment(&run, rows, &written)?;
        let mut waiting = match rows {
            SegmentRows::New => std::mem::take(&mut self.state().waiting),
            // It has all of them.
            SegmentRows::All => Vec::new(),
        };
        if n > 0 || rows == SegmentRows::All {
            let segment = SegmentFile::new(&self.plan, self.shard, file);
            waiting.push((segment, written));
        }
        for at in 0..waiting.len() {
            let (segment, written) = &waiting[at];
            if let Err(error) = self.folder.publish(segment, written) {
                self.state().waiting = waiting.split_off(at);
                return Err(error);
            }
            let _ = fs::remove_file(written);
            self.state().published.push(segment.clone());
        }
        Ok(())
    }
}
