//! The filter `format_span`: named entities in one spelling.

const LABELS: &[(&str, &[&str])] = &[
    ("per", &["person", "people", "persons", "per"]),
    (
        "loc",
        &[
            "location",
            "places",
            "counties",
            "country",
            "continent",
            "loc",
        ],
    ),
    ("org", &["organization", "company", "org"]),
    ("date", &["date", "time"]),
];

/// `People: Ada, Bob $$ places: Rome` becomes `per: ada $ per: bob $ loc: rome`.
pub(super) fn format(text: &str) -> String {
    let text = text.to_lowercase().replace("$$", "$").replace('\n', "$");
    let mut spans = Vec::new();
    for part in text.split('$') {
        let Some((before, values)) = part.split_once(':') else {
            continue;
        };
        let word = before
            .trim()
            .rsplit(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or("");
        let label = LABELS.iter().find(|(_, words)| words.contains(&word));
        let Some((label, _)) = label else { continue };
        for value in values.split(',').map(str::trim) {
            if !value.is_empty() && value != "none" {
                spans.push(format!("{label}: {value}"));
            }
        }
    }
    spans.join(" $ ")
}
