//! `Reader`: a rule-based baseline that cuts the answer out of the context.
//!
//! It is not a language model: it knows no facts, writes nothing of its own and
//! understands little. It looks for the sentences that share words with the
//! question, and in them for a span of the kind that the question asks for. That
//! makes it free, fast and repeatable, and good enough to show what a context layer
//! loses when no model is available. Scores with it say nothing about scores with a
//! model, and because it ranks sentences by shared words, as an extractive layer
//! does, it flatters such layers.

mod candidate;
mod clause;
mod date;
mod lexicon;
mod name;
mod number;
mod passage;
mod phrase;
mod place;
mod quantity;
mod question;
mod rank;
mod token;
mod yes_no;

use self::question::{Kind, Question};

/// Answers questions by cutting spans out of the context, without a model.
///
/// ```
/// use context_bench_reader::Reader;
///
/// let context = "The lamp was lit by the keeper Ann Bell on 3 May 1868. It rained.";
/// assert_eq!(Reader.answer(context, "Who lit the lamp?"), "Ann Bell");
/// assert_eq!(Reader.answer(context, "When was the lamp lit?"), "3 May 1868");
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Reader;

impl Reader {
    /// The answer; empty when the context or the question has no words.
    pub fn answer(&self, context: &str, question: &str) -> String {
        let Some(question) = Question::parse(question) else {
            return String::new();
        };
        let found = passage::find(context, &question.terms);
        let answer = match question.kind {
            Kind::YesNo => yes_no::yes_or_no(&question, &found),
            Kind::Choice => yes_no::choice(&question, &found)
                .unwrap_or_else(|| rank::best_answer(&question, &found)),
            _ => rank::best_answer(&question, &found),
        };
        // A span may hold a line break of wrapped text.
        answer.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// The example of the README, compiled with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CONTEXT: &str = "The Mill at Easton\n\n\
        The mill was built by the carpenter Jane Howe in 1802 and cost 4,100 dollars. \
        It burned down on 7 May 1844, because a lamp had been left alight. \
        Twelve of the sixteen workers were saved. \
        A new mill was opened in the town of Weston after three years and two months. \
        It grinds wheat and is 21 metres tall.\n\n\
        The owner, Paul Reed, named the new wheel Old Betsy. \
        Visitors may not enter the tower. The wheel turns every ten minutes.";

    #[test]
    fn answers_are_of_the_wanted_kind() {
        for (question, expected) in [
            ("Who built the mill?", "Jane Howe"),
            ("In what year was the mill built?", "1802"),
            ("How much did the mill cost?", "4,100 dollars"),
            ("When did the mill burn down?", "7 May 1844"),
            ("Why did the mill burn down?", "a lamp had been left alight"),
            ("How many workers were saved?", "Twelve"),
            ("Where was the new mill opened?", "Weston"),
            (
                "How long did it take until the new mill was opened?",
                "three years and two months",
            ),
            ("How tall is the mill?", "21 metres"),
            ("Who is the owner of the mill?", "Paul Reed"),
            ("What is the name of the new wheel?", "Old Betsy"),
            ("May visitors enter the tower?", "no"),
            ("Was the mill built in 1802?", "yes"),
            ("Was the mill built in 1805?", "no"),
            ("How often does the wheel turn?", "every ten minutes"),
            (
                "Where was the new mill opened, in Weston or in Norton?",
                "in Weston",
            ),
            ("What does the mill grind?", "wheat"),
        ] {
            assert_eq!(Reader.answer(CONTEXT, question), expected, "{question}");
        }
    }

    #[test]
    fn nothing_to_read_gives_no_answer() {
        for (context, question) in [
            ("", "Who built it?"),
            (CONTEXT, ""),
            (CONTEXT, "?!"),
            (" \n ", "Who?"),
            ("...", "Is it?"),
        ] {
            assert_eq!(Reader.answer(context, question), "", "{question:?}");
        }
    }

    #[test]
    fn long_odd_texts_are_read_in_time() {
        // A step that is not near linear would take minutes on these.
        for odd in [
            "a",
            "a ",
            "Ann Bell 5 ",
            "\n",
            "灯塔。",
            "1.",
            "was by ",
            "\"(",
            "a\n",
        ] {
            let context = odd.repeat(1_000_000 / odd.len());
            Reader.answer(&context, "How many 灯 did Ann Bell have by then, a or b?");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(
            context in "(\\PC|[ .,\n\"$%]|(The|of|by|was|May|5|1990|one|million|Ann) ){0,120}",
            asked in "(Who|What|Which|How (many|much|long|often)|When|Where|Why|Is|What time)",
            rest in "(\\PC|[ ,]|(or|did|Ann|the|was|name|year) ){0,40}",
        ) {
            let answer = Reader.answer(&context, &format!("{asked} {rest}"));
            prop_assert!(answer.len() <= context.len() + rest.len() + 3);
        }
    }
}
