//! [`StreamFidelity`]: whether a stream is still one when it reaches the client.
//!
//! Proxies write events anew, so bytes cannot be compared. What is compared is how much output
//! (text, reasoning, arguments) either side had at which time.

use serde::{Deserialize, Serialize};

use crate::record::Frame;
use crate::wire::{EventReader, ReplyReader, WireFormat};

/// How much output there was at which time, on one clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputProgress {
    /// Bytes of output so far, and when they were there; one entry for each frame that brought
    /// some.
    pub steps: Vec<(u64, u64)>,
}

impl OutputProgress {
    /// Of a stream whose frames came at these times after `origin`.
    pub fn of(format: WireFormat, body: &[u8], frames: &[Frame], origin: u64) -> Self {
        let mut events = EventReader::default();
        let mut reader = ReplyReader::new(format, None);
        let mut steps: Vec<(u64, u64)> = Vec::new();
        for frame in frames {
            let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(body.len());
            let bytes = &body[place(frame.offset())..place(frame.offset() + frame.length())];
            events.feed(bytes, |event| {
                reader.event(&event);
            });
            let output = reader.output_bytes() as u64;
            if output > steps.last().map_or(0, |step| step.0) {
                steps.push((output, origin.saturating_add(frame.after())));
            }
        }
        Self { steps }
    }

    /// When this much output was there.
    fn when(&self, output: u64) -> Option<u64> {
        let at = self.steps.partition_point(|step| step.0 < output);
        self.steps.get(at).map(|step| step.1)
    }
}

/// How a stream reached the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamFidelity {
    /// How many frames with output the provider sent.
    pub frames: u64,
    /// How many of them the client had soon after.
    pub in_time: u64,
    /// Whether the first output came so late that the stream was held back: after more than 80 %
    /// of the time that the model took to write.
    pub is_buffered: bool,
}

impl StreamFidelity {
    /// How soon is soon: 50 ms.
    pub const SOON: u64 = 50_000_000;

    /// Of both sides of a stream; none without output upstream.
    pub fn of(upstream: &OutputProgress, client: &OutputProgress) -> Option<Self> {
        let (first, last) = (upstream.steps.first()?, upstream.steps.last()?);
        let in_time = upstream.steps.iter().filter(|(output, at)| {
            let arrived = client.when(*output);
            arrived.is_some_and(|arrived| arrived <= at.saturating_add(Self::SOON))
        });
        let writing = last.1 - first.1;
        let late = client
            .steps
            .first()
            .map(|step| step.1.saturating_sub(first.1));
        let is_buffered = writing > 0 && late.is_some_and(|late| late > writing / 5 * 4);
        Some(Self {
            frames: upstream.steps.len() as u64,
            in_time: in_time.count() as u64,
            is_buffered,
        })
    }

    /// The share of frames that the client had soon.
    pub fn share(&self) -> f64 {
        self.in_time as f64 / self.frames as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn stream(words: &[&str], times: &[u64]) -> (String, Vec<Frame>) {
        let mut body = String::new();
        let frames = words.iter().zip(times).map(|(word, at)| {
            let event =
                format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{word}\"}}}}]}}\n\n");
            let frame = Frame(body.len() as u64, event.len() as u64, at * MS);
            body.push_str(&event);
            frame
        });
        let frames = frames.collect();
        (body, frames)
    }

    fn progress(words: &[&str], times: &[u64]) -> OutputProgress {
        let (body, frames) = stream(words, times);
        OutputProgress::of(WireFormat::OpenaiChat, body.as_bytes(), &frames, 0)
    }

    #[test]
    fn output_is_followed_through_frames() {
        let found = progress(&["", "Hel", "lo", ""], &[1, 2, 3, 4]);
        assert_eq!(found.steps, [(3, 2 * MS), (5, 3 * MS)]);
    }

    #[test]
    fn streams_that_are_held_back_show() {
        let upstream = progress(&["a", "b", "c", "d", "e"], &[0, 100, 200, 300, 400]);
        let fidelity = |client: &OutputProgress| StreamFidelity::of(&upstream, client).unwrap();
        let same = fidelity(&progress(&["ab", "c", "de"], &[110, 210, 420]));
        // The first waited for the second; all others came soon.
        assert_eq!((same.frames, same.in_time, same.is_buffered), (5, 3, false));
        let at_once = fidelity(&progress(&["abcde"], &[401]));
        assert_eq!((at_once.in_time, at_once.is_buffered), (1, true));
        let cut = fidelity(&progress(&["a", "b"], &[1, 101]));
        assert_eq!((cut.in_time, cut.share()), (2, 0.4));
        let nothing = OutputProgress::default();
        assert_eq!(StreamFidelity::of(&nothing, &upstream), None);
        assert!(!StreamFidelity::of(&upstream, &nothing).unwrap().is_buffered);
    }
}
