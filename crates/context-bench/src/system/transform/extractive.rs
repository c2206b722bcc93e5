//! Keeping the sentences that fit the question best.
//!
//! BM25 ranks the sentences, a greedy pass fills the budget, and what was chosen
//! is written in the order of the document. Without a question (or without any
//! match) the rank is the position, so the lead of the text stays.

use std::sync::Arc;

use serde_json::json;

use super::fit::{End, fit};
use super::{Budget, BudgetError, Transform};
use crate::model::Identity;
use crate::text::bm25;
use crate::text::sentence::{Sentence, sentences};
use crate::text::words::is_space;
use crate::tokens::TokenCounter;

/// Keeps the sentences that fit the question best, up to a budget of tokens.
#[derive(Clone)]
pub struct Extractive {
    budget: Budget,
    counter: Arc<dyn TokenCounter>,
}

impl Extractive {
    /// Keeps sentences up to the budget as `counter` counts it.
    ///
    /// # Errors
    ///
    /// When the budget is a ratio that is not above 0 and at most 1.
    pub fn new(budget: Budget, counter: Arc<dyn TokenCounter>) -> Result<Self, BudgetError> {
        Ok(Self {
            budget: budget.checked()?,
            counter,
        })
    }
}

impl Transform for Extractive {
    fn name(&self) -> &str {
        "extractive"
    }

    fn identity(&self) -> Option<Identity> {
        let settings = json!({"budget": self.budget.to_json(), "tokenizer": self.counter.name()});
        Some(Identity::new(self.name(), 1, settings))
    }

    fn transform(&self, context: &str, question: &str) -> String {
        if self.budget == Budget::Ratio(1.0) {
            return context.to_owned();
        }
        let counter = self.counter.as_ref();
        let total = counter.count(context);
        let limit = self.budget.limit(total);
        if limit >= total {
            return context.to_owned();
        }
        let units = sentences(context);
        let texts: Vec<&str> = units.iter().map(Sentence::trimmed).collect();
        let ranked = rank(&bm25::scores(question, &texts));
        // Sentences are counted with the white space that will stand between them.
        let costs: Vec<u64> = units.iter().map(|unit| counter.count(unit.text)).collect();

        let mut chosen: Vec<usize> = Vec::new();
        let mut used = 0;
        for &index in &ranked {
            if !texts[index].is_empty() && used + costs[index] <= limit {
                used += costs[index];
                chosen.push(index);
            }
        }
        loop {
            let joined = join(&units, &chosen);
            let tokens = counter.count(&joined);
            if tokens <= limit && !chosen.is_empty() {
                return joined;
            }
            // `chosen` is in the order of rank, so the least useful go first.
            let mut surplus = tokens.saturating_sub(limit);
            while surplus > 0
                && let Some(index) = chosen.pop()
            {
                surplus = surplus.saturating_sub(costs[index].max(1));
            }
            if chosen.is_empty() {
                // Not even one sentence fits: the start of the best one does.
                let best = ranked.first().map_or("", |&index| texts[index]);
                return fit(best, End::Head, limit, counter).to_owned();
            }
        }
    }
}

/// Positions from the best score to the worst, ties in order.
fn rank(scores: &[f64]) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..scores.len()).collect();
    positions.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    positions
}

/// The chosen sentences in the order of the document. Neighbours keep what
/// stood between them; gaps become a space, a line break or a paragraph break.
fn join(units: &[Sentence<'_>], chosen: &[usize]) -> String {
    let mut order = chosen.to_vec();
    order.sort_unstable();
    let mut joined = String::new();
    let mut last: Option<usize> = None;
    for index in order {
        if let Some(last) = last {
            let before = &units[last];
            let gap = &before.text[before.text.trim_end_matches(is_space).len()..];
            joined.push_str(if units[index].paragraph != before.paragraph {
                "\n\n"
            } else if gap.contains('\n') {
                "\n"
            } else if gap.is_empty() && index == last + 1 {
                ""
            } else {
                " "
            });
        }
        joined.push_str(units[index].trimmed());
        last = Some(index);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Tokenizer;
    use proptest::prelude::*;

    const TEXT: &str = "Report\n\nThe harbour is old. The lamp was lit by Ann Bell. \
        It rained.\n\nThe tower is of granite. Nobody lives there now.";

    fn extract(budget: Budget, text: &str, question: &str) -> String {
        Extractive::new(budget, Tokenizer::Whitespace.counter())
            .expect("a valid budget")
            .transform(text, question)
    }

    #[test]
    fn the_best_sentences_stay_in_order() {
        for (tokens, question, expected) in [
            (7, "Who lit the lamp?", "The lamp was lit by Ann Bell."),
            (
                12,
                "What is the tower with the lamp made of?",
                "The lamp was lit by Ann Bell.\n\nThe tower is of granite.",
            ),
            (6, "", "Report\n\nThe harbour is old."),
            (3, "Who lit the lamp?", "Report\n\nIt rained."),
            (0, "Who lit the lamp?", ""),
            (99, "Who lit the lamp?", TEXT),
        ] {
            let found = extract(Budget::Tokens(tokens), TEXT, question);
            assert_eq!(found, expected, "{tokens} {question:?}");
        }
    }

    #[test]
    fn a_text_that_is_one_sentence_keeps_its_start() {
        let found = extract(Budget::Ratio(0.5), "a b c d e f g h", "h");
        assert_eq!(found, "a b c d");
    }

    proptest! {
        #[test]
        fn never_more_than_the_budget(
            text in "(\\PC|[ \n.!a-e]|The lamp is lit\\. ){0,100}",
            question in "\\PC{0,20}",
            limit in 0_u64..60,
        ) {
            let counter = Tokenizer::Cl100kBase.counter();
            let found = Extractive::new(Budget::Tokens(limit), Arc::clone(&counter))
                .expect("a valid budget")
                .transform(&text, &question);
            prop_assert!(counter.count(&found) <= limit);
        }
    }
}
