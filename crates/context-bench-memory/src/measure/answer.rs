//! Answers by the official rule of LoCoMo.

use context_bench_scoring::official::locomo::{self, Category};

use crate::MemoryQuestion;

/// The official score of an answer to a question of LoCoMo, by its kind; `None` for a kind
/// that the benchmark does not have. An answer to an adversarial question is right when it
/// says that nothing was said.
pub fn official_f1(question: &MemoryQuestion, answer: &str) -> Option<f64> {
    let category = Category::named(&question.kind)?;
    Some(locomo::score(category, answer, question.answer()))
}
