//! Filters for multiple choice: options as lettered lines, answer keys as places.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the shape minijinja asks of filters"
)]

use minijinja::value::{Kwargs, Rest, Value};
use minijinja::{Environment, Error};

use super::args::{Args, wrong};
use super::{bounds, value};

/// The letters that label options.
const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

pub(crate) fn add(environment: &mut Environment<'static>) {
    environment.add_filter("letter_choices", letter_choices);
    environment.add_filter("answer_key_to_index", answer_key_to_index);
}

/// `["x", "y"]` as `A. x` and `B. y`, with `sep` between them; `style` says how a
/// letter is written, with `A` in its place: `A.`, `A)`, `(A)`.
fn letter_choices(this: Value, given: Rest<Value>, named: Kwargs) -> Result<String, Error> {
    let args = Args::of("letter_choices", &given, &named, &["sep", "style"], 0)?;
    let sep = args.text(0)?.unwrap_or("\n");
    let style = args.text(1)?.unwrap_or("A.");
    if !style.contains('A') {
        return Err(wrong(format!(
            "`letter_choices` needs a style with an `A` in it, such as `(A)`, found `{style}`"
        )));
    }
    let mut lines = Vec::new();
    let mut letters = LETTERS.chars();
    for choice in this.try_iter()? {
        let Some(letter) = letters.next() else {
            return Err(wrong(format!(
                "`letter_choices` has letters for {} choices",
                LETTERS.len()
            )));
        };
        bounds::fits(style.len().saturating_mul(LETTERS.len()))?;
        let label = style.replacen('A', &letter.to_string(), 1);
        lines.push(format!("{label} {}", value::str(&choice)));
    }
    Ok(lines.join(sep))
}

/// The place of an answer key among `labels`, letters unless given: `B` is 1.
fn answer_key_to_index(this: Value, given: Rest<Value>, named: Kwargs) -> Result<i64, Error> {
    let args = Args::of("answer_key_to_index", &given, &named, &["labels"], 0)?;
    let key = value::str(&this);
    let labels: Vec<String> = match args.get(0) {
        Some(labels) => labels.try_iter()?.map(|label| value::str(&label)).collect(),
        None => LETTERS.chars().map(String::from).collect(),
    };
    let found = labels.iter().position(|label| *label == key);
    found.and_then(|at| i64::try_from(at).ok()).ok_or_else(|| {
        wrong(format!(
            "`{key}` is not among the labels {}",
            labels.join(", ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use crate::jinja::Template;
    use serde_json::json;

    fn rendered(source: &str) -> Result<String, String> {
        let record = json!({"choices": ["x", "y"], "labels": ["1", "2", "3"], "key": "B"});
        let template = Template::compile("t", source).map_err(|error| error.to_string())?;
        let record = record.as_object().cloned().unwrap_or_default();
        template.render(&record).map_err(|error| error.to_string())
    }

    #[test]
    fn options_get_letters_and_keys_get_places() {
        for (source, expected) in [
            ("{{ choices | letter_choices }}", "A. x\nB. y"),
            ("{{ choices | letter_choices(' ', '(A)') }}", "(A) x (B) y"),
            ("{{ choices | letter_choices(style='A)') }}", "A) x\nB) y"),
            ("{{ key | answer_key_to_index }}", "1"),
            ("{{ '3' | answer_key_to_index(labels) }}", "2"),
        ] {
            assert_eq!(rendered(source).as_deref(), Ok(expected), "{source}");
        }
        for source in [
            "{{ key | answer_key_to_index(labels) }}",
            "{{ choices | letter_choices(style='1.') }}",
            "{{ range(30) | letter_choices }}",
            "{{ 3 | letter_choices }}",
        ] {
            assert!(rendered(source).is_err(), "{source}");
        }
    }
}
