//! Small pieces of text that several commands print.

use context_bench::ExampleId;
use serde_json::{Value, json};

/// `1 example`, `2 examples`.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", plural(n))
}

/// The ending of a noun after a number.
pub(crate) fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// A text with continuation lines indented, shortened to some characters; `remedy` says how to
/// see the rest.
pub(crate) fn shortened(text: &str, max_chars: usize, remedy: &str) -> String {
    let text = text.replace('\n', "\n    ");
    match text.char_indices().nth(max_chars) {
        Some((at, _)) => {
            let rest = text[at..].chars().count();
            format!("{}… ({rest} more characters{remedy})", &text[..at])
        }
        None => text,
    }
}

/// Strings without quotes, other values as JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The id of an example as JSON: a number or a string.
pub(crate) fn id_json(id: &ExampleId) -> Value {
    match id {
        ExampleId::Int(n) => json!(n),
        ExampleId::Text(text) => json!(&**text),
    }
}

/// Sections of aligned columns, each below its title.
pub(crate) fn sections(sections: &[(&str, Vec<Vec<String>>)]) -> String {
    let mut text = String::new();
    for (title, rows) in sections {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &format!("{title}:\n");
        let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..n_columns)
            .map(|column| {
                let cells = rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        for row in rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line += &format!("  {cell:width$}");
            }
            text += line.trim_end();
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_have_no_trailing_space() {
        let row = |cells: &[&str]| cells.iter().map(ToString::to_string).collect::<Vec<_>>();
        let text = sections(&[
            ("first", vec![row(&["a", "bc"]), row(&["def", ""])]),
            ("second", vec![row(&["é"])]),
        ]);
        assert_eq!(text, "first:\n  a    bc\n  def\n\nsecond:\n  é\n");
    }

    #[test]
    fn long_texts_say_how_much_is_missing() {
        assert_eq!(shortened("a\nb", 9, ""), "a\n    b");
        assert_eq!(shortened("ééé", 1, ""), "é… (2 more characters)");
    }
}
