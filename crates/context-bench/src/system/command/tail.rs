//! The last lines that a child wrote to its standard error.
//!
//! The pipe is always read to its end, so that a talkative child never blocks;
//! only the last lines are kept, and of long lines only their beginning.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinHandle;

const MAX_LINES: usize = 20;
const MAX_LINE: usize = 500;

/// How long the last words of a dead child are waited for.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Reads in the background until the other side closes or this is dropped.
#[derive(Debug)]
pub(super) struct Tail {
    lines: Arc<Mutex<Lines>>,
    reader: JoinHandle<()>,
}

impl Tail {
    /// Starts to read.
    pub(super) fn of(mut source: impl AsyncRead + Unpin + Send + 'static) -> Self {
        let lines = Arc::new(Mutex::new(Lines::default()));
        let shared = Arc::clone(&lines);
        let reader = tokio::spawn(async move {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = source.read(&mut buffer).await {
                let mut lines = shared.lock().unwrap_or_else(PoisonError::into_inner);
                lines.push(&buffer[..count]);
            }
        });
        Self { lines, reader }
    }

    /// The last lines of a child that has ended or was told to.
    pub(super) async fn finish(mut self) -> String {
        // A grandchild may hold the pipe open; what has come by then must do.
        let _ = tokio::time::timeout(LAST_WORDS, &mut self.reader).await;
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.text()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

#[derive(Debug, Default)]
struct Lines {
    complete: VecDeque<Vec<u8>>,
    open: Vec<u8>,
}

impl Lines {
    fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte == b'\n' {
                let line = std::mem::take(&mut self.open);
                self.complete.push_back(line);
                if self.complete.len() > MAX_LINES {
                    self.complete.pop_front();
                }
            } else if self.open.len() < MAX_LINE {
                self.open.push(*byte);
            }
        }
    }

    fn text(&self) -> String {
        let lines = self.complete.iter().chain(Some(&self.open));
        let lines: Vec<String> = lines
            .map(|line| String::from_utf8_lossy(line).trim_end().to_owned())
            .filter(|line| !line.is_empty())
            .collect();
        let skip = lines.len().saturating_sub(MAX_LINES);
        lines[skip..].join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_within_bounds() {
        let mut lines = Lines::default();
        assert_eq!(lines.text(), "");
        for number in 0..50 {
            lines.push(format!("line {number}\r\n\n").as_bytes());
        }
        lines.push(&[b'x'; 10_000]);
        let text = lines.text();
        assert!(
            text.contains("line 49\n") && !text.contains("line 20\n"),
            "{text}"
        );
        assert!(
            text.ends_with(&"x".repeat(MAX_LINE)) && text.len() < 1000,
            "{text}"
        );
    }
}
