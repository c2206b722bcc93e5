//! `Story`: a conversation of the check, whose facts conflict with those of all others.
//!
//! Every story tells of the same things and gives them other values, so that an answer
//! shows by its value which story it is from. Some facts are corrected later in the same
//! story, and one is told in no other.

use std::collections::{HashMap, HashSet};

use context_bench_memory::Turn;

use super::Stage;

/// The most stories of a stage: each has a fact of its own.
pub(super) const MOST: usize = OWNERS.len();

/// What all stories tell of; those behind the first [`CORRECTED`] are corrected later.
const THINGS: [(&str, Kind); 5] = [
    ("the code of the blue door", Kind::Number),
    ("the number of the green locker", Kind::Number),
    ("the name of the old boat", Kind::Word),
    ("the code of the garage", Kind::Number),
    ("the name of the new neighbour", Kind::Word),
];
pub(super) const CORRECTED: usize = 3;

/// Whose diary it is that only one story tells of.
const OWNERS: [&str; 24] = [
    "Alma", "Boris", "Clara", "Dario", "Edda", "Fabio", "Greta", "Hugo", "Irma", "Jonas", "Karla",
    "Leon", "Mila", "Nils", "Olga", "Pavel", "Rosa", "Sven", "Thea", "Ulrich", "Vera", "Walter",
    "Yara", "Zeno",
];

/// What else people talk about: no digits, and no word of the facts.
const SMALL_TALK: [(&str, &str); 12] = [
    (
        "It has been raining since breakfast and the street is quiet.",
        "A good day to stay inside and read.",
    ),
    (
        "My sister wants to visit us at the end of the month.",
        "That sounds lovely, it has been a while.",
    ),
    (
        "We tried the new bakery around the corner this morning.",
        "I hope the bread was as good as people say.",
    ),
    (
        "The cat slept on my coat again.",
        "Coats seem to be its favourite place.",
    ),
    (
        "I have started to learn the violin, to everybody's regret.",
        "The first weeks are always hard on the family.",
    ),
    (
        "The meeting took far too long and nothing was decided.",
        "Perhaps a shorter agenda would help.",
    ),
    (
        "We planted tomatoes behind the shed.",
        "They will like the sun there.",
    ),
    (
        "The train was late, so I walked the last part.",
        "At least the weather was kind.",
    ),
    (
        "I cannot find my reading glasses anywhere.",
        "Have you looked on top of your head?",
    ),
    (
        "Somebody left a bag of apples on our steps.",
        "What a friendly thing to do.",
    ),
    (
        "The cinema shows old films on Thursdays.",
        "We should go there together some time.",
    ),
    (
        "I repaired the squeaking chair in the kitchen.",
        "Now it will be quiet at dinner.",
    ),
];

/// What a value looks like.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Number,
    Word,
}

/// Something that a story tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    /// What asks for it.
    pub(super) question: String,
    /// What holds at the end.
    pub(super) value: String,
    /// What was said first, when it was corrected.
    pub(super) earlier: Option<String>,
}

/// A conversation and what is true in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Story {
    pub(super) stage: Stage,
    /// Its number in the stage, from 1.
    pub(super) number: usize,
    pub(super) turns: Vec<Turn>,
    /// The last one is told in no other story of the stage.
    pub(super) facts: Vec<Fact>,
}

/// All stories of a check.
#[derive(Debug)]
pub(super) struct Stories {
    stories: Vec<Story>,
    /// Which story a value is of.
    owners: HashMap<String, usize>,
}

impl Stories {
    /// Stories for every stage, the same for the same seed.
    pub(super) fn new(seed: u64, per_stage: impl Fn(Stage) -> usize) -> Self {
        let mut values = Values {
            random: Random(seed),
            taken: HashSet::new(),
        };
        let mut all = Self {
            stories: Vec::new(),
            owners: HashMap::new(),
        };
        for stage in Stage::ALL {
            for at in 0..per_stage(stage).min(MOST) {
                let story = Story::new(stage, at, &mut values);
                for fact in &story.facts {
                    for value in fact.earlier.iter().chain([&fact.value]) {
                        all.owners.insert(value.to_lowercase(), all.stories.len());
                    }
                }
                all.stories.push(story);
            }
        }
        all
    }

    /// The stories of a stage, by their place among all.
    pub(super) fn of(&self, stage: Stage) -> Vec<usize> {
        let stories = self.stories.iter().enumerate();
        let of_stage = stories.filter(|(_, story)| story.stage == stage);
        of_stage.map(|(at, _)| at).collect()
    }

    /// A story by its place.
    pub(super) fn get(&self, at: usize) -> &Story {
        &self.stories[at]
    }

    /// The values that a text names, with the stories that they are of, in order of their
    /// first mention.
    pub(super) fn named_in(&self, text: &str) -> Vec<(String, usize)> {
        let mut found: Vec<(String, usize)> = Vec::new();
        let text = text.to_lowercase();
        // `4,711` is 4711, but `4711,9023` are two.
        for text in [&text, &without_separators(&text)] {
            for word in text.split(|c: char| !c.is_alphanumeric()) {
                if let Some(owner) = self.owners.get(word)
                    && !found.iter().any(|(known, _)| known == word)
                {
                    found.push((word.to_owned(), *owner));
                }
            }
        }
        found
    }
}

