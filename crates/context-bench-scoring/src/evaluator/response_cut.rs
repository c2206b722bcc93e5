//! `ResponseCut`: which part of a response a rule is applied to.

use crate::official::{letters, longbench};
use crate::text::words::trim;

/// Which part of a response is scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ResponseCut {
    /// All of it.
    #[default]
    Whole,
    /// Its first line, as LongBench does where examples stand in the prompt.
    FirstLine,
    /// Its last line, as NoLiMa does after a chain of thought.
    LastLine,
    /// What stands after the first `Answer:` on that line, as simple-evals does; all of it
    /// when there is none.
    AnswerLine,
}

impl ResponseCut {
    /// All of them, with their names as parameters.
    pub const NAMED: [(&'static str, Self); 4] = [
        ("none", Self::Whole),
        ("first_line", Self::FirstLine),
        ("last_line", Self::LastLine),
        ("answer_line", Self::AnswerLine),
    ];

    /// The part of a response.
    pub fn of(self, response: &str) -> &str {
        match self {
            Self::Whole => response,
            Self::FirstLine => longbench::first_line(response),
            Self::LastLine => trim(response).rsplit('\n').next().unwrap_or_default(),
            Self::AnswerLine => letters::answer_line(response).unwrap_or(response),
        }
    }

    /// How the identity of an evaluator spells it.
    pub(super) fn identity(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::FirstLine => "first line",
            Self::LastLine => "last line",
            Self::AnswerLine => "answer line",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_response() {
        let said = "\nFirst.\nAnswer: 4\nLast.\n";
        for (cut, expected) in [
            (ResponseCut::Whole, said),
            (ResponseCut::FirstLine, "First."),
            (ResponseCut::LastLine, "Last."),
            (ResponseCut::AnswerLine, "4"),
        ] {
            assert_eq!(cut.of(said), expected, "{cut:?}");
        }
        assert_eq!(ResponseCut::AnswerLine.of("four"), "four");
    }
}
