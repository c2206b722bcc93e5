//! Cutting a context to a budget: the oldest way to make it fit.

use std::sync::Arc;

use serde_json::json;

use super::fit::{End, fit};
use super::{Budget, BudgetError, Transform};
use crate::model::Identity;
use crate::tokens::TokenCounter;

/// Which part of the context stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// The beginning.
    #[default]
    Head,
    /// The end.
    Tail,
    /// Both ends, half of the budget each; the middle is cut out. Prompts that
    /// are too long are shortened this way by `LongBench` and others, as
    /// instructions and questions mostly stand at the ends.
    Ends,
}

/// Cuts the context to a budget of tokens, at word borders where possible.
#[derive(Clone)]
pub struct Truncate {
    keep: Keep,
    budget: Budget,
    counter: Arc<dyn TokenCounter>,
}

impl Truncate {
    /// Keeps that part of a context, up to the budget as `counter` counts it.
    ///
    /// # Errors
    ///
    /// When the budget is a ratio that is not above 0 and at most 1.
    pub fn new(
        keep: Keep,
        budget: Budget,
        counter: Arc<dyn TokenCounter>,
    ) -> Result<Self, BudgetError> {
        Ok(Self {
            keep,
            budget: budget.checked()?,
            counter,
        })
    }

    /// Both ends with a line break between them, together within the limit.
    fn ends(&self, context: &str, limit: u64) -> String {
        let counter = self.counter.as_ref();
        // The line break may cost a token.
        let mut left = limit.saturating_sub(1);
        loop {
            let head = fit(context, End::Head, left.div_ceil(2), counter);
            let tail = fit(&context[head.len()..], End::Tail, left / 2, counter);
            if tail.is_empty() {
                return head.to_owned();
            }
            let joined = format!("{head}\n{tail}");
            let tokens = counter.count(&joined);
            if tokens <= limit || left == 0 {
                return joined;
            }
            left = left.saturating_sub(tokens - limit);
        }
    }
}

impl Transform for Truncate {
    fn name(&self) -> &str {
        "truncate"
    }

    fn identity(&self) -> Option<Identity> {
        let settings = json!({
            "keep": format!("{:?}", self.keep),
            "budget": self.budget.to_json(),
            "tokenizer": self.counter.name(),
        });
        Some(Identity::new(self.name(), 1, settings))
    }

    fn transform(&self, context: &str, _question: &str) -> String {
        if self.budget == Budget::Ratio(1.0) {
            return context.to_owned();
        }
        let counter = self.counter.as_ref();
        let total = counter.count(context);
        let limit = self.budget.limit(total);
        if limit >= total {
            return context.to_owned();
        }
        match self.keep {
            Keep::Head => fit(context, End::Head, limit, counter).to_owned(),
            Keep::Tail => fit(context, End::Tail, limit, counter).to_owned(),
            Keep::Ends => self.ends(context, limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Tokenizer;
    use proptest::prelude::*;

    fn cut(keep: Keep, budget: Budget, tokenizer: Tokenizer, text: &str) -> String {
        Truncate::new(keep, budget, tokenizer.counter())
            .expect("a valid budget")
            .transform(text, "")
    }

    #[test]
    fn the_named_part_stays() {
        let text = "one two three four five six seven eight";
        for (keep, budget, expected) in [
            (Keep::Head, Budget::Tokens(3), "one two three"),
            (Keep::Tail, Budget::Tokens(3), "six seven eight"),
            (Keep::Ends, Budget::Tokens(5), "one two\nseven eight"),
            (Keep::Head, Budget::Ratio(0.5), "one two three four"),
            (Keep::Head, Budget::Ratio(1.0), text),
            (Keep::Ends, Budget::Tokens(8), text),
            (Keep::Tail, Budget::Tokens(0), ""),
            (Keep::Ends, Budget::Tokens(0), ""),
            (Keep::Head, Budget::Ratio(0.01), ""),
        ] {
            let found = cut(keep, budget, Tokenizer::Whitespace, text);
            assert_eq!(found, expected, "{keep:?} {budget:?}");
        }
    }

    #[test]
    fn words_and_characters_stay_whole() {
        let english = "The unquestionable restoration continued throughout September.";
        for limit in 1..9 {
            let budget = Budget::Tokens(limit);
            let head = cut(Keep::Head, budget, Tokenizer::Cl100kBase, english);
            let next = &english[head.len()..];
            assert!(next.is_empty() || next.starts_with([' ', '.']), "{head:?}");
        }
        let chinese = "灯塔".repeat(200);
        let budget = Budget::Ratio(0.5);
        let head = cut(Keep::Head, budget, Tokenizer::Cl100kBase, &chinese);
        assert!(head.len() > chinese.len() / 3, "{}", head.len());
    }

    #[test]
    fn most_of_the_budget_is_used_on_long_texts() {
        let text = "The keeper lit the lamp at dusk, on 3 November 1868.\n".repeat(4000);
        let total = Tokenizer::Cl100kBase.count(&text);
        for keep in [Keep::Head, Keep::Tail, Keep::Ends] {
            let found = cut(keep, Budget::Ratio(0.4), Tokenizer::Cl100kBase, &text);
            let tokens = Tokenizer::Cl100kBase.count(&found);
            let share = tokens as f64 / total as f64;
            assert!((0.395..=0.4).contains(&share), "{keep:?} {share}");
        }
    }

    /// Whether a text is a head of another, a line break and a tail of it.
    fn is_made_of_ends(found: &str, text: &str) -> bool {
        text.starts_with(found)
            || found
                .match_indices('\n')
                .any(|(at, _)| text.starts_with(&found[..at]) && text.ends_with(&found[at + 1..]))
    }

    proptest! {
        #[test]
        fn never_more_than_the_budget_and_only_original_pieces(
            text in "(\\PC|[ \n.,a-e一-丠]){0,300}",
            limit in 0_u64..80,
        ) {
            for tokenizer in [Tokenizer::Cl100kBase, Tokenizer::Whitespace] {
                let budget = Budget::Tokens(limit);
                let head = cut(Keep::Head, budget, tokenizer, &text);
                let tail = cut(Keep::Tail, budget, tokenizer, &text);
                let ends = cut(Keep::Ends, budget, tokenizer, &text);
                for piece in [&head, &tail, &ends] {
                    prop_assert!(tokenizer.count(piece) <= limit, "{:?}", piece);
                }
                prop_assert!(text.starts_with(&head));
                prop_assert!(text.ends_with(&tail));
                prop_assert!(is_made_of_ends(&ends, &text), "{:?}", ends);
            }
        }
    }
}
