//! `KeptIngests`: what memories took in, kept from run to run.
//!
//! Taking in a conversation may cost more than all questions about it. A memory that can
//! save its state has it kept here as a file, found by the settings of the memory and the
//! content of the conversation, so that nothing stale is ever loaded.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::History;
use crate::model::Identity;

/// The name of the folder inside that of a run store.
pub(super) const FOLDER: &str = "ingests";

/// Raised whenever the files are written differently.
const VERSION: u32 = 1;

/// States of memories in a folder.
#[derive(Debug, Clone)]
pub struct KeptIngests {
    folder: PathBuf,
}

/// What taking in a conversation took, as rows and files have it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IngestFigures {
    /// Seconds inside the memory.
    pub seconds: f64,
    /// Tokens of the history.
    pub tokens: u64,
    /// Requests that were sent for it, retries included.
    #[serde(skip_serializing_if = "is_zero")]
    pub requests: u32,
    /// The usage that endpoints reported, summed up.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub usage: Value,
    /// Anything else that the memory said about it.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl KeptIngests {
    /// The states in the folder of a run store.
    pub fn beside(store: &Path) -> Self {
        Self {
            folder: store.join(FOLDER),
        }
    }

    fn file(&self, memory: &Identity, history: &History) -> PathBuf {
        let key = json!([VERSION, memory.to_json(), history.digest]);
        let name = crate::digest::hex(key.to_string().as_bytes());
        self.folder.join(format!("{name}.state"))
    }

    /// What was kept of a conversation, and what it had cost; `None` when nothing is there
    /// or it cannot be read: it is then taken in again.
    pub(super) async fn load(
        &self,
        memory: &Arc<Identity>,
        history: &Arc<History>,
    ) -> Option<(IngestFigures, Vec<u8>)> {
        let (this, memory, history) = (self.clone(), Arc::clone(memory), Arc::clone(history));
        // States may be large, and disks slow: not on the threads that serve requests.
        let read = tokio::task::spawn_blocking(move || this.read(&memory, &history));
        read.await.ok()?
    }

    /// Keeps the state of a conversation. A full disk costs another ingest some day, and
    /// nothing now.
    pub(super) async fn keep(
        &self,
        memory: Arc<Identity>,
        history: &Arc<History>,
        figures: IngestFigures,
        state: Vec<u8>,
    ) {
        let (this, history) = (self.clone(), Arc::clone(history));
        let write = move || this.write(&memory, &history, &figures, &state);
        let _ = tokio::task::spawn_blocking(write).await;
    }

    fn read(&self, memory: &Identity, history: &History) -> Option<(IngestFigures, Vec<u8>)> {
        let bytes = std::fs::read(self.file(memory, history)).ok()?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let (head, state) = (&bytes[..end], &bytes[end + 1..]);
        let Head { digest, figures } = serde_json::from_slice(head).ok()?;
        // A file that a full disk cut short, or that was damaged.
        (digest == crate::digest::hex(state)).then(|| (figures, state.to_vec()))
    }

    /// The file appears whole or not at all.
    fn write(
        &self,
        memory: &Identity,
        history: &History,
        figures: &IngestFigures,
        state: &[u8],
    ) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let head = Head {
            digest: crate::digest::hex(state),
            figures: figures.clone(),
        };
        let file = self.file(memory, history);
        // Processes that share the folder must not write into each other's file, nor memories
        // of one run that save the same.
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let part = file.with_extension(format!("part-{}-{number}", std::process::id()));
        let written = std::fs::File::create(&part).and_then(|mut out| {
            serde_json::to_writer(&mut out, &head)?;
            out.write_all(b"\n")?;
            out.write_all(state)?;
            out.sync_all()
        });
        let kept = written.and_then(|()| std::fs::rename(&part, &file));
        if kept.is_err() {
            let _ = std::fs::remove_file(&part);
        }
        kept
    }
}

#[derive(Serialize, Deserialize)]
struct Head {
    digest: String,
    figures: IngestFigures,
}

#[cfg(test)]
mod tests {
    use context_bench_memory::{Conversation, Session, Turn};

    use super::*;

    fn history(text: &str) -> History {
        let session = Session {
            id: "s".into(),
            time: None,
            turns: vec![Turn::new("1", "user", text)],
        };
        let conversation = Conversation {
            id: "c".into(),
            sessions: vec![session],
        };
        History::new(conversation, 1)
    }

    #[test]
    fn a_state_is_found_by_memory_and_content_and_never_when_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptIngests::beside(folder.path());
        let memory = |k: u32| Identity::new("bm25", 1, json!({"k": k}));
        let figures = IngestFigures {
            seconds: 1.5,
            tokens: 7,
            ..IngestFigures::default()
        };
        let state = b"two\nlines".to_vec();
        let (one, other) = (history("one"), history("other"));
        assert_eq!(kept.read(&memory(1), &one), None);
        kept.write(&memory(1), &one, &figures, &state).unwrap();
        assert_eq!(kept.read(&memory(1), &one), Some((figures, state)));
        assert_eq!(kept.read(&memory(2), &one), None);
        assert_eq!(kept.read(&memory(1), &other), None);
        let file = kept.file(&memory(1), &one);
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(kept.read(&memory(1), &one), None);
        std::fs::write(&file, b"").unwrap();
        assert_eq!(kept.read(&memory(1), &one), None);
        let left: Vec<_> = std::fs::read_dir(folder.path().join(FOLDER))
            .unwrap()
            .collect();
        assert_eq!(left.len(), 1, "no parts are left");
    }
}
