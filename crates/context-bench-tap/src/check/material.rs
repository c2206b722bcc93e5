//! What probes talk about: long texts, records and words that stand nowhere else. The same seed
//! gives the same texts.
//!
//! Requests have to look like work. A proxy may switch a transform off for good when the first
//! thing it sees is one word, and compress nothing that has no repetition in it.

use serde_json::{Value, json};

/// Numbers that follow from a seed (splitmix64).
#[derive(Debug, Clone)]
pub(super) struct Draws(u64);

impl Draws {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }
}

/// An invented word that no other probe has. Letters only: proxies replace what looks like an
/// id, a date or a path, so that a canary of digits would not arrive.
pub(super) fn canary(seed: u64, number: u64) -> String {
    const FIRST: [&str; 16] = [
        "Bral", "Crin", "Dovr", "Elth", "Farn", "Grol", "Hask", "Irv", "Jorn", "Kelb", "Lind",
        "Mord", "Nask", "Orv", "Pell", "Quar",
    ];
    const MIDDLE: [&str; 16] = [
        "adi", "eno", "iru", "osa", "uli", "ave", "eki", "ilo", "omu", "uza", "aro", "efi", "ity",
        "obe", "uga", "ane",
    ];
    const LAST: [&str; 8] = [
        "wick", "stead", "moor", "burn", "ford", "gate", "holm", "dale",
    ];
    // The number decides on its own, so that no two of a check are the same.
    let mut draws = Draws::new(seed);
    let turned = number.wrapping_mul(0x9e5).wrapping_add(draws.next()) % 2048;
    let (first, rest) = (turned % 16, turned / 16);
    let (middle, last) = (rest % 16, rest / 16);
    [
        FIRST[first as usize],
        MIDDLE[middle as usize],
        LAST[last as usize],
    ]
    .concat()
}

const PEOPLE: [&str; 12] = [
    "Marta Ilves",
    "Jonas Brandt",
    "Aiko Tanabe",
    "Rui Carvalho",
    "Nadia Haddad",
    "Peter Lindqvist",
    "Chioma Eze",
    "Tomasz Wrona",
    "Leila Farahani",
    "Giulia Conti",
    "Samir Patel",
    "Elin Dahl",
];
const PLACES: [&str; 8] = [
    "the north warehouse",
    "the loading dock",
    "the cold store",
    "the paint shop",
    "the packing hall",
    "the returns desk",
    "the boiler room",
    "the spare parts shelf",
];
const THINGS: [&str; 10] = [
    "the conveyor belt",
    "a forklift",
    "the sprinkler valve",
    "the label printer",
    "a pallet of valves",
    "the emergency door",
    "the ventilation fan",
    "a batch of filters",
    "the weighing scale",
    "the fire extinguisher",
];

/// A report of an inspection in prose, of about so many bytes.
pub(super) fn report(seed: u64, canary: &str, bytes: usize) -> String {
    let mut draws = Draws::new(seed);
    let mut out = format!(
        "Inspection report of the site {canary}. The site {canary} was visited by two inspectors, \
         who walked through every hall and wrote down what they found.\n\n"
    );
    let mut paragraph = 0;
    while out.len() < bytes {
        paragraph += 1;
        out.push_str(&format!("Section {paragraph}, {}.", draws.one(&PLACES[..])));
        for _ in 0..6 {
            out.push(' ');
            out.push_str(&sentence(&mut draws));
        }
        out.push_str("\n\n");
    }
    out
}

fn sentence(draws: &mut Draws) -> String {
    let (who, other) = (draws.one(&PEOPLE), draws.one(&PEOPLE));
    let (what, place) = (draws.one(&THINGS), draws.one(&PLACES));
    let (one, two) = (2 + draws.below(60), 100 + draws.below(900));
    match draws.below(7) {
        0 => format!(
            "{who} measured {what} in {place} and noted {one} millimetres of wear after {two} hours of use."
        ),
        1 => format!(
            "According to {who}, {what} had been replaced {one} weeks ago at a price of {two} crowns, which {other} confirmed."
        ),
        2 => format!(
            "In {place} the inspectors counted {two} boxes, {one} of them without a label, and asked {who} to sort them."
        ),
        3 => format!(
            "{who} said that {what} makes a noise every {one} minutes; {other} had not heard it during the visit."
        ),
        4 => format!(
            "The record of {place} lists {two} deliveries in the quarter, of which {one} came late because {what} was out of order."
        ),
        5 => format!(
            "It was agreed that {who} repairs {what} within {one} days and that {other} checks {place} afterwards."
        ),
        _ => format!(
            "Nothing unusual was seen near {what}; the temperature in {place} was {one} degrees and the humidity normal."
        ),
    }
}

/// What a tool found: many records of one shape, as tools return them.
pub(super) fn records(seed: u64, canary: &str, count: usize) -> Value {
    let mut draws = Draws::new(seed);
    let records = (0..count).map(|at| {
        json!({
            "order": 4000 + at,
            "customer": draws.one(&PEOPLE),
            "item": draws.one(&THINGS),
            "place": draws.one(&PLACES),
            "quantity": 1 + draws.below(40),
            "status": draws.one(&["delivered", "delivered", "delivered", "late", "returned"]),
            "site": canary,
        })
    });
    Value::Array(records.collect())
}

/// A picture of one pixel, as base64 of a PNG.
pub(super) const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The smallest file that readers take for a PDF, as base64.
pub(super) const FILE: &str = "JVBERi0xLjEKMSAwIG9iajw8L1R5cGUvQ2F0YWxvZy9QYWdlcyAyIDAgUj4+ZW5kb2JqCjIgMCBvYmo8PC9UeXBlL1BhZ2VzL0tpZHNbXS9Db3VudCAwPj5lbmRvYmoKdHJhaWxlcjw8L1Jvb3QgMSAwIFI+Pgo=";

/// What the model is told to be. It has nothing in it that a proxy would want to align.
pub(super) const INSTRUCTIONS: &str = "You are the assistant of a team of safety inspectors. \
Answer from the reports that you are given and from nothing else. Name the section that an answer \
is from. If a report does not say it, say that it does not. Keep answers to three sentences, and \
never guess a number that is not in the report.";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn canaries_are_different_words() {
        for seed in [0, 7] {
            let words: BTreeSet<String> = (0..500).map(|number| canary(seed, number)).collect();
            assert_eq!(words.len(), 500);
            for word in &words {
                assert!(word.chars().all(char::is_alphabetic), "{word}");
                let others = words.iter().filter(|other| other.contains(word.as_str()));
                assert_eq!(others.count(), 1, "{word}");
            }
        }
    }

    #[test]
    fn reports_are_long_and_follow_from_the_seed() {
        let text = report(3, "Braladiwick", 18_000);
        assert!(text.len() >= 18_000 && text.contains("Braladiwick"));
        // A token has about four letters.
        assert!(text.len() / 4 >= 4_000);
        assert_eq!(text, report(3, "Braladiwick", 18_000));
        assert_ne!(text, report(4, "Braladiwick", 18_000));
        assert_eq!(records(1, "x", 60).as_array().unwrap().len(), 60);
    }
}
