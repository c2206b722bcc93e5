//! [`ProxyLog`]: what a proxy writes, kept in a file without secrets; the last lines are also
//! kept for messages.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::chat::Secrets;
use crate::mask::Mask;

/// Lines that messages show.
const MAX_LINES: usize = 20;
/// The longest line; the rest of a longer one is the next line.
const MAX_LINE: u64 = 16 * 1024;
/// How much of a line messages show.
const SHOWN: usize = 400;
/// The largest file; what comes after is not kept.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// How long the last words of a proxy that has ended are waited for.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What a proxy writes.
#[derive(Debug)]
pub(super) struct ProxyLog {
    shared: Arc<Mutex<Kept>>,
    readers: Vec<JoinHandle<()>>,
    path: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct Kept {
    last: VecDeque<String>,
    file: Option<File>,
    written: u64,
}

impl ProxyLog {
    /// Reads these streams to their end, on threads of their own. Where the file cannot be
    /// written, only the last lines are kept.
    pub(super) fn of(
        streams: Vec<Box<dyn Read + Send>>,
        path: Option<&Path>,
        secrets: &Secrets,
    ) -> Self {
        let file = path.and_then(|path| {
            std::fs::create_dir_all(path.parent()?).ok()?;
            File::create(path).ok()
        });
        let path = file.as_ref().and(path).map(Path::to_owned);
        let shared = Arc::new(Mutex::new(Kept {
            file,
            ..Kept::default()
        }));
        let readers = streams.into_iter().map(|stream| {
            let (shared, secrets) = (Arc::clone(&shared), secrets.clone());
            std::thread::spawn(move || read(stream, &shared, &secrets))
        });
        Self {
            readers: readers.collect(),
            shared,
            path,
        }
    }

    /// The file that it is kept in.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The last lines, all of them if the proxy has ended.
    pub(super) fn tail(&self, has_ended: bool) -> String {
        let begun = Instant::now();
        let is_open = || self.readers.iter().any(|reader| !reader.is_finished());
        while has_ended && is_open() && begun.elapsed() < LAST_WORDS {
            std::thread::sleep(Duration::from_millis(5));
        }
        let kept = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = kept.last.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}

fn read(stream: Box<dyn Read + Send>, shared: &Mutex<Kept>, secrets: &Secrets) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut stream).take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            _ => return,
        }
        let text = String::from_utf8_lossy(&line);
        let text = Mask::Dots.text(&secrets.redact(text.trim_end()));
        let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(&text);
    }
}

impl Kept {
    fn push(&mut self, text: &str) {
        let size = text.len() as u64 + 1;
        if self.written + size <= MAX_FILE
            && let Some(file) = &mut self.file
        {
            self.written += size;
            // A full disk costs the rest of the log and nothing else.
            if file.write_all(format!("{text}\n").as_bytes()).is_err() {
                self.file = None;
            }
        }
        if text.is_empty() {
            return;
        }
        let cut = text
            .char_indices()
            .nth(SHOWN)
            .map_or(text.len(), |(at, _)| at);
        self.last.push_back(text[..cut].to_owned());
        if self.last.len() > MAX_LINES {
            self.last.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::Secret;

    #[test]
    fn logs_are_kept_without_secrets_and_end_with_the_last_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lo gs/proxy.log");
        let mut text = String::new();
        for number in 0..50 {
            text += &format!("line {number}\r\n\n");
        }
        text += "the key is swordfish-1 and sk-abcdefghijklmnopqrstuvwxyz012345\nlast";
        let secrets = Secrets::new([Secret::new("swordfish-1")]);
        let stream: Box<dyn Read + Send> = Box::new(std::io::Cursor::new(text.into_bytes()));
        let log = ProxyLog::of(vec![stream], Some(&path), &secrets);
        let tail = log.tail(true);
        assert!(
            tail.ends_with("\nlast") && tail.contains("line 49"),
            "{tail}"
        );
        assert!(!tail.contains("line 20\n"), "{tail}");
        let written = std::fs::read_to_string(log.path().expect("a file")).expect("text");
        assert!(written.starts_with("line 0\n"), "{written}");
        for shown in [&tail, &written] {
            assert!(
                !shown.contains("swordfish-1") && !shown.contains("sk-abc"),
                "{shown}"
            );
        }
    }

    #[test]
    fn what_is_no_text_and_has_no_lines_is_no_trouble() {
        let stream: Box<dyn Read + Send> = Box::new(std::io::repeat(0xff).take(1 << 20));
        let log = ProxyLog::of(vec![stream], None, &Secrets::default());
        let tail = log.tail(true);
        assert!(!tail.is_empty() && tail.chars().count() <= MAX_LINES * (SHOWN + 1));
        assert_eq!(log.path(), None);
    }
}
