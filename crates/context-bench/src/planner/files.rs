//! Plain files of examples: whether they hold what systems ask about, reported before the
//! first request.

use context_bench_error::suggest::near_matches;
use context_bench_error::suggest::quoted_list;
use serde_json::json;

use super::{Notice, PlanError, Systems};
use crate::dataset::{First, Shape, keys};
use crate::model::Example;
use crate::plan::{DataSpec, ScoringSpec};

/// Keys that files of users have where systems know another name.
const MEANT: [(&str, &[&str]); 3] = [
    (
        "question",
        &[
            "prompt",
            "query",
            "input",
            "instruction",
            "user_input",
            "user",
            "request",
            "problem",
            "q",
        ],
    ),
    (
        "answer",
        &[
            "expected",
            "expected_output",
            "expected_answer",
            "target",
            "gold",
            "golden",
            "reference",
            "ground_truth",
            "completion",
            "output",
            "label",
            "a",
        ],
    ),
    (
        "context",
        &[
            "contexts",
            "document",
            "documents",
            "passage",
            "passages",
            "article",
            "chunks",
            "source",
            "text",
        ],
    ),
];

/// Names of the correct answer that evaluators know.
const ANSWERS: [&str; 3] = ["answer", "answers", "correct_letter"];

/// How plain files are read for these systems.
pub(super) fn shape(data: &DataSpec, systems: &Systems) -> Shape {
    let probe = Example::new()
        .with("context", json!(["x"]))
        .with("question", "?");
    // A list would be sent as it is, or not be seen at all.
    let sends_text = systems.systems.iter().any(|system| {
        let prompt = system.prompt(&probe);
        prompt.is_some_and(|texts| !texts.iter().any(|text| text == "x"))
    });
    Shape {
        map: data.map.clone(),
        joins: sends_text,
    }
}

/// Looks at the beginning of a file: whether there is something to ask, and what users
/// should know about how it is read.
pub(super) fn review(
    tag: &str,
    file: &str,
    first: &First,
    shape: &Shape,
    systems: &Systems,
    scoring: &ScoringSpec,
) -> Result<Vec<Notice>, PlanError> {
    let mut notices = Vec::new();
    let keys = first.keys();
    if let Some(between) = first.delimiter.filter(|between| is_unusual(file, *between)) {
        let between = match between {
            '\t' => "tabs".to_owned(),
            other => format!("`{other}`"),
        };
        notices.push(Notice::new(format!(
            "the fields of `{file}` are taken to be separated by {between}"
        )));
    }
    first.check_map(file, shape)?;
    let asks = |example: &Example| {
        let has = |key: &str| example.get(key).is_some_and(|value| !value.is_null());
        let empty = Example::new();
        let mut sending = systems.systems.iter();
        has("turns")
            || has("messages")
            || sending.all(|system| {
                let prompt = system.prompt(example);
                prompt.is_none() || prompt != system.prompt(&empty)
            })
    };
    if !first.examples.is_empty() && !first.examples.iter().any(asks) {
        return Err(PlanError::new(format!(
            "`{file}` has nothing to ask: its records have neither `question` nor `context`, but \
             {}\n  at {file}",
            listed(&keys)
        ))
        .with_hint(how_to_map(&keys, &[])));
    }
    if first.has_parts {
        notices.push(Notice::new(format!(
            "`{tag}`: contexts are lists or chunks; their texts are joined, with a blank line \
             between two"
        )));
    }
    // Evaluators that were asked for may compare with other keys.
    let is_usual = scoring.evaluators.is_none() && scoring.judge_url.is_none();
    let wanted = match is_usual {
        true => &["question", "answer"][..],
        false => &["question"],
    };
    notices.extend(unread(tag, first, shape, systems, wanted));
    Ok(notices)
}

