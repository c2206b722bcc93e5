//! NoLiMa: every test of every needle set, hidden at every depth of every book.
//!
//! What is made: (sets × forms of the question × tests) × books × 26 depths, at the length
//! in tokens that the split of the dataset names. One example at a time, as 32,000 tokens
//! a thousand times would fill any memory.

use std::sync::Arc;

use serde_json::{Value, json};

use super::haystack::Haystack;
use super::{Row, Rows, Tables};
use crate::dataset::DatasetError;
use crate::dataset::catalog::error::DatasetCatalogError;
use crate::dataset::catalog::shuffled_options::DigestRandom;
use crate::text::stringify::python_str;

/// Who lives where the needle says when a set names no one.
const SOMEONE: &str = "Alice";

/// How many depths there are, evenly from the beginning to the end.
const DEPTHS: usize = 26;

/// What the draws of the authors begin with. The names that we draw are others than theirs.
const SEED: u64 = 42;

/// Tests begin so many placements apart, so that the first examples are of all depths.
const STRIDE: usize = 7;

/// The form of a question that has the words of the needle, which does not count.
const DIRECT: &str = "direct";

/// One record per example.
pub(super) fn prepare(
    rows: Rows,
    mut tables: Tables,
    length: Option<&str>,
) -> Result<Rows, DatasetError> {
    let length = tokens(length.unwrap_or_default())?;
    let books = tables.remove("haystack").unwrap_or_default();
    let books: Vec<Haystack> = books
        .iter()
        .map(|book| Haystack::new(book.get("text").as_str().unwrap_or_default(), length))
        .collect();
    // Sets are small; they are needed again for every placement.
    let (mut tests, mut problems) = (Vec::new(), Vec::new());
    for row in rows {
        match row.and_then(|row| of_set(&Arc::new(row))) {
            Ok(own) => tests.extend(own),
            Err(error) => problems.push(Err(error)),
        }
    }
    let n_placements = books.len() * DEPTHS;
    let n_tests = tests.len();
    let examples = (0..n_placements * n_tests).map(move |n| {
        let (placement, nth) = (n / n_tests, n % n_tests);
        let placement = (placement + nth * STRIDE) % n_placements;
        let (depth, book) = (placement / books.len(), placement % books.len());
        Ok(tests[nth].hidden(&books[book], book, depth))
    });
    Ok(Rows::new(problems.into_iter().chain(examples)))
}

/// A length in tokens: `250`, `1k`.
fn tokens(typed: &str) -> Result<usize, DatasetError> {
    let lower = typed.trim().to_lowercase();
    let (digits, factor) = match lower.strip_suffix('k') {
        Some(digits) => (digits, 1000),
        None => (lower.as_str(), 1),
    };
    let number = digits.parse::<usize>().ok().filter(|number| *number > 0);
    let number = number.and_then(|number| number.checked_mul(factor));
    number.ok_or_else(|| {
        let error = DatasetCatalogError::BadLength {
            dataset: "nolima".into(),
            typed: typed.to_owned(),
        };
        error.into()
    })
}

/// One form of a question of one test.
struct Test {
    set: Arc<Row>,
    id: String,
    form: String,
    needle: String,
    question: String,
    distractors: Vec<String>,
    /// What is right; nothing where it is the name that was drawn.
    golds: Vec<String>,
}

