//! The words around a verdict: those that announce it and those in between.

use super::token::Token;

/// Nouns that announce a rating.
pub(super) const NOUNS: &[&str] = &[
    "score",
    "rating",
    "grade",
    "mark",
    "verdict",
    "judgment",
    "judgement",
    "evaluation",
    "assessment",
    "punkte",
    "bewertung",
    "calificación",
    "puntuación",
    "评分",
    "得分",
    "分数",
];
/// Words that announce the one that counts.
pub(super) const FINALS: &[&str] = &["final", "overall", "conclusion", "gesamt", "总分"];
/// Verbs that announce a rating of something.
pub(super) const VERBS: &[&str] = &[
    "rate", "rated", "give", "gave", "given", "assign", "assigned", "award", "awarded", "deserve",
    "deserves", "merits", "merit", "earns", "receives", "gets", "scores", "scored", "grade",
    "graded",
];
/// What may stand between the announcement and the number.
const FILLERS: &[&str] = &[
    "is",
    "are",
    "was",
    "be",
    "would",
    "will",
    "should",
    "of",
    "a",
    "an",
    "the",
    "as",
    "at",
    "to",
    "it",
    "its",
    "this",
    "that",
    "i",
    "i'd",
    "i'll",
    "my",
    "for",
    "with",
    "on",
    "from",
    "scale",
    "here",
    "therefore",
    "thus",
    "so",
    "solid",
    "strong",
    "full",
    "only",
    "about",
    "response",
    "responses",
    "answer",
    "output",
    "reply",
    "assistant",
    "assistant's",
    "quality",
    "value",
    "score",
    "rating",
    "grade",
    "mark",
    "out",
    "between",
    "and",
    "points",
];
const FILLER_MARKS: &str = ":=-–—()→>[],#|";
/// Takes back what follows.
const NEGATIONS: &[&str] = &[
    "not",
    "cannot",
    "can't",
    "can’t",
    "never",
    "won't",
    "wouldn't",
    "wouldn’t",
    "don't",
    "isn't",
    "instead",
    "rather",
    "than",
    "if",
    "unless",
    "require",
    "without",
    "nor",
];
/// What may follow a rating; after any other word the number counts something.
const FOLLOWERS: &[&str] = &[
    "out", "because", "since", "as", "for", "due", "and", "but", "given", "star", "stars", "point",
    "points", "on", "in", "overall", "here", "which", "with", "rating", "score", "is", "would",
    "to", "so", "seems", "while", "it", "the", "i", "this", "based", "from", "or", "von", "分",
];

/// How strongly the words before a number announce it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Announcement {
    /// Not at all.
    Not,
    /// It is taken back.
    Denied,
    /// By a noun or a verb.
    Plainly,
    /// As the one that counts.
    Finally,
}

/// How the words before position `at` announce what stands there. `skipped`
/// says which tokens are part of a mention of the scale.
pub(super) fn announced(
    tokens: &[Token<'_>],
    at: usize,
    skipped: impl Fn(usize) -> bool,
) -> Announcement {
    let mut found = Announcement::Not;
    let mut lines = 0;
    for back in (at.saturating_sub(16)..at).rev() {
        let token = &tokens[back];
        if skipped(back) {
            continue;
        }
        if token.is_word(NEGATIONS) {
            return Announcement::Denied;
        }
        if token.is_word(FINALS) {
            return Announcement::Finally;
        }
        if token.is_word(NOUNS) || token.is_word(VERBS) {
            found = Announcement::Plainly;
            continue;
        }
        let passable = match token {
            Token::Line => {
                lines += 1;
                lines < 2 && found == Announcement::Not
            }
            Token::Word(_) => token.is_word(FILLERS),
            Token::Mark(_) => token.is_mark(FILLER_MARKS),
            Token::Number(_) => false,
        };
        if !passable {
            break;
        }
    }
    found
}

/// Whether a negation stands close before.
pub(super) fn denied(tokens: &[Token<'_>], at: usize) -> bool {
    let near = &tokens[at.saturating_sub(3)..at];
    near.iter().any(|token| token.is_word(NEGATIONS))
}

/// Whether what follows lets a number be a rating, and not a count of things.
pub(super) fn may_follow(next: Option<&Token<'_>>) -> bool {
    match next {
        Some(word @ Token::Word(_)) => word.is_word(FOLLOWERS),
        _ => true,
    }
}
