//! [`WireCompression`]: how much shorter requests became on the way, by three measures that do
//! not depend on each other: a local tokenizer, the provider's own count, and bytes.

use serde::{Deserialize, Serialize};

/// One client call and its primary call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CompressionPair {
    /// Tokens of the client's request, by the local tokenizer.
    pub client_tokens: u64,
    /// Tokens of the primary's request, by the same.
    pub upstream_tokens: u64,
    /// Bytes of the client's body.
    pub client_bytes: u64,
    /// Bytes of the primary's body.
    pub upstream_bytes: u64,
    /// Input tokens that the provider counted for the primary.
    pub upstream_usage: Option<u64>,
    /// Input tokens that the provider counted for the same example without the proxy.
    pub direct_usage: Option<u64>,
    /// Whether the provider adds a conversation of its own: only its count means something.
    pub is_stateful: bool,
    /// Whether the request went out changed.
    pub is_changed: bool,
    /// Whether a cache or pictures take part, which the local tokenizer knows nothing of.
    pub has_cache_or_images: bool,
}

/// The compression of an arm. A ratio is the share that was saved: 0 is nothing, negative is
/// growth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WireCompression {
    /// By the local tokenizer, over all tokens of the arm.
    pub local: Option<f64>,
    /// The median of the ratios of its calls.
    pub local_median: Option<f64>,
    /// By the provider's count, over the examples that both arms have.
    pub usage: Option<f64>,
    /// By bytes of the bodies.
    pub bytes: Option<f64>,
    /// The share of calls that went out changed.
    pub engaged: Option<f64>,
    /// How the local tokenizer and the provider agree.
    pub calibration: Option<Calibration>,
    /// Whether the measures differ by more than two points, or the calibration by more than a
    /// tenth: pictures, schemas of tools, hidden text, or the wrong tokenizer.
    pub is_doubtful: bool,
}

/// Tokens of the provider for one of the local tokenizer, on calls without cache and images.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Over all of them.
    pub mean: f64,
    /// The least of a call.
    pub least: f64,
    /// The most of a call.
    pub most: f64,
}

impl Calibration {
    fn of(pairs: &[CompressionPair]) -> Option<Self> {
        let usable = pairs.iter().filter(|pair| {
            !pair.has_cache_or_images && !pair.is_stateful && pair.upstream_tokens > 0
        });
        let counted: Vec<(u64, u64)> = usable
            .filter_map(|pair| Some((pair.upstream_usage?, pair.upstream_tokens)))
            .collect();
        if counted.is_empty() {
            return None;
        }
        let each = counted
            .iter()
            .map(|(usage, tokens)| *usage as f64 / *tokens as f64);
        let (usage, tokens) = counted.iter().fold((0, 0), |(usage, tokens), one| {
            (usage + one.0, tokens + one.1)
        });
        Some(Self {
            mean: usage as f64 / tokens as f64,
            least: each.clone().fold(f64::INFINITY, f64::min),
            most: each.fold(0.0, f64::max),
        })
    }

    /// Whether it varies by more than a tenth.
    pub fn varies(&self) -> bool {
        self.most - self.least > 0.1 * self.mean
    }
}

impl WireCompression {
    /// Of an arm.
    pub fn of(pairs: &[CompressionPair]) -> Self {
        let readable = || pairs.iter().filter(|pair| !pair.is_stateful);
        let local = saved(readable().map(|pair| (pair.client_tokens, pair.upstream_tokens)));
        let usage = pairs
            .iter()
            .filter_map(|pair| Some((pair.direct_usage?, pair.upstream_usage?)));
        let usage = saved(usage);
        let each =
            readable().filter_map(|pair| saved([(pair.client_tokens, pair.upstream_tokens)]));
        let changed = pairs.iter().filter(|pair| pair.is_changed).count();
        let calibration = Calibration::of(pairs);
        let differ = local
            .zip(usage)
            .is_some_and(|(local, usage)| (local - usage).abs() > 0.02);
        Self {
            local,
            local_median: median(each.collect()),
            usage,
            bytes: saved(readable().map(|pair| (pair.client_bytes, pair.upstream_bytes))),
            engaged: (!pairs.is_empty()).then(|| changed as f64 / pairs.len() as f64),
            calibration,
            is_doubtful: differ || calibration.is_some_and(|calibration| calibration.varies()),
        }
    }
}

/// The share that was saved, of pairs of before and after; none where there was nothing.
fn saved(pairs: impl IntoIterator<Item = (u64, u64)>) -> Option<f64> {
    let add = |(before, after): (u64, u64), one: (u64, u64)| (before + one.0, after + one.1);
    let (before, after) = pairs.into_iter().fold((0, 0), add);
    (before > 0).then(|| 1.0 - after as f64 / before as f64)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(client: u64, upstream: u64) -> CompressionPair {
        CompressionPair {
            client_tokens: client,
            upstream_tokens: upstream,
            client_bytes: client * 4,
            upstream_bytes: upstream * 4,
            upstream_usage: None,
            direct_usage: None,
            is_stateful: false,
            is_changed: client != upstream,
            has_cache_or_images: false,
        }
    }

    #[test]
    fn ratios_are_weighted_by_tokens() {
        let compression =
            WireCompression::of(&[pair(8000, 2000), pair(1000, 1000), pair(1000, 500)]);
        assert_eq!(compression.local, Some(0.65));
        assert_eq!(compression.bytes, Some(0.65));
        assert_eq!(compression.local_median, Some(0.5));
        assert_eq!(compression.engaged, Some(2.0 / 3.0));
        assert_eq!((compression.usage, compression.is_doubtful), (None, false));
        // Worked example 12: a helper reads all, the model a quarter.
        assert_eq!(WireCompression::of(&[pair(8000, 2000)]).local, Some(0.75));
        // Growth is negative, and nothing is nothing.
        assert_eq!(WireCompression::of(&[pair(100, 150)]).local, Some(-0.5));
        assert_eq!(WireCompression::of(&[]), WireCompression::default());
    }

    #[test]
    fn measures_that_disagree_are_doubtful() {
        let counted = |pair: CompressionPair, direct, upstream| CompressionPair {
            direct_usage: Some(direct),
            upstream_usage: Some(upstream),
            ..pair
        };
        let agree = [
            counted(pair(1000, 500), 1100, 550),
            counted(pair(100, 100), 110, 110),
        ];
        let compression = WireCompression::of(&agree);
        assert!(!compression.is_doubtful);
        assert!((compression.calibration.unwrap().mean - 1.1).abs() < 1e-9);
        let tokenizer = [
            counted(pair(1000, 500), 1100, 550),
            counted(pair(100, 100), 140, 140),
        ];
        assert!(WireCompression::of(&tokenizer).is_doubtful);
        let hidden = [counted(pair(1000, 500), 1100, 700)];
        assert!(WireCompression::of(&hidden).is_doubtful);
        // With a conversation that the provider keeps, only its count means something.
        let stateful = CompressionPair {
            is_stateful: true,
            ..counted(pair(10, 10), 1000, 400)
        };
        let compression = WireCompression::of(&[stateful]);
        assert_eq!((compression.local, compression.usage), (None, Some(0.6)));
    }
}