/// The tests of a set, in all forms but the direct one; a set that has no other has that.
fn of_set(set: &Arc<Row>) -> Result<Vec<Test>, DatasetError> {
    let tests = set.get("tests").as_object();
    let tests = tests.ok_or_else(|| set.misfit("a needle set without `tests`"))?;
    let questions = set.get("questions").as_object();
    let questions = questions.ok_or_else(|| set.misfit("a needle set without `questions`"))?;
    let is_direct_only = questions.keys().all(|form| form == DIRECT);
    let mut made = Vec::new();
    for (test_id, test) in tests {
        let arguments = test["input_args"].as_array();
        let filled = |template: &Value| {
            let mut text = template.as_str().unwrap_or_default().to_owned();
            for (n, argument) in (1..).zip(arguments.into_iter().flatten()) {
                text = text.replace(&format!("{{{n}}}"), &python_str(argument));
            }
            text
        };
        for (form, question) in questions {
            if form == DIRECT && !is_direct_only || question.is_null() {
                continue;
            }
            let golds = [&test["gold_answers"], set.get("gold_answers")];
            let golds = golds.into_iter().map(texts).find(|golds| !golds.is_empty());
            let distractors = match set.get("distractors") {
                Value::Object(by_form) => by_form.get(form).unwrap_or(&Value::Null),
                all => all,
            };
            made.push(Test {
                set: Arc::clone(set),
                id: format!("{}_{test_id}_{form}", python_str(set.get("id"))),
                form: form.clone(),
                needle: filled(set.get("needle")),
                question: filled(question),
                distractors: match distractors {
                    Value::Array(several) => several.iter().map(filled).collect(),
                    Value::String(_) => vec![filled(distractors)],
                    _ => Vec::new(),
                },
                golds: golds.unwrap_or_default(),
            });
        }
    }
    Ok(made)
}

/// A text, or a list of them.
fn texts(value: &Value) -> Vec<String> {
    let list = match value {
        Value::Null => &[],
        Value::Array(list) => &list[..],
        one => std::slice::from_ref(one),
    };
    list.iter()
        .map(|text| python_str(text).into_owned())
        .collect()
}