impl Story {
    fn new(stage: Stage, at: usize, values: &mut Values) -> Self {
        let mut facts = Vec::new();
        let mut told: Vec<(usize, String)> = Vec::new();
        for (place, (thing, kind)) in THINGS.into_iter().enumerate() {
            let value = values.next(kind);
            let told_once = |value: &str| format!("You should know that {thing} is {value}.");
            if place < CORRECTED {
                told.push((place % 2, told_once(&value)));
                facts.push(Fact {
                    question: format!("What is {thing}?"),
                    value,
                    earlier: None,
                });
            } else {
                let earlier = values.next(kind);
                told.push((0, told_once(&earlier)));
                let change = format!(
                    "That is no longer right, it has changed: {thing} is {value} now, and no other."
                );
                told.push((2, change));
                facts.push(Fact {
                    question: format!("What is {thing} now?"),
                    value,
                    earlier: Some(earlier),
                });
            }
        }
        let owner = OWNERS[at];
        let value = values.next(Kind::Word);
        told.push((1, format!("The password of {owner}'s diary is {value}.")));
        facts.push(Fact {
            question: format!("What is the password of {owner}'s diary?"),
            value,
            earlier: None,
        });
        Self {
            stage,
            number: at + 1,
            turns: turns(&told, &mut values.random),
            facts,
        }
    }
}

/// Three sessions in which this is told, among small talk.
fn turns(told: &[(usize, String)], random: &mut Random) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut talk = random.below(SMALL_TALK.len());
    for session in 0..3 {
        let mut say = |role: &str, text: &str| {
            let id = format!("S{}:{}", session + 1, turns.len() + 1);
            let mut turn = Turn::new(id, role, text);
            turn.session = Some(format!("S{}", session + 1).into());
            turns.push(turn);
        };
        for (_, text) in told.iter().filter(|(when, _)| *when == session) {
            let (remark, reply) = SMALL_TALK[talk % SMALL_TALK.len()];
            say("user", remark);
            say("assistant", reply);
            say("user", text);
            say("assistant", "Thank you, I will keep it in mind.");
            talk += 1;
        }
    }
    turns
}

/// Values that nobody would say by chance, each once.
struct Values {
    random: Random,
    taken: HashSet<String>,
}

impl Values {
    fn next(&mut self, kind: Kind) -> String {
        loop {
            let value = match kind {
                // Four digits that are no year.
                Kind::Number => (3001 + self.random.below(6900)).to_string(),
                Kind::Word => self.random.word(),
            };
            if self.taken.insert(value.to_lowercase()) {
                return value;
            }
        }
    }
}

/// SplitMix64: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        // Limits are small, so the remainder is even enough.
        (self.next() % limit.max(1) as u64) as usize
    }

    /// A name that is in no dictionary.
    fn word(&mut self) -> String {
        const STARTS: [&str; 12] = [
            "Br", "Dr", "Kv", "Vr", "Zb", "Tr", "Gl", "Kr", "Pr", "Skr", "Vl", "Zv",
        ];
        const VOWELS: [&str; 5] = ["a", "e", "i", "o", "u"];
        const MIDDLES: [&str; 12] = [
            "lv", "nk", "rz", "mb", "zd", "ck", "vn", "lt", "rv", "dz", "gn", "pl",
        ];
        const ENDS: [&str; 10] = ["x", "k", "m", "n", "sk", "rt", "v", "z", "ld", "th"];
        let mut pick = |of: &[&'static str]| of[self.below(of.len())];
        [
            pick(&STARTS),
            pick(&VOWELS),
            pick(&MIDDLES),
            pick(&VOWELS),
            pick(&ENDS),
        ]
        .concat()
    }
}

/// The text without commas between a digit and three digits.
fn without_separators(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let digits = text[at + c.len_utf8()..].bytes();
        let digits = digits.take_while(u8::is_ascii_digit).count();
        let separates = c == ',' && digits == 3 && out.ends_with(|c: char| c.is_ascii_digit());
        if !separates {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stories_are_the_same_for_a_seed_and_share_no_value() {
        let stories = Stories::new(7, |_| MOST);
        let again = Stories::new(7, |_| MOST);
        assert_eq!(stories.stories, again.stories);
        assert_ne!(stories.stories, Stories::new(8, |_| MOST).stories);
        let per_story = THINGS.len() + (THINGS.len() - CORRECTED) + 1;
        assert_eq!(stories.owners.len(), stories.stories.len() * per_story);
        for (at, story) in stories.stories.iter().enumerate() {
            let text: Vec<String> = story.turns.iter().map(Turn::line).collect();
            let named = stories.named_in(&text.join("\n"));
            assert_eq!(named.len(), per_story);
            assert!(named.iter().all(|(_, owner)| *owner == at));
            for fact in &story.facts {
                let told = |value: &str| text.iter().position(|line| line.contains(value));
                let last = told(&fact.value).expect("told");
                let first = fact.earlier.as_deref().map(told);
                assert!(first.is_none_or(|first| first.expect("told") < last));
            }
        }
    }

    #[test]
    fn values_are_found_however_they_are_written() {
        let stories = Stories::new(1, |_| 2);
        let number = &stories.get(0).facts[0].value;
        let word = &stories.get(1).facts[2].value;
        let (thousand, rest) = number.split_at(1);
        for (text, expected) in [
            (format!("It is **{number}**."), vec![0]),
            (format!("{thousand},{rest}!"), vec![0]),
            (format!("{number},{word}"), vec![0, 1]),
            (format!("1{number} and {word}s"), vec![]),
            (
                format!("{}'s {}", word.to_uppercase(), word.to_lowercase()),
                vec![1],
            ),
            (String::new(), vec![]),
        ] {
            let found = stories.named_in(&text);
            let owners: Vec<usize> = found.into_iter().map(|(_, owner)| owner).collect();
            assert_eq!(owners, expected, "{text}");
        }
    }
}
