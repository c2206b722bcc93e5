//! Mathematical answers: finding them in prose, reading LaTeX, and telling
//! whether two of them are equal.
//!
//! Pure functions over text with bounded work: no input hangs them, overflows
//! the stack or allocates much. `extract` finds the answer, `latex` makes
//! tokens, `parse` a tree, `equal` compares trees; `exact` and `approx` give
//! trees values.

mod answer;
mod approx;
mod bracket;
mod case;
mod command;
mod complex;
mod either;
mod equal;
mod exact;
mod expr;
mod extract;
mod glyph;
mod latex;
mod operand;
mod parse;
mod phrase;
mod rational;
mod relation;
mod scalar;
mod token;
mod value;
mod words;

pub use extract::extract_answer;

/// Whether two answers are mathematically equal, such as `\frac{1}{2}` and `0.5`.
///
/// The answers are compared as they are; `extract_answer` finds them in longer
/// texts. Reflexive and symmetric. Texts that are not mathematics are compared
/// ignoring case and layout.
///
/// ```
/// use context_bench_scoring::math::equivalent;
///
/// assert!(equivalent("(x+1)^2", "x^2 + 2x + 1"));
/// assert!(equivalent(r"12\frac{3}{5}", "$12.60"));
/// assert!(!equivalent("(1, 2)", "(2, 1)"));
/// ```
pub fn equivalent(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim(), b.trim());
    if a == b {
        return true;
    }
    let same =
        |a: &str, b: &str| equal::answers_equal(&answer::Answer::read(a), &answer::Answer::read(b));
    if same(a, b) {
        return true;
    }
    // Only between the spellings: of two words in capitals the order of letters counts.
    match (case::folded(a), case::folded(b)) {
        (Some(folded), None) if !case::mixes_cases(b) => same(&folded, b),
        (None, Some(folded)) if !case::mixes_cases(a) => same(a, &folded),
        _ => false,
    }
}
