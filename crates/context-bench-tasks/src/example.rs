//! One example of a prompt, and where texts meet.

use context_bench_template::python;

/// A rendered example.
#[derive(Debug)]
pub(crate) struct Example {
    pub(crate) question: String,
    pub(crate) answer: String,
    pub(crate) prefix: Option<String>,
}

impl Example {
    /// The answer with its prefix; `None` for an example whose question says all, after
    /// which no delimiter stands and nobody speaks.
    pub(crate) fn full_answer(&self) -> Option<String> {
        match &self.prefix {
            None => Some(self.answer.clone()).filter(|answer| !answer.is_empty()),
            Some(prefix) => {
                let seam = seam(prefix, &self.answer, " ");
                Some(format!("{prefix}{seam}{}", self.answer))
            }
        }
    }
}

/// Whether white space stands where two texts meet.
pub(crate) fn has_space(before: &str, after: &str) -> bool {
    before.ends_with(python::is_space) || after.starts_with(python::is_space)
}

/// What goes between two texts: nothing when there is white space or nothing before.
pub(crate) fn seam<'d>(before: &str, after: &str, delimiter: &'d str) -> &'d str {
    if before.is_empty() || has_space(before, after) {
        ""
    } else {
        delimiter
    }
}
