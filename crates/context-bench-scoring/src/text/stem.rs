//! English words reduced to a common form, for matching only.
//!
//! A small suffix stripper: it brings `restored`, `restoring`, `restores` and
//! `restoration` together, and irregular forms through a table. It is lighter
//! than Porter's stemmer and makes no attempt at real lemmas; its output is never
//! shown. Words of other scripts pass unchanged.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Irregular forms of common verbs and nouns, each line after the form it is matched as.
const IRREGULAR: &[&str] = &[
    "win won",
    "write wrote written",
    "build built",
    "sink sank sunk sunken",
    "begin began begun",
    "give gave given gift",
    "take took taken",
    "lead led",
    "hold held",
    "pay paid",
    "buy bought",
    "find found",
    "say said",
    "make made",
    "leave left",
    "lose lost loss",
    "sell sold sale",
    "keep kept",
    "meet met",
    "go went gone",
    "come came",
    "grow grew grown growth",
    "know knew known",
    "draw drew drawn",
    "fly flew flown flight",
    "fall fell fallen",
    "break broke broken",
    "speak spoke spoken",
    "choose chose chosen choice",
    "steal stole stolen",
    "freeze froze frozen",
    "wear wore worn",
    "rise rose risen",
    "run ran",
    "sing sang sung",
    "drink drank",
    "swim swam",
    "shake shook shaken",
    "teach taught",
    "catch caught",
    "bring brought",
    "think thought",
    "seek sought",
    "fight fought",
    "sleep slept",
    "spend spent",
    "send sent",
    "lend lent",
    "shoot shot",
    "stand stood",
    "tell told",
    "strike struck",
    "hang hung",
    "hide hidden hid",
    "see saw seen",
    "eat ate eaten",
    "drive drove driven",
    "throw threw thrown",
    "blow blew blown",
    "light lit",
    "hear heard",
    "feel felt",
    "deal dealt",
    "mean meant",
    "burn burnt",
    "ride rode ridden",
    "ring rang rung",
    "sit sat",
    "bear bore born borne birth",
    "tear tore torn",
    "swear swore sworn",
    "weave wove woven",
    "bind bound",
    "wind wound",
    "dig dug",
    "feed fed",
    "breed bred",
    "flee fled",
    "lay laid",
    "die death dead dying",
    "man men",
    "woman women",
    "child children",
    "person people",
    "foot feet",
    "tooth teeth",
    "mouse mice",
    "goose geese",
    "wife wives",
    "life lives",
    "leaf leaves",
    "half halves",
    "long longer longest",
];

/// From an irregular form to the form it is matched as.
static BASES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    IRREGULAR
        .iter()
        .filter_map(|line| line.split_once(' '))
        .flat_map(|(base, forms)| forms.split(' ').map(move |form| (form, base)))
        .collect()
});

/// Reduces a word in place; it must be in lower case already.
pub fn stem(word: &mut String) {
    if !word.is_ascii() || word.len() < 3 {
        return;
    }
    // No irregular form is longer, so long words skip the look-up.
    if word.len() < 9
        && let Some(base) = BASES.get(word.as_str())
    {
        word.clear();
        word.push_str(base);
    }
    strip_plural(word);
    strip_ending(word);
    for (suffix, min) in [("ment", 4), ("ion", 4), ("ly", 4), ("at", 5), ("e", 3)] {
        // `ion` is a suffix only behind `t` or `s`: `creation`, not `champion`.
        let fits = suffix != "ion" || word.ends_with("tion") || word.ends_with("sion");
        if fits && word.len() >= min + suffix.len() && word.ends_with(suffix) {
            word.truncate(word.len() - suffix.len());
        }
    }
    undouble(word);
    if word.len() > 3 && word.ends_with('y') {
        word.pop();
        word.push('i');
    }
}

fn strip_plural(word: &mut String) {
    if word.len() > 4 && word.ends_with("ies") {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if ["sses", "shes", "ches", "xes", "zes"]
        .iter()
        .any(|end| word.ends_with(end))
    {
        word.truncate(word.len() - 2);
    } else if word.len() > 3
        && word.ends_with('s')
        && !["ss", "us", "is"].iter().any(|end| word.ends_with(end))
    {
        word.pop();
    }
}

fn strip_ending(word: &mut String) {
    for suffix in ["ied", "ing", "ed", "er"] {
        let Some(base) = word.strip_suffix(suffix) else {
            continue;
        };
        // `ring`, `bed` and `red` have no vowel before the ending; `water` and
        // `under` show that `er` needs more in front of it to be an ending.
        let min = if suffix == "er" { 4 } else { 3 };
        if base.len() < min || !base.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
            continue;
        }
        word.truncate(base.len());
        if suffix == "ied" {
            word.push('y');
        }
        return;
    }
}

/// `stopp` to `stop`, and so `fall` to `fal`: what counts is that all forms agree.
fn undouble(word: &mut String) {
    if let [_, .., first, second] = word.as_bytes()
        && first == second
        && !b"aeiou".contains(second)
    {
        word.pop();
    }
}

/// Words that carry no content of their own.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "but", "by", "can", "could", "d", "did", "do", "does",
    "doing", "done", "each", "for", "from", "had", "has", "have", "having", "he", "her", "hers",
    "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "ll", "many", "may",
    "me", "might", "more", "most", "much", "must", "my", "of", "on", "or", "our", "own", "s",
    "shall", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "to", "too", "us", "ve", "very", "was",
    "we", "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will",
    "with", "would", "you", "your",
];

/// Whether a lower-case word carries no content of its own.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stemmed(word: &str) -> String {
        let mut word = word.to_owned();
        stem(&mut word);
        word
    }

    #[test]
    fn forms_of_a_word_meet() {
        for forms in [
            &[
                "restore",
                "restores",
                "restored",
                "restoring",
                "restoration",
            ][..],
            &["replace", "replaced", "replacement", "replacements"],
            &["stop", "stopped", "stopping", "stops"],
            &["city", "cities"],
            &["carry", "carried", "carries", "carrying"],
            &["found", "find", "finding"],
            &["founded", "founder", "foundation"],
            &["write", "wrote", "written", "writes", "writing"],
            &["win", "won", "winner", "wins"],
            &["expel", "expelled", "expels"],
            &["fall", "fell", "falling"],
        ] {
            let first = stemmed(forms[0]);
            for form in forms {
                assert_eq!(stemmed(form), first, "{form}");
            }
        }
    }

    #[test]
    fn different_words_stay_apart() {
        for (one, other) in [
            ("ring", "r"),
            ("bed", "b"),
            ("bus", "bu"),
            ("champion", "champ"),
        ] {
            assert_ne!(stemmed(one), stemmed(other));
        }
        assert_eq!(stemmed("größe"), "größe");
    }

    #[test]
    fn stop_words_are_sorted_for_the_search() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("the") && is_stop_word("your") && !is_stop_word("bridge"));
    }
}
