//! How alike two texts are, as Python's `difflib.SequenceMatcher` has it.
//!
//! Ratcliff and Obershelp: twice the characters in matching blocks by all characters; the
//! longest block first, then left and right of it. Characters that make up more than 1 %
//! of a second text of 200 characters or more are not anchors. Written by hand for parity with
//! LongBench's code similarity.

use std::collections::HashMap;

/// A text of so many characters may have characters that are too common.
const LONG: usize = 200;

/// 2 × matches / length of both; 1 of two empty texts.
pub(crate) fn ratio(first: &str, second: &str) -> f64 {
    let first: Vec<char> = first.chars().collect();
    let second: Vec<char> = second.chars().collect();
    let total = first.len() + second.len();
    if total == 0 {
        return 1.0;
    }
    let mut places: HashMap<char, Vec<usize>> = HashMap::new();
    for (at, c) in second.iter().enumerate() {
        places.entry(*c).or_default().push(at);
    }
    if second.len() >= LONG {
        let most = second.len() / 100 + 1;
        places.retain(|_, at| at.len() <= most);
    }
    let matcher = Matcher {
        first: &first,
        second: &second,
        places,
    };
    let mut matches = 0;
    let mut open = vec![(0, first.len(), 0, second.len())];
    while let Some((from, to, other_from, other_to)) = open.pop() {
        let (at, other_at, size) = matcher.longest(from, to, other_from, other_to);
        if size == 0 {
            continue;
        }
        matches += size;
        if from < at && other_from < other_at {
            open.push((from, at, other_from, other_at));
        }
        if at + size < to && other_at + size < other_to {
            open.push((at + size, to, other_at + size, other_to));
        }
    }
    2.0 * matches as f64 / total as f64
}

struct Matcher<'t> {
    first: &'t [char],
    second: &'t [char],
    places: HashMap<char, Vec<usize>>,
}

impl Matcher<'_> {
    /// The longest block of characters that are anchors, the first of several; then made
    /// longer by what stands around it, common or not.
    fn longest(
        &self,
        from: usize,
        to: usize,
        other_from: usize,
        other_to: usize,
    ) -> (usize, usize, usize) {
        let (mut at, mut other_at, mut size) = (from, other_from, 0);
        // Lengths of the blocks that end at a place of the second text.
        let mut lengths: HashMap<usize, usize> = HashMap::new();
        for i in from..to {
            let mut fresh = HashMap::new();
            for &j in self.places.get(&self.first[i]).into_iter().flatten() {
                if j < other_from {
                    continue;
                }
                if j >= other_to {
                    break;
                }
                let before = j.checked_sub(1).and_then(|j| lengths.get(&j));
                let length = before.copied().unwrap_or(0) + 1;
                fresh.insert(j, length);
                if length > size {
                    (at, other_at, size) = (i + 1 - length, j + 1 - length, length);
                }
            }
            lengths = fresh;
        }
        while at > from && other_at > other_from && self.first[at - 1] == self.second[other_at - 1]
        {
            (at, other_at, size) = (at - 1, other_at - 1, size + 1);
        }
        while at + size < to
            && other_at + size < other_to
            && self.first[at + size] == self.second[other_at + size]
        {
            size += 1;
        }
        (at, other_at, size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_python_has_it() {
        // From Python 3.13's difflib.
        for (first, second, expected) in [
            ("abcd", "bcde", 0.75),
            ("", "", 1.0),
            ("a", "", 0.0),
            ("foo(bar)", "foo(baz)", 0.875),
            ("return x + 1", "    return x + 1", 0.857_142_857_142_857_1),
            ("日本語", "日本", 0.8),
        ] {
            assert!(
                (ratio(first, second) - expected).abs() < 1e-12,
                "{first} {second}"
            );
        }
        // 300 of one character are not an anchor, but still a block at the beginning of both.
        let long = "x".repeat(300);
        assert!(ratio(&long, &format!("{long}y")) > 0.99);
        assert_eq!(ratio(&format!("y{long}"), &long), 0.0);
    }
}
