//! MATH: the final answer stands in a box inside the worked solution.

use super::{Rows, Tables, each};
use crate::dataset::DatasetError;

const BOX: &str = "\\boxed{";

/// Adds `boxed`: what is in the first box of `solution`; the whole solution
/// when there is no box or nothing in it.
pub(super) fn prepare(rows: Rows, _: Tables) -> Result<Rows, DatasetError> {
    Ok(each(rows, |mut row| {
        let solution = row.get("solution").as_str();
        let solution = solution.ok_or_else(|| row.misfit("a problem without a `solution`"))?;
        let answer = boxed(solution).filter(|answer| !answer.is_empty());
        let answer = answer.unwrap_or(solution).to_owned();
        row.record.insert("boxed", answer.into());
        Ok(row)
    }))
}

/// What is in the first box. One that is never closed runs to the end.
fn boxed(text: &str) -> Option<&str> {
    let start = text.find(BOX)? + BOX.len();
    let inside = &text[start..];
    let mut depth = 1_usize;
    for (at, char) in inside.char_indices() {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&inside[..at]);
        }
    }
    Some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_box_with_its_braces_matched() {
        for (text, expected) in [
            (
                r"so $\boxed{\frac{1}{2}}$ and \boxed{3}",
                Some(r"\frac{1}{2}"),
            ),
            (r"\boxed{}", Some("")),
            (r"\boxed{never {closed}", Some("never {closed}")),
            ("no box", None),
        ] {
            assert_eq!(boxed(text), expected, "{text}");
        }
    }
}
