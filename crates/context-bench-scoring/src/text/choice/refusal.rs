//! Sentences that decline to answer.

use super::token::Token;
use crate::text::lexicon::{Lexicon, words};

static UNABLE: Lexicon =
    Lexicon::new(|| words("cannot can't couldn't unable won't don't impossible"));
static CHOOSE: Lexicon = Lexicon::new(|| words("answer choose select pick"));
static GIVE: Lexicon = Lexicon::new(|| words("provide give determine offer know identify"));
static ANSWER: Lexicon = Lexicon::new(|| words("answer option choice question"));

/// Where the last sentence begins that declines to choose (a token index).
/// A text about what cannot be determined is not meant.
pub(super) fn declines(tokens: &[Token<'_>]) -> Option<usize> {
    (0..tokens.len()).rev().find(|i| {
        let not_able = tokens[*i].in_list(&["not"])
            && tokens
                .get(i + 1)
                .is_some_and(|next| next.in_list(&["able", "possible"]));
        if !tokens[*i].in_set(&UNABLE) && !not_able {
            return false;
        }
        // Others cannot do things either; a refusal speaks for itself.
        let speaker = &tokens[i.saturating_sub(3)..*i];
        let own = ["i", "we", "it", "i'm"];
        if !speaker.iter().any(|token| token.in_list(&own)) {
            return false;
        }
        let after = |from: usize, n: usize| &tokens[from..tokens.len().min(from + n)];
        let next = after(i + 1, 4);
        let give = next.iter().position(|token| token.in_set(&GIVE));
        next.iter().any(|token| token.in_set(&CHOOSE))
            || give.is_some_and(|give| {
                let what = after(i + 2 + give, 5);
                what.iter().any(|token| token.in_set(&ANSWER))
            })
    })
}

/// Whether the text apologises or misses information, which without any
/// statement of a choice makes it a refusal.
pub(super) fn hesitates(tokens: &[Token<'_>]) -> bool {
    declines(tokens).is_some()
        || tokens.iter().enumerate().any(|(i, token)| {
            let next = |list: &[&str]| tokens.get(i + 1).is_some_and(|next| next.in_list(list));
            token.in_list(&["sorry", "apologize", "apologise"])
                || token.in_list(&["not"]) && next(&["enough", "sure"])
                || token.in_list(&["don't"]) && next(&["know"])
                || token.in_list(&["insufficient"]) && next(&["information", "data"])
        })
}
