//! LoCoMo: overlap of word stems, in another way for each kind of question.
//!
//! Maharana et al. (2024), the authors' evaluation script.

use crate::text::normalize::without_words;
use crate::text::overlap::shared;
use crate::text::porter::porter_stem;
use crate::text::words::{split_whitespace, trim};

/// The kinds of questions, by the number that the data give them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// 1: several facts.
    MultiHop,
    /// 2: when something was.
    Temporal,
    /// 3: with knowledge of the world.
    OpenDomain,
    /// 4: one fact.
    SingleHop,
    /// 5: about what was not said.
    Adversarial,
}

impl Category {
    /// The kind of a name, or of a number.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "multi_hop" => Self::MultiHop,
            "temporal" => Self::Temporal,
            "open_domain" => Self::OpenDomain,
            "single_hop" => Self::SingleHop,
            "adversarial" => Self::Adversarial,
            other => return Self::of(other.parse().ok()?),
        })
    }

    /// The kind of a number.
    pub fn of(number: u64) -> Option<Self> {
        Some(match number {
            1 => Self::MultiHop,
            2 => Self::Temporal,
            3 => Self::OpenDomain,
            4 => Self::SingleHop,
            5 => Self::Adversarial,
            _ => return None,
        })
    }
}

/// Scores an answer to a question of a kind.
pub fn score(category: Category, output: &str, gold: &str) -> f64 {
    match category {
        Category::SingleHop | Category::Temporal => f1(output, gold),
        Category::OpenDomain => {
            let first = gold.split(';').next().unwrap_or_default();
            f1(output, trim(first))
        }
        Category::MultiHop => {
            let parts = |text: &str| -> Vec<String> {
                text.split(',').map(|part| trim(part).to_owned()).collect()
            };
            let (output, gold) = (parts(output), parts(gold));
            let best = |gold: &String| super::best(output.iter().map(|part| f1(part, gold)));
            gold.iter().map(best).sum::<f64>() / gold.len().max(1) as f64
        }
        Category::Adversarial => {
            let lower = output.to_lowercase();
            let says = ["no information available", "not mentioned"];
            super::one(says.iter().any(|phrase| lower.contains(phrase)))
        }
    }
}

/// The option that a reply stands for: a letter alone, or in brackets.
pub fn chosen<'o>(output: &str, options: &'o [String]) -> Option<&'o str> {
    let reply = trim(output).to_lowercase();
    let bracketed = reply.strip_prefix('(').and_then(|r| r.strip_suffix(')'));
    let at = match bracketed.unwrap_or(&reply) {
        "a" => 0,
        "b" => 1,
        _ => return None,
    };
    options.get(at).map(String::as_str)
}

/// The stems of a text.
fn stems(text: &str) -> Vec<String> {
    let plain = text.replace(',', "").to_lowercase();
    let plain: String = plain
        .chars()
        .filter(|c| !c.is_ascii_punctuation())
        .collect();
    let plain = without_words(&plain, &["a", "an", "the", "and"]);
    split_whitespace(&plain).map(porter_stem).collect()
}

fn f1(output: &str, gold: &str) -> f64 {
    let (output, gold) = (stems(output), stems(gold));
    shared(&output, &gold).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_cases() {
        for (category, output, gold, expected) in [
            (4, "She went hiking", "hike", 0.5),
            (1, "hiking, painting", "painting, pottery", 0.5),
            (3, "Yes", "Yes; she said so twice", 1.0),
            (5, "Not mentioned in the conversation", "", 1.0),
            (5, "I don't know", "", 0.0),
            (2, "", "May 2023", 0.0),
        ] {
            let category = Category::of(category).unwrap();
            assert_eq!(score(category, output, gold), expected, "{output}");
        }
    }

    #[test]
    fn letters_stand_for_options() {
        let options = ["Not mentioned in the conversation", "a ferry"].map(str::to_owned);
        for (reply, expected) in [
            ("a", Some(0)),
            ("(b)", Some(1)),
            (" (A)\n", Some(0)),
            ("B", Some(1)),
            ("c", None),
            ("a ferry", None),
            ("(a) it is", None),
            ("", None),
        ] {
            let expected = expected.map(|at: usize| options[at].as_str());
            assert_eq!(chosen(reply, &options), expected, "{reply}");
        }
        assert_eq!(chosen("a", &[]), None);
    }
}
