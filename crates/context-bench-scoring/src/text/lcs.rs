//! Length of a longest common subsequence, 64 positions at a time.
//!
//! The bit-vector recurrence of Crochemore et al., "A fast and practical
//! bit-vector algorithm for the longest common subsequence problem" (2001):
//! `V' = (V + (V & M)) | (V & !M)`, where `M` marks the places of the current
//! token in the first text. Words of `V` without a place and without a carry do
//! not change, so only the others are touched: ordinary texts of 20,000 tokens
//! take milliseconds, and no memory beyond the two texts is needed.

use std::collections::HashMap;

/// The length of a longest common subsequence of two lists of token numbers.
/// 0 when either is empty.
pub(crate) fn lcs_length(a: &[u32], b: &[u32]) -> usize {
    let places = places(a);
    let n_words = a.len().div_ceil(64);
    let mut row = vec![u64::MAX; n_words];
    for token in b {
        let Some(masks) = places.get(token) else {
            continue;
        };
        let mut carry = false;
        let mut next_word = 0;
        for &(word, mask) in masks {
            while carry && next_word < word {
                carry = step(&mut row[next_word], 0, true);
                next_word += 1;
            }
            carry = step(&mut row[word], mask, carry && next_word == word);
            next_word = word + 1;
        }
        while carry && next_word < n_words {
            carry = step(&mut row[next_word], 0, true);
            next_word += 1;
        }
    }
    // A zero is a place up to which the common subsequence grew by one. The
    // unused bits of the last word match nothing; a carry may still clear the
    // first of them, which is not a position in `a`.
    let mut length = 0;
    for (i, word) in row.iter().enumerate() {
        let used = (a.len() - i * 64).min(64);
        let unused = if used == 64 { 0 } else { u64::MAX << used };
        length += (word | unused).count_zeros() as usize;
    }
    length
}

/// Advances one word of the row; says whether the addition carries into the next.
fn step(word: &mut u64, mask: u64, carry_in: bool) -> bool {
    let matched = *word & mask;
    let (sum, first) = word.overflowing_add(matched);
    let (sum, second) = sum.overflowing_add(u64::from(carry_in));
    *word = sum | (*word & !mask);
    first || second
}

/// Where each token occurs: word index and bits inside it, in ascending order.
fn places(tokens: &[u32]) -> HashMap<u32, Vec<(usize, u64)>> {
    let mut places: HashMap<u32, Vec<(usize, u64)>> = HashMap::new();
    for (i, token) in tokens.iter().enumerate() {
        let (word, bit) = (i / 64, 1 << (i % 64));
        let masks = places.entry(*token).or_default();
        match masks.last_mut() {
            Some((last, mask)) if *last == word => *mask |= bit,
            _ => masks.push((word, bit)),
        }
    }
    places
}

/// Which text is left first on the way back, where both give a subsequence of the same
/// length: implementations differ, and the words that they find differ with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnTie {
    /// The first.
    LeaveFirst,
    /// The second.
    LeaveSecond,
}

/// The places in the first list of one longest common subsequence, in ascending order.
/// Takes a bit for each pair of tokens.
pub(crate) fn lcs_places<T: Eq>(first: &[T], second: &[T], on_tie: OnTie) -> Vec<usize> {
    let width = second.len();
    // Whether the second list is to be left at a cell where the tokens differ.
    let mut leaves_second = vec![0_u64; (first.len() * width).div_ceil(64)];
    let (mut above, mut row) = (vec![0_u32; width + 1], vec![0_u32; width + 1]);
    for (i, token) in first.iter().enumerate() {
        for (j, other) in second.iter().enumerate() {
            let (up, left) = (above[j + 1], row[j]);
            row[j + 1] = match token == other {
                true => above[j] + 1,
                false => up.max(left),
            };
            let second_goes = match on_tie {
                OnTie::LeaveFirst => left > up,
                OnTie::LeaveSecond => left >= up,
            };
            if second_goes {
                let cell = i * width + j;
                leaves_second[cell / 64] |= 1 << (cell % 64);
            }
        }
        std::mem::swap(&mut above, &mut row);
    }
    let (mut i, mut j) = (first.len(), second.len());
    let mut places = Vec::new();
    while i > 0 && j > 0 {
        let cell = (i - 1) * width + j - 1;
        if first[i - 1] == second[j - 1] {
            places.push(i - 1);
            (i, j) = (i - 1, j - 1);
        } else if leaves_second[cell / 64] >> (cell % 64) & 1 == 1 {
            j -= 1;
        } else {
            i -= 1;
        }
    }
    places.reverse();
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The textbook table.
    fn slow(a: &[u32], b: &[u32]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut diagonal = 0;
            for (j, y) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if x == y {
                    diagonal + 1
                } else {
                    above.max(row[j])
                };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    #[test]
    fn ties_are_broken_as_asked() {
        let (first, second) = (["a", "b"], ["b", "a"]);
        assert_eq!(lcs_places(&first, &second, OnTie::LeaveFirst), [0]);
        assert_eq!(lcs_places(&first, &second, OnTie::LeaveSecond), [1]);
        assert!(lcs_places::<u8>(&[], &[1], OnTie::LeaveFirst).is_empty());
    }

    proptest! {
        #[test]
        fn places_are_as_many_as_the_length(
            a in prop::collection::vec(0_u32..5, 0..40), b in prop::collection::vec(0_u32..5, 0..40)
        ) {
            for on_tie in [OnTie::LeaveFirst, OnTie::LeaveSecond] {
                prop_assert_eq!(lcs_places(&a, &b, on_tie).len(), lcs_length(&a, &b));
            }
        }

        #[test]
        fn equals_the_textbook_table(
            a in prop::collection::vec(0_u32..6, 0..300),
            b in prop::collection::vec(0_u32..6, 0..300),
        ) {
            prop_assert_eq!(lcs_length(&a, &b), slow(&a, &b));
            prop_assert_eq!(lcs_length(&b, &a), slow(&a, &b));
        }
    }

    #[test]
    fn carries_cross_words() {
        for n in [1, 63, 64, 65, 127, 128, 129, 1000] {
            let same = vec![7; n];
            assert_eq!(lcs_length(&same, &same), n);
            assert_eq!(lcs_length(&same, &vec![7; n + 70]), n);
            assert_eq!(lcs_length(&same, &[8]), 0);
        }
        assert_eq!(lcs_length(&[], &[1]), 0);
        assert_eq!(lcs_length(&[1], &[]), 0);
    }

    #[test]
    fn twenty_thousand_tokens_are_no_trouble() {
        let n = 20_000_u32;
        let a: Vec<u32> = (0..n)
            .map(|i| i.wrapping_mul(2_654_435_761) >> 22)
            .collect();
        let b: Vec<u32> = (0..n)
            .map(|i| i.wrapping_mul(2_246_822_519) >> 22)
            .collect();
        // A table of all pairs would be 400 million entries; the length was found in Python.
        assert_eq!(lcs_length(&a, &b), 1802);
    }
}
