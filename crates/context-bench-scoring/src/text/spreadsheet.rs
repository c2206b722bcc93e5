//! Cells that spreadsheets take for text.
//!
//! A spreadsheet computes what begins with `=`, `+`, `-`, `@`, a tab or a carriage return,
//! also in CSV, and an answer of a model may begin so. As OWASP advises, such a cell gets
//! an apostrophe before it, which spreadsheets do not show. One is added to cells with
//! apostrophes before such a beginning as well, so that taking one away from every cell of
//! that form gives back what was there.

use std::borrow::Cow;

/// The cell as no spreadsheet computes it. Numbers stay: they are what they say.
pub fn text_cell(cell: &str) -> Cow<'_, str> {
    let bare = cell.trim_start_matches('\'');
    let is_formula = bare.starts_with(['=', '+', '-', '@', '\t', '\r']);
    match is_formula && !is_number(cell) {
        true => format!("'{cell}").into(),
        false => cell.into(),
    }
}

fn is_number(cell: &str) -> bool {
    let digits = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    cell.chars().all(digits) && cell.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_text_and_can_be_read_back() {
        let read_back = |cell: &str| {
            let bare = cell.trim_start_matches('\'');
            match bare.starts_with(['=', '+', '-', '@', '\t', '\r']) {
                true => cell.strip_prefix('\'').unwrap_or(cell).to_owned(),
                false => cell.to_owned(),
            }
        };
        for (cell, expected) in [
            ("=HYPERLINK(\"http://h\")", "'=HYPERLINK(\"http://h\")"),
            ("+1+cmd", "'+1+cmd"),
            ("-1+1", "'-1+1"),
            ("- a list", "'- a list"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("'=1", "''=1"),
            ("-0.5", "-0.5"),
            ("+3", "+3"),
            ("-1e-05", "-1e-05"),
            ("-inf", "'-inf"),
            ("it's", "it's"),
            ("'quoted'", "'quoted'"),
            ("", ""),
        ] {
            assert_eq!(text_cell(cell), expected, "{cell:?}");
            assert_eq!(read_back(expected), cell, "{cell:?}");
        }
    }
}
