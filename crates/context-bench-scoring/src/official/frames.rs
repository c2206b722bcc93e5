//! FRAMES: a judge says whether an answer holds what the gold answer says.
//!
//! Krishna et al. (2024), the description in the paper: the judge gets question, gold
//! answer and answer, and decides TRUE or FALSE. The prompt is in our own words.

use crate::text::words::trim;

/// The most tokens of a verdict: a sentence and the decision.
pub const VERDICT_TOKENS: u32 = 512;

/// What the judge is asked.
pub fn prompt(question: &str, gold: &str, answer: &str) -> String {
    format!(
        "You check answers of a language model against the answer that is known to be right.\n\n\
         Decide whether the model's answer holds the meaning of the right answer, with all of \
         its facts. It may say more, be longer or be put in other words, as long as what the \
         right answer says is said and nothing contradicts it. Do not use knowledge of your own \
         about the question: only the right answer counts.\n\n\
         Question:\n{question}\n\n\
         Right answer:\n{gold}\n\n\
         Answer of the model:\n{answer}\n\n\
         Explain your decision in a sentence. Then end with one line, either `Decision: TRUE` \
         (the meaning of the right answer is there) or `Decision: FALSE` (it is not)."
    )
}

/// What the judge decided; `None` when that is not clear.
///
/// The word behind the last `Decision:` counts; a reply without one must hold TRUE or
/// FALSE, in any case, and not both.
pub fn verdict(reply: &str) -> Option<bool> {
    let lower = reply.to_lowercase();
    if let Some(at) = lower.rfind("decision") {
        let after =
            lower[at + "decision".len()..].trim_start_matches(|c: char| !c.is_alphanumeric());
        let word = words(after).next();
        if let Some(decided) = word.and_then(truth) {
            return Some(decided);
        }
    }
    let mut said = words(trim(&lower)).filter_map(truth);
    let first = said.next()?;
    said.all(|other| other == first).then_some(first)
}

fn truth(word: &str) -> Option<bool> {
    match word {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions() {
        for (reply, expected) in [
            ("TRUE", Some(true)),
            ("false.", Some(false)),
            ("The year is right.\nDecision: TRUE", Some(true)),
            ("It is not true that …\n**Decision:** FALSE", Some(false)),
            ("Decision: TRUE? No.\nDecision: FALSE", Some(false)),
            ("It is true, and the rest is false.", None),
            ("untrue", None),
            ("Decision: maybe", None),
            ("", None),
        ] {
            assert_eq!(verdict(reply), expected, "{reply}");
        }
    }

    #[test]
    fn the_judge_sees_all_three_texts() {
        let asked = prompt("Who?", "Ada {gold}", "It was Ada.");
        for part in ["\nWho?\n", "\nAda {gold}\n", "\nIt was Ada.\n"] {
            assert!(asked.contains(part), "{part}");
        }
    }
}
