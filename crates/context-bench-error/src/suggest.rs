//! Near matches for a name that is not known.

/// Those of `known` that a person may have meant by `typed`, best first, at most three.
pub fn near_matches<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let typed = typed.to_lowercase();
    let most_edits = 1 + typed.chars().count() / 4;
    let letters = Letters::of(&typed);
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let part = typed.len() >= 3 && (lower.contains(&typed) || typed.contains(&lower));
            // A tree of tasks has many names, and the distances are slow.
            if !part && !letters.may_be_near(&Letters::of(&lower), most_edits) {
                return None;
            }
            let similarity = strsim::jaro_winkler(&typed, &lower);
            let close =
                similarity > NEAR || strsim::damerau_levenshtein(&typed, &lower) <= most_edits;
            (close || part).then_some((similarity, name))
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// The least similarity of names that are near.
const NEAR: f64 = 0.88;
/// The most by which a common beginning raises a similarity: a tenth of what is missing to
/// 1, for each of up to four characters.
const BEGINNING: f64 = 0.4;

/// How often each letter occurs, in few buckets: enough to see that names are far apart.
struct Letters {
    counts: [u16; 64],
    n: usize,
}

impl Letters {
    fn of(text: &str) -> Self {
        let mut letters = Self {
            counts: [0; 64],
            n: 0,
        };
        for c in text.chars() {
            let count = &mut letters.counts[c as usize % 64];
            *count = count.saturating_add(1);
            letters.n += 1;
        }
        letters
    }

    /// Whether names with these letters can be near: no more edits than that, or similar.
    fn may_be_near(&self, other: &Self, most_edits: usize) -> bool {
        let pairs = self.counts.iter().zip(&other.counts);
        let common: usize = pairs.map(|(a, b)| usize::from(*a.min(b))).sum();
        // Each edit adds, removes or changes one letter; to swap two leaves them all.
        let edits = self.n.max(other.n) - common;
        let share = |n: usize| common as f64 / n.max(1) as f64;
        let similarity = (share(self.n) + share(other.n) + 1.0) / 3.0;
        let similarity = similarity + BEGINNING * (1.0 - similarity);
        edits <= most_edits || similarity > NEAR
    }
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
    fn looking_at_letters_first_loses_no_name() {
        let words = [
            "mmlu_anatomy",
            "arc_easy",
            "gsm8k",
            "hellaswag",
            "日本語_qa",
            "x",
            "",
        ];
        let mut names: Vec<String> = Vec::new();
        for (i, word) in words.iter().enumerate() {
            names.push((*word).to_owned());
            names.push(word.chars().rev().collect());
            for (at, c) in word.char_indices() {
                names.push(format!("{}{}", &word[..at], &word[at + c.len_utf8()..]));
                names.push(format!("{}{i}{}", &word[..at], &word[at..]));
            }
        }
        let slow = |a: &str, b: &str| {
            strsim::damerau_levenshtein(a, b) <= 1 + a.chars().count() / 4
                || strsim::jaro_winkler(a, b) > NEAR
        };
        for typed in &names {
            let most_edits = 1 + typed.chars().count() / 4;
            for name in names.iter().filter(|name| slow(typed, name)) {
                let near = Letters::of(typed).may_be_near(&Letters::of(name), most_edits);
                assert!(near, "`{typed}` and `{name}`");
            }
        }
    }

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
