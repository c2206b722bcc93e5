//! BIG-Bench Hard: the text after the last "answer is ", as it is.
//!
//! Suzgun et al. (2022). Reproduces the accuracy that was published for all 27 tasks,
//! with chains of thought and without.

use crate::text::words::trim;

/// What stands before an answer.
const CUE: &str = "answer is ";

/// The answer that an output gives: what follows the last cue, else all of it; without
/// one final full stop.
pub fn answer(output: &str) -> &str {
    let after = output
        .rfind(CUE)
        .map_or(output, |at| &output[at + CUE.len()..]);
    let after = trim(after);
    trim(after.strip_suffix('.').unwrap_or(after))
}

/// 1 for the target itself: case, brackets and signs count.
pub fn score(output: &str, target: &str) -> f64 {
    super::one(answer(output) == target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_cases() {
        for (output, target, expected) in [
            ("… So the answer is (B).", "(B)", 1.0),
            ("… the answer is (B) because it fits.", "(B)", 0.0),
            ("Is the answer is No? So the answer is Yes.", "Yes", 1.0),
            ("So the answer is ] ) }.", "] ) }", 1.0),
            ("so the answer is -12.", "-12", 1.0),
            ("so the answer is 12.", "-12", 0.0),
            ("So the answer is yes.", "Yes", 0.0),
            ("(B)", "(B)", 1.0),
            ("", "(B)", 0.0),
        ] {
            assert_eq!(score(output, target), expected, "{output}");
        }
    }
}