/// That a key looks like one that systems or evaluators know, but is not.
fn unread(
    tag: &str,
    first: &First,
    shape: &Shape,
    systems: &Systems,
    wanted: &[&'static str],
) -> Option<Notice> {
    // Programs and objects of the caller may know any key.
    let knows_all = |system: &std::sync::Arc<dyn crate::system::System>| {
        system.prompt(&Example::new()).is_none()
    };
    if first.examples.is_empty() || systems.systems.iter().any(knows_all) {
        return None;
    }
    let now = keys(&first.examples);
    let has = |names: &[&str]| names.iter().any(|name| now.contains(name));
    let lacking = wanted.iter().copied().filter(|name| {
        let is_there = match *name {
            "question" => has(&["question", "turns", "messages"]),
            _ => has(&ANSWERS),
        };
        !is_there && !shape.map.contains_key(*name)
    });
    let found: Vec<(&str, &str)> = lacking
        .filter_map(|name| Some((name, meant(name, &now, &[])?)))
        .collect();
    let (name, key) = *found.first()?;
    let what = format!("`{tag}` has no `{name}`, but `{key}`, which is not used");
    Some(Notice::new(what).with_hint(mapping(&found)))
}

/// The key of a file that probably means a name.
fn meant<'a>(name: &str, keys: &[&'a str], taken: &[&str]) -> Option<&'a str> {
    let known = MEANT.iter().find(|(known, _)| *known == name);
    let usual = known.map_or(&[][..], |(_, usual)| usual);
    let free = || keys.iter().copied().filter(|key| !taken.contains(key));
    let same = free().find(|key| key.eq_ignore_ascii_case(name));
    let listed = usual
        .iter()
        .find_map(|usual| free().find(|key| key.eq_ignore_ascii_case(usual)));
    same.or(listed).or_else(|| {
        let words = free().filter(|key| key.len() > 3);
        near_matches(name, words).first().copied()
    })
}

fn how_to_map(keys: &[&str], taken: &[&str]) -> String {
    let mut taken = taken.to_vec();
    let mut found = Vec::new();
    for (name, _) in MEANT {
        if let Some(key) = meant(name, keys, &taken) {
            found.push((name, key));
            taken.push(key);
        }
    }
    match found.is_empty() {
        true => "say which key is which: `--map question=KEY,answer=KEY` (`data: {map: {question: \
                 KEY}}` in a run file, `load_file(PATH, map={\"question\": KEY})` in Python)"
            .to_owned(),
        false => mapping(&found),
    }
}

fn mapping(found: &[(&str, &str)]) -> String {
    let flags: Vec<String> = found.iter().map(|(n, k)| format!("{n}={k}")).collect();
    let keys: Vec<String> = found.iter().map(|(n, k)| format!("{n}: {k}")).collect();
    let dict: Vec<String> = found
        .iter()
        .map(|(n, k)| format!("\"{n}\": \"{k}\""))
        .collect();
    format!(
        "say which key is which: `--map {}` (`data: {{map: {{{}}}}}` in a run file, \
         `load_file(PATH, map={{{}}})` in Python)",
        flags.join(","),
        keys.join(", "),
        dict.join(", ")
    )
}

/// Some keys in words.
fn listed(keys: &[&str]) -> String {
    const SHOWN: usize = 12;
    let more = match keys.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = &keys[..keys.len().min(SHOWN)];
    match keys {
        [] => "no keys at all".to_owned(),
        [one] => format!("the key `{one}`"),
        _ if more.is_empty() => format!("the keys {}", quoted_list(shown, "and")),
        _ => format!("the keys `{}`{more}", shown.join("`, `")),
    }
}

/// Whether a table has another delimiter than its name says.
fn is_unusual(file: &str, between: char) -> bool {
    let is_tsv = file.to_lowercase().contains(".tsv");
    between != if is_tsv { '\t' } else { ',' }
}

/// That a mapping is for plain files, of which the run has none.
pub(super) fn unused_map(data: &DataSpec, has_files: bool) -> Option<Notice> {
    let unused = !data.map.is_empty() && !has_files;
    unused.then(|| {
        Notice::new(
            "`--map` has no effect: it is for plain files, and datasets by name and tasks know \
             their keys",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_what_they_usually_mean() {
        for (keys, expected) in [
            (
                &["prompt", "expected"][..],
                "--map question=prompt,answer=expected`",
            ),
            (
                &["Question", "Answer"],
                "--map question=Question,answer=Answer`",
            ),
            (&["quesion", "x"], "--map question=quesion`"),
            (&["x", "y"], "--map question=KEY,answer=KEY`"),
        ] {
            let hint = how_to_map(keys, &[]);
            assert!(hint.contains(expected), "{hint}");
        }
        let many: Vec<String> = (0..15).map(|i| i.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(listed(&many).ends_with("`11` and 3 more"));
    }
}
