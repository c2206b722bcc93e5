//! Names that the user may have meant.

/// The known names closest to the one asked for, best first, at most three.
pub(crate) fn near<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let asked = asked.to_lowercase();
    let mut found: Vec<(f64, &str)> = known
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let mut likeness = strsim::jaro_winkler(&asked, &lower);
            let inside = |long: &str, short: &str| short.len() > 2 && long.contains(short);
            if inside(&lower, &asked) || inside(&asked, &lower) {
                likeness = likeness.max(0.9);
            }
            (likeness >= 0.8).then_some((likeness, name))
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    found.dedup_by(|a, b| a.1 == b.1);
    found.truncate(3);
    found.into_iter().map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::near;

    #[test]
    fn close_names_come_first() {
        let known = ["distractor", "fullwiki", "train", "validation"];
        assert_eq!(near("distracter", known), ["distractor"]);
        assert_eq!(near("Validation", known), ["validation"]);
        assert_eq!(near("wiki", known), ["fullwiki"]);
        assert!(near("zzz", known).is_empty());
    }
}
