//! Near matches for a name that is not known.

/// Those of `known` that a person may have meant by `typed`, best first, at most three.
pub fn near_matches<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let typed = typed.to_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let similarity = strsim::jaro_winkler(&typed, &lower);
            let edits = strsim::damerau_levenshtein(&typed, &lower);
            let close = edits <= 1 + typed.chars().count() / 4 || similarity > 0.88;
            let part = typed.len() >= 3 && (lower.contains(&typed) || typed.contains(&lower));
            (close || part).then_some((similarity, name))
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// "did you mean `a` or `b`?", or `None` when nothing is near.
pub fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = near_matches(typed, known);
    (!near.is_empty()).then(|| format!("did you mean {}?", quoted_list(&near, "or")))
}

/// "`a`, `b` or `c`".
pub fn quoted_list<S: AsRef<str>>(names: &[S], last: &str) -> String {
    let quoted: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((end, others)) => format!("{} {last} {end}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_what_was_meant_and_nothing_else() {
        let known = ["answer_quality", "truncate", "extractive", "dedup", "demo"];
        for (typed, expected) in [
            ("anwser_quality", vec!["answer_quality"]),
            ("truncat", vec!["truncate"]),
            ("quality", vec!["answer_quality"]),
            ("DEMO", vec!["demo"]),
            ("zzz", vec![]),
        ] {
            assert_eq!(near_matches(typed, known), expected, "{typed}");
        }
        assert_eq!(
            did_you_mean("dedupe", known).as_deref(),
            Some("did you mean `dedup`?")
        );
    }
}