impl Test {
    /// The test at a depth of a book, with a name that is drawn for this placement.
    fn hidden(&self, book: &Haystack, nth_book: usize, nth_depth: usize) -> Row {
        let placement = json!([nth_book, nth_depth]);
        let mut dice = DigestRandom::of(SEED, "nolima", &[self.id.as_str().into(), placement]);
        let names = texts(self.set.get("character_set"));
        let name = match names.len() {
            0 => SOMEONE,
            n => &names[dice.below(n)],
        };
        let named = |text: &str| text.replace("{CHAR}", name);
        let snippet = book.snippet(nth_depth, DEPTHS);
        let distractors: Vec<String> = self.distractors.iter().map(|text| named(text)).collect();
        let context = snippet.hiding(&named(&self.needle), &distractors, |n| dice.below(n));
        let golds = match self.golds.is_empty() {
            true => vec![name.to_owned()],
            false => self.golds.clone(),
        };
        let depth = 100.0 * nth_depth as f64 / (DEPTHS - 1) as f64;
        self.set.becomes([
            ("id", format!("{}_{nth_book}_{nth_depth}", self.id).into()),
            ("context", context.into()),
            ("question", named(&self.question).into()),
            ("answers", golds.into()),
            ("form", self.form.as_str().into()),
            ("length", snippet.n_tokens.into()),
            ("depth", depth.into()),
            ("haystack", nth_book.into()),
            ("system_prompt", self.set.get("system_prompt").clone()),
            ("template", self.set.get("task_template").clone()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Hint as _, Place};

    fn row(value: &Value) -> Row {
        Row {
            record: value.as_object().unwrap().clone().into(),
            at: Place::file("sets.json"),
        }
    }

    fn made(set: &Value, books: &[&str], length: &str) -> Vec<Row> {
        let books = books.iter().map(|text| row(&json!({"text": text})));
        let tables = Tables::from([("haystack".to_owned(), books.collect())]);
        let rows = Rows::new(std::iter::once(Ok(row(set))));
        let made = prepare(rows, tables, Some(length)).unwrap();
        made.map(Result::unwrap).collect()
    }

    fn set() -> Value {
        json!({
            "id": "0401", "needle": "{CHAR} lives by the {1}.",
            "questions": {"onehop": "Who knows the {1}?", "twohop": "Who knows {2}?", "direct": "Who lives by the {1}?"},
            "character_set": ["Yuki", "Stuart", "Megan"],
            "tests": {"T1": {"input_args": ["mill", "Sarn"]}},
        })
    }

    #[test]
    fn every_form_but_the_direct_one_at_every_place() {
        let made = made(&set(), &["a\nb\n", "c\nd\n"], "250");
        assert_eq!(made.len(), 2 * 2 * DEPTHS);
        let ids: std::collections::BTreeSet<String> =
            made.iter().map(|row| row.get("id").to_string()).collect();
        assert_eq!(ids.len(), made.len());
        let forms = |form: &str| made.iter().filter(|row| row.get("form") == form).count();
        assert_eq!((forms("onehop"), forms("twohop")), (104 / 2, 104 / 2));
        // A new name is drawn for each placement, and is what the needle says.
        let mut names = std::collections::BTreeSet::new();
        for row in &made {
            let name = row.get("answers")[0].as_str().unwrap();
            let needle = format!("{name} lives by the mill.\n");
            assert!(row.get("context").as_str().unwrap().contains(&needle));
            names.insert(name);
        }
        assert_eq!(names.len(), 3);
        assert_eq!(made[0].get("question"), "Who knows the mill?");
        assert_eq!(made[1].get("question"), "Who knows Sarn?");
        // The same once more.
        let again = super::tests::made(&set(), &["a\nb\n", "c\nd\n"], "250");
        assert_eq!(made[7].get("context"), again[7].get("context"));
    }

    #[test]
    fn the_first_examples_are_of_many_depths() {
        let mut set = set();
        for n in 2..=20 {
            set["tests"][format!("T{n}")] = json!({"input_args": ["well", "Orrin"]});
        }
        let made = made(&set, &["a\n", "b\n", "c\n", "d\n", "e\n"], "1k");
        let depths: std::collections::BTreeSet<String> = made[..40]
            .iter()
            .map(|row| row.get("depth").to_string())
            .collect();
        assert_eq!(depths.len(), DEPTHS);
    }

    #[test]
    fn sets_may_have_golds_templates_and_distractors() {
        let mut set = set();
        set["tests"]["T1"]["gold_answers"] = json!(["the miller", "he"]);
        set["system_prompt"] = "Be brief.".into();
        set["task_template"] = "{haystack} {question}".into();
        set["distractors"] = json!({"onehop": "Nobody knows the {1}."});
        let made = made(&set, &["a\nb\nc\nd\n"], "250");
        for row in &made {
            assert_eq!(row.get("answers"), &json!(["the miller", "he"]));
            assert_eq!(row.get("system_prompt"), "Be brief.");
            assert_eq!(row.get("template"), "{haystack} {question}");
            let context = row.get("context").as_str().unwrap();
            let has = context.lines().any(|line| line == "Nobody knows the mill.");
            assert_eq!(has, row.get("form") == "onehop", "{context}");
        }
        let only = json!({
            "id": "n", "needle": "{CHAR} is here.", "questions": {"direct": "Who is here?"},
            "character_set": [], "tests": {"T": {}},
        });
        let made = super::tests::made(&only, &["a\n"], "250");
        assert_eq!(made.len(), DEPTHS);
        assert_eq!(made[0].get("answers"), &json!(["Alice"]));
    }

    #[test]
    fn lengths_are_numbers_of_tokens() {
        for (typed, expected) in [("250", 250), ("1k", 1000), ("32K", 32_000)] {
            assert_eq!(tokens(typed).unwrap(), expected);
        }
        for typed in ["", "k", "0", "test", "-1", "1.5k", "99999999999999999999k"] {
            let error = tokens(typed).unwrap_err();
            assert!(
                error.to_string().contains("not a length of `nolima`"),
                "{typed}"
            );
            assert!(error.hint().is_some_and(|hint| hint.contains("nolima@1k")));
        }
    }

    #[test]
    fn a_set_that_does_not_fit_costs_no_other() {
        let tables = Tables::from([("haystack".to_owned(), vec![row(&json!({"text": "a\n"}))])]);
        let rows = [Ok(row(&json!({"id": "x"}))), Ok(row(&set()))];
        let made = prepare(Rows::new(rows.into_iter()), tables, Some("1k")).unwrap();
        let made: Vec<_> = made.collect();
        assert!(made[0].is_err());
        assert_eq!(made.len(), 1 + 2 * DEPTHS);
    }
}
