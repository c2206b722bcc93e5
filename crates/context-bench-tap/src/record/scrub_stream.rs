//! [`StreamScrubber`]: takes secrets out of a body that is too long to be held at once.

use std::sync::Arc;

use super::scrub::Scrubber;
use super::scrub_pattern::PEM_BEGIN;

/// How much is looked at together. A secret is found as long as it is not longer than half
/// of it: private keys have up to 13 KiB.
const WINDOW: usize = 64 * 1024;
/// The last line of a private key has no more bytes.
const LONGEST_PEM_END: usize = 64;

/// Takes pieces and gives back what may be written down.
#[derive(Debug)]
pub(crate) struct StreamScrubber {
    scrubber: Arc<Scrubber>,
    /// What may still be the beginning of a secret.
    held: Vec<u8>,
    /// Whether something was taken out.
    pub(crate) has_scrubbed: bool,
}

impl StreamScrubber {
    pub(crate) fn new(scrubber: Arc<Scrubber>) -> Self {
        Self {
            scrubber,
            held: Vec::new(),
            has_scrubbed: false,
        }
    }

    /// Takes a piece; gives back what is safe so far.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        if self.held.len() < WINDOW {
            return Vec::new();
        }
        let cut = self.safe_cut();
        let rest = self.held.split_off(cut);
        let safe = std::mem::replace(&mut self.held, rest);
        self.clean(&safe)
    }

    /// What is left at the end.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.held);
        self.clean(&rest)
    }

    fn clean(&mut self, bytes: &[u8]) -> Vec<u8> {
        let cleaned = self.scrubber.bytes(bytes);
        self.has_scrubbed |= matches!(cleaned, std::borrow::Cow::Owned(_));
        cleaned.into_owned()
    }

    /// Where the window may be cut without cutting a secret: not inside of a word, of a known
    /// secret, whole or begun, or of a private key.
    fn safe_cut(&self) -> usize {
        let held = &self.held;
        // What begins later may be a known secret that is not complete yet.
        let end = held.len() - self.scrubber.longest().min(WINDOW / 4);
        let least = (held.len() - WINDOW / 2).min(end);
        // No key has any of these in it. A word that fills half of the window is data, not a key.
        let space = memchr::memrchr3(b' ', b'"', b'\n', &held[least..end]);
        let mut cut = space.map_or(end, |at| least + at + 1);
        if let Some(start) = self.scrubber.known_across(held, cut) {
            cut = start;
        }
        if let Some(start) = memchr::memmem::rfind(&held[..cut], PEM_BEGIN) {
            let rest = &held[start..];
            let closing = memchr::memmem::find(rest, b"-----END ").map(|at| start + at);
            let is_closed = closing.is_some_and(|at| at + LONGEST_PEM_END <= cut);
            if !is_closed && start >= least {
                cut = start;
            }
        }
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_hide_no_secret() {
        let key = "sk-proj-0123456789abcdef0123";
        let pem = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----";
        let text = format!("{} {key} own secret words {pem} é ", "word ".repeat(700)).repeat(60);
        let scrubber = Arc::new(Scrubber::new(["own secret words"]));
        let expected = scrubber.text(&text);
        for size in [1000, 4093, 70_000, text.len()] {
            let mut stream = StreamScrubber::new(Arc::clone(&scrubber));
            let mut out = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                out.extend(stream.feed(piece));
            }
            out.extend(stream.finish());
            assert!(stream.has_scrubbed);
            assert!(out == expected.as_bytes(), "{size}");
        }
    }
}
