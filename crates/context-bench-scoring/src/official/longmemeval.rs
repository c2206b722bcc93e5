//! LongMemEval: a judge says yes or no, asked in one of five ways.
//!
//! Wu et al. (2024), the authors' `evaluate_qa.py`: which prompt belongs to which kind of
//! question, ten tokens, and right when the reply contains `yes` in any case. The prompts
//! are in our own words with the logic of the originals.

/// The most tokens of a verdict.
pub const VERDICT_TOKENS: u32 = 10;

/// What marks the id of a question that the history does not answer.
const ABSTENTION: &str = "_abs";

/// How the judge is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The answer must be there, whole.
    Fact,
    /// The same; a number of days, weeks or months may be one off.
    Temporal,
    /// What was true before may stand beside what is true now.
    Update,
    /// The gold answer is a rubric for an answer that suits the user.
    Preference,
    /// The history does not say: the response must say so.
    Abstention,
}

/// Whether the history does not answer a question, by its id.
pub fn is_abstention(id: &str) -> bool {
    id.contains(ABSTENTION)
}

impl Kind {
    /// The types of questions, as the data has them.
    pub const TYPES: [(&'static str, Self); 6] = [
        ("single-session-user", Self::Fact),
        ("single-session-assistant", Self::Fact),
        ("multi-session", Self::Fact),
        ("temporal-reasoning", Self::Temporal),
        ("knowledge-update", Self::Update),
        ("single-session-preference", Self::Preference),
    ];

    /// How the judge is asked about a question; `None` for a type that the benchmark does
    /// not have.
    pub fn of(id: &str, question_type: &str) -> Option<Self> {
        if is_abstention(id) {
            return Some(Self::Abstention);
        }
        let known = Self::TYPES.iter().find(|(name, _)| *name == question_type);
        known.map(|(_, kind)| *kind)
    }

    /// What the judge is asked.
    pub fn prompt(self, question: &str, gold: &str, response: &str) -> String {
        let (task, label) = match self {
            Self::Fact => (FACT.to_owned(), "Correct answer"),
            Self::Temporal => (format!("{FACT} {TEMPORAL}"), "Correct answer"),
            Self::Update => (format!("{INTRODUCED} {UPDATE}"), "Correct answer"),
            Self::Preference => (PREFERENCE.to_owned(), "Rubric"),
            Self::Abstention => (ABSTAINED.to_owned(), "Why it cannot be answered"),
        };
        let asked = match self {
            Self::Abstention => "Does the response recognise that the question cannot be answered?",
            _ => "Is the response correct?",
        };
        format!(
            "{task}\n\nQuestion: {question}\n\n{label}: {gold}\n\nResponse: {response}\n\n\
             {asked} Reply with yes or no only."
        )
    }
}

const INTRODUCED: &str = "\
You get a question, its correct answer and the response of a model. Reply yes if the \
response contains the correct answer, and no if it does not.";

const FACT: &str = "\
You get a question, its correct answer and the response of a model. Reply yes if the \
response contains the correct answer, and no if it does not. A response that means the \
same, or that holds all the steps that lead to the correct answer, is a yes as well. A \
response with only a part of what the correct answer says is a no.";

const TEMPORAL: &str = "\
Do not count it against the response when a number of days, weeks or months is off by one: \
19 days where 18 are correct is a yes.";

const UPDATE: &str = "\
A response that tells what was true before beside what is true now is a yes, as long as \
what is true now is the correct answer.";

const PREFERENCE: &str = "\
You get a question, a rubric for a response that suits the user who asks, and the response \
of a model. Reply yes if the response meets the rubric, and no if it does not. It need not \
cover every point of the rubric: it is correct when it remembers what is personal to the \
user and uses that rightly.";

const ABSTAINED: &str = "\
You get a question that cannot be answered, why that is so, and the response of a model. \
Reply yes if the response recognises that the question cannot be answered: it may say that \
the information is incomplete, or that something else is known but not what is asked for. \
Otherwise reply no.";

/// Whether a reply says that the response is right.
pub fn verdict(reply: &str) -> bool {
    reply.to_lowercase().contains("yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_cases() {
        for (reply, expected) in [
            ("Yes.", true),
            ("No", false),
            ("No. Yes would be wrong", true),
            ("", false),
            ("YES", true),
            ("I'm unsure", false),
        ] {
            assert_eq!(verdict(reply), expected, "{reply}");
        }
    }

    #[test]
    fn five_prompts_by_type_and_id() {
        for (id, question_type, expected) in [
            ("a1", "single-session-user", Some(Kind::Fact)),
            ("a1", "single-session-assistant", Some(Kind::Fact)),
            ("a1", "multi-session", Some(Kind::Fact)),
            ("a1", "temporal-reasoning", Some(Kind::Temporal)),
            ("a1", "knowledge-update", Some(Kind::Update)),
            ("a1", "single-session-preference", Some(Kind::Preference)),
            ("a1_abs", "multi-session", Some(Kind::Abstention)),
            ("a1_abs_2", "temporal-reasoning", Some(Kind::Abstention)),
            ("a1_abs", "", Some(Kind::Abstention)),
            ("a1", "sessions", None),
        ] {
            assert_eq!(
                Kind::of(id, question_type),
                expected,
                "{id} {question_type}"
            );
        }
        let kinds = [
            Kind::Fact,
            Kind::Temporal,
            Kind::Update,
            Kind::Preference,
            Kind::Abstention,
        ];
        let mut prompts = kinds.map(|kind| kind.prompt("Q?", "gold", "said"));
        assert!(
            prompts
                .iter()
                .all(|prompt| prompt.ends_with("yes or no only."))
        );
        prompts.sort();
        assert!(prompts.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
