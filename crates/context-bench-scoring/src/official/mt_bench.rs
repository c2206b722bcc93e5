//! MT-bench: a judge rates each of two turns from 1 to 10.
//!
//! Zheng et al. (2023), the authors' `llm_judge`: turns are judged apart, references are
//! shown for three categories, the first rating in brackets counts. The prompts are in our
//! own words with the logic of the originals.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

/// The most tokens of a judgement.
pub const VERDICT_TOKENS: u32 = 2048;

/// The categories that are judged beside reference answers.
const WITH_REFERENCE: [&str; 3] = ["math", "reasoning", "coding"];

static DOUBLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\[\[(\d+\.?\d*)\]\]").ok());
static SINGLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\[(\d+\.?\d*)\]").ok());

/// Whether answers of a category are judged beside a reference.
pub fn needs_reference(category: &str) -> bool {
    WITH_REFERENCE.contains(&category)
}

/// The rating of a judgement: the first in double brackets, else the first in single
/// ones; `None` for one that is to be left out.
pub fn rating(judgement: &str) -> Option<f64> {
    [&DOUBLE, &SINGLE].into_iter().find_map(|pattern| {
        let found = pattern.as_ref()?.captures(judgement)?;
        found.get(1)?.as_str().parse().ok()
    })
}

/// One turn of a conversation.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    /// What the user asked.
    pub question: &'a str,
    /// What the model answered.
    pub answer: &'a str,
    /// A right answer, where there is one.
    pub reference: Option<&'a str>,
}

/// The system message of the judge.
pub fn system(turns: &[Exchange<'_>]) -> &'static str {
    match turns.len() {
        0 | 1 => "You are a helpful assistant.",
        _ => {
            "\
You are an impartial judge of the answers of an AI assistant in a conversation. You judge \
how good the assistant's answer to the second question of the user is: focus on that one."
        }
    }
}

/// What the judge is asked about the last of these turns.
pub fn prompt(turns: &[Exchange<'_>]) -> String {
    let referenced = turns.iter().any(|turn| turn.reference.is_some());
    let mut asked = String::from(match referenced {
        true => {
            "Judge how good an assistant's answer to a user is. What counts is that it is \
             correct and helpful. You get reference answers: compare the assistant's answer \
             with them, find its mistakes and correct them."
        }
        false => {
            "Judge how good an assistant's answer to a user is. Consider how helpful, \
             relevant, accurate, deep, creative and detailed it is."
        }
    });
    if turns.len() > 1 {
        asked.push_str(" The conversation has two turns: rate the answer to the second question.");
    }
    asked.push_str(
        " Begin with a short explanation and be as objective as possible. Then rate the answer \
         from 1 to 10, strictly in this form: \"[[rating]]\", for example \"Rating: [[5]]\".\n",
    );
    // Writing to a String cannot fail.
    let _ = (|| {
        if referenced {
            writeln!(asked, "\n--- Reference answers ---")?;
            for turn in turns {
                let reference = turn.reference.unwrap_or_default();
                writeln!(
                    asked,
                    "\nUser:\n{}\n\nReference answer:\n{reference}",
                    turn.question
                )?;
            }
        }
        writeln!(asked, "\n--- Conversation ---")?;
        for turn in turns {
            writeln!(
                asked,
                "\nUser:\n{}\n\nAssistant:\n{}",
                turn.question, turn.answer
            )?;
        }
        write!(asked, "\n--- End of the conversation ---")
    })();
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_cases() {
        for (judgement, expected) in [
            ("Rating: [[8]]", Some(8.0)),
            ("[[7]] … [[9]]", Some(7.0)),
            ("Score [6]", Some(6.0)),
            ("As in [1], good. Rating: [[8.5]]", Some(8.5)),
            ("[[[4]]]", Some(4.0)),
            ("[[10.]]", Some(10.0)),
            ("Rating: 8", None),
            ("[[eight]]", None),
            ("[[8 ]]", None),
            ("", None),
        ] {
            assert_eq!(rating(judgement), expected, "{judgement}");
        }
    }

    #[test]
    fn the_second_turn_is_judged_with_both_in_sight() {
        let turn = |question, answer, reference| Exchange {
            question,
            answer,
            reference,
        };
        let one = [turn("Q1", "A1", None)];
        let two = [turn("Q1", "A1", Some("R1")), turn("Q2", "A2", Some("R2"))];
        assert!(prompt(&one).contains("User:\nQ1\n\nAssistant:\nA1\n"));
        assert!(!prompt(&one).contains("Reference"));
        let asked = prompt(&two);
        for part in ["Q1", "A1", "Q2", "A2", "R1", "R2", "second question"] {
            assert!(asked.contains(part), "{part}");
        }
        assert_ne!(system(&one), system(&two));
        assert!(needs_reference("math") && !needs_reference("writing"));
    }
}
