//! `HashedNgrams`: vectors of the letters that words are made of, without weights.

use context_bench_scoring::text::terms::for_each_term;

use super::{Embed, normalize};

/// The numbers of a vector.
const DIMENSIONS: usize = 1024;
/// The lengths of the pieces that words are cut into.
const LENGTHS: [usize; 3] = [3, 4, 5];

/// Pieces of the words of a text, hashed into a vector, stop words left out.
///
/// It knows no meanings: texts are alike when their words are spelled alike. That finds
/// misspelt and derived words that plain search misses, and needs no file; real embeddings
/// are those of a model that [`load`](super::load) reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HashedNgrams;

impl Embed for HashedNgrams {
    fn name(&self) -> &str {
        "hashed n-grams 1 (stand-in, no model)"
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0; DIMENSIONS];
        for_each_term(text, |term| {
            let word: Vec<char> = format!("<{term}>").chars().collect();
            let pieces = LENGTHS
                .iter()
                .flat_map(|length| word.windows((*length).min(word.len())));
            // Long words must not count for more than short ones.
            let weight = 1.0 / (pieces.clone().count() as f32).sqrt();
            for piece in pieces {
                let hash = fnv1a(piece);
                let sign = if hash >> 63 == 0 { weight } else { -weight };
                vector[(hash % DIMENSIONS as u64) as usize] += sign;
            }
        });
        normalize(&mut vector);
        vector
    }
}

/// FNV-1a with 64 bits: the same on every machine, which `std`'s hashes do not promise.
fn fnv1a(piece: &[char]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in piece.iter().flat_map(|c| (*c as u32).to_le_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::cosine;

    #[test]
    fn words_that_are_spelled_alike_are_near() {
        let near = |a: &str, b: &str| cosine(&HashedNgrams.embed(a), &HashedNgrams.embed(b));
        assert!((near("photography", "photography") - 1.0).abs() < 1e-6);
        assert!(
            near("photographer", "a photography class") > near("photographer", "a pottery class")
        );
        assert_eq!(near("", "photography"), 0.0);
        assert_eq!(near("the of", "photography"), 0.0);
    }
}
