//! HotpotQA: SQuAD's overlap, but yes and no are right or wrong as a whole.
//!
//! Yang et al. (2018), the authors' evaluation script.

use crate::text::normalize::official_answer;
use crate::text::overlap::Overlap;

/// Answers of which a part is nothing.
const WHOLE: [&str; 3] = ["yes", "no", "noanswer"];

/// F1 and exact match of an output.
pub fn score(output: &str, gold: &str) -> (f64, f64) {
    let (output, gold) = (official_answer(output), official_answer(gold));
    let whole = WHOLE.contains(&output.as_str()) || WHOLE.contains(&gold.as_str());
    let same = output == gold;
    if whole && !same {
        return (0.0, 0.0);
    }
    (Overlap::of_normal(&output, &gold).f1, super::one(same))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_cases() {
        for (output, gold, f1) in [
            ("Yes, both are", "yes", 0.0),
            ("yes", "yes", 1.0),
            ("Paris, France", "Paris", 2.0 / 3.0),
            ("no", "no noanswer", 0.0),
            ("", "Paris", 0.0),
            ("", "", 0.0),
        ] {
            assert!(
                (score(output, gold).0 - f1).abs() < 1e-12,
                "{output} {gold}"
            );
        }
    }
}
