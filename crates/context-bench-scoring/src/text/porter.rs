//! Porter's stemmer in the variant of NLTK, which Google's rouge-score uses.
//!
//! "An algorithm for suffix stripping" (1980) with NLTK's changes: a pool of
//! irregular words, `ies`/`ied` after a single letter, `y` after a consonant
//! only, `alli` applied again, `fulli` and `logi`, and a two-letter `*o`. For
//! scores that must equal those of other tools; our own matching uses `stem`.

/// Irregular words and their stems.
const POOL: &[(&str, &str)] = &[
    ("sky", "sky"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("news", "news"),
    ("innings", "inning"),
    ("inning", "inning"),
    ("outings", "outing"),
    ("outing", "outing"),
    ("cannings", "canning"),
    ("canning", "canning"),
    ("howe", "howe"),
    ("proceed", "proceed"),
    ("exceed", "exceed"),
    ("succeed", "succeed"),
];

/// Suffix, replacement; the first suffix that fits decides, whether or not its
/// condition holds.
type Rules = &'static [(&'static str, &'static str)];

const STEP_1A: Rules = &[("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")];

const STEP_2: Rules = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
    ("logi", "log"),
];

const STEP_3: Rules = &[
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

const STEP_4: Rules = &[
    ("al", ""),
    ("ance", ""),
    ("ence", ""),
    ("er", ""),
    ("ic", ""),
    ("able", ""),
    ("ible", ""),
    ("ant", ""),
    ("ement", ""),
    ("ment", ""),
    ("ent", ""),
    ("ion", ""),
    ("ou", ""),
    ("ism", ""),
    ("ate", ""),
    ("iti", ""),
    ("ous", ""),
    ("ive", ""),
    ("ize", ""),
];

/// The stem of a lower-case ASCII word. Other words pass unchanged.
pub fn porter_stem(word: &str) -> String {
    if let Some((_, stem)) = POOL.iter().find(|(known, _)| *known == word) {
        return (*stem).to_owned();
    }
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if word.len() <= 2 || !word.bytes().all(plain) {
        return word.to_owned();
    }
    let mut word = word.to_owned();
    step_1a(&mut word);
    step_1b(&mut word);
    step_1c(&mut word);
    step_2(&mut word);
    apply(&mut word, STEP_3, |_, stem| measure(stem) > 0);
    apply(&mut word, STEP_4, |suffix, stem| {
        measure(stem) > 1 && (suffix != "ion" || stem.ends_with(['s', 't']))
    });
    step_5(&mut word);
    word
}

/// Applies the first rule whose suffix fits, if its condition holds for suffix and stem.
fn apply(word: &mut String, rules: Rules, condition: impl Fn(&str, &str) -> bool) {
    let fits = rules
        .iter()
        .find_map(|(suffix, with)| Some((suffix, with, word.strip_suffix(suffix)?)));
    if let Some((suffix, with, stem)) = fits
        && condition(suffix, stem)
    {
        word.truncate(stem.len());
        word.push_str(with);
    }
}

fn step_1a(word: &mut String) {
    if word.len() == 4 && word.ends_with("ies") {
        word.truncate(3);
    } else {
        apply(word, STEP_1A, |_, _| true);
    }
}

fn step_1b(word: &mut String) {
    if word.ends_with("ied") {
        let keep = if word.len() == 4 { 1 } else { 2 };
        word.truncate(word.len() - keep);
        return;
    }
    if let Some(stem) = word.strip_suffix("eed") {
        if measure(stem) > 0 {
            word.pop();
        }
        return;
    }
    let stem = word
        .strip_suffix("ed")
        .or_else(|| word.strip_suffix("ing"))
        .filter(|stem| has_vowel(stem));
    let Some(stem) = stem else {
        return;
    };
    word.truncate(stem.len());
    if ["at", "bl", "iz"].iter().any(|end| word.ends_with(end)) {
        word.push('e');
    } else if ends_double_consonant(word) {
        if !word.ends_with(['l', 's', 'z']) {
            word.pop();
        }
    } else if measure(word) == 1 && ends_cvc(word) {
        word.push('e');
    }
}

fn step_1c(word: &mut String) {
    let after_consonant = |stem: &str| consonants(stem).next_back() == Some(true);
    if word
        .strip_suffix('y')
        .is_some_and(|stem| stem.len() > 1 && after_consonant(stem))
    {
        word.pop();
        word.push('i');
    }
}

fn step_2(word: &mut String) {
    while word
        .strip_suffix("alli")
        .is_some_and(|stem| measure(stem) > 0)
    {
        word.truncate(word.len() - 2);
    }
    let whole = word.clone();
    apply(word, STEP_2, |suffix, stem| match suffix {
        "logi" => measure(&whole[..whole.len() - 3]) > 0,
        _ => measure(stem) > 0,
    });
}

fn step_5(word: &mut String) {
    if let Some(stem) = word.strip_suffix('e')
        && (measure(stem) > 1 || measure(stem) == 1 && !ends_cvc(stem))
    {
        word.pop();
    }
    if word.ends_with("ll") && measure(&word[..word.len() - 1]) > 1 {
        word.pop();
    }
}

/// For each letter whether it is a consonant; `y` is one unless it follows one.
fn consonants(word: &str) -> std::vec::IntoIter<bool> {
    let mut flags: Vec<bool> = Vec::with_capacity(word.len());
    for byte in word.bytes() {
        let flag = match byte {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => flags.last().is_none_or(|previous| !previous),
            _ => true,
        };
        flags.push(flag);
    }
    flags.into_iter()
}

/// How often a consonant follows a vowel: Porter's measure.
fn measure(word: &str) -> usize {
    let mut after_vowel = false;
    let mut measure = 0;
    for consonant in consonants(word) {
        measure += usize::from(after_vowel && consonant);
        after_vowel = !consonant;
    }
    measure
}

fn has_vowel(word: &str) -> bool {
    consonants(word).any(|consonant| !consonant)
}

fn ends_double_consonant(word: &str) -> bool {
    matches!(word.as_bytes(), [.., a, b] if a == b) && consonants(word).next_back() == Some(true)
}

/// Consonant, vowel, consonant other than `w`, `x`, `y` at the end; also a word
/// that is just vowel and consonant.
fn ends_cvc(word: &str) -> bool {
    let flags: Vec<bool> = consonants(word).collect();
    match flags.as_slice() {
        [.., true, false, true] => !word.ends_with(['w', 'x', 'y']),
        [false, true] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_as_the_paper_and_nltk_do() {
        for (word, stem) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("ties", "tie"),
            ("died", "die"),
            ("skies", "sky"),
            ("agreed", "agre"),
            ("hopping", "hop"),
            ("filing", "file"),
            ("failing", "fail"),
            ("happy", "happi"),
            ("enjoy", "enjoy"),
            ("fly", "fli"),
            ("relational", "relat"),
            ("generalization", "gener"),
            ("radically", "radic"),
            ("geology", "geolog"),
            ("adoption", "adopt"),
            ("controlling", "control"),
            ("yyyy", "yyyi"),
            ("1990s", "1990"),
        ] {
            assert_eq!(porter_stem(word), stem, "{word}");
        }
    }
}
