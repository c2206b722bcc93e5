//! What the names of values tell, and what keys look like.

/// Parts of names of values that are secrets.
const SECRET_PARTS: [&str; 13] = [
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "authorization",
    "cookie",
    "credential",
    "bearer",
    "signature",
    "jwt",
];
/// Parts that look like them and are not.
const HARMLESS_PARTS: [&str; 30] = [
    "keyword",
    "keyboard",
    "monkey",
    "tokeniz",
    "cache_key",
    "sort_key",
    "primary_key",
    "foreign_key",
    "answer_key",
    "max_token",
    "max-token",
    "min_token",
    "min-token",
    "new_token",
    "num_token",
    "n_token",
    "prompt_token",
    "completion_token",
    "special_token",
    "stop_token",
    "eos_token",
    "bos_token",
    "pad_token",
    "unk_token",
    "sep_token",
    "mask_token",
    "prefix_token",
    "token_id",
    "token_count",
    "token_budget",
];
/// Names that are secrets only as a whole.
const SECRET_NAMES: [&str; 5] = ["sig", "auth", "pwd", "pass", "x-auth"];
/// Names of that sort that prose has for other things.
const WEAK_NAMES: [&str; 4] = ["key", "keys", "token", "tokens"];

/// How keys of well-known services begin, and how long they are at least.
const KEY_STARTS: [(&str, usize); 13] = [
    ("sk-", 9),
    ("sk_", 20),
    ("pk_live_", 20),
    ("rk_live_", 20),
    ("hf_", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("github_pat_", 20),
    ("glpat-", 20),
    ("xoxb-", 20),
    ("gsk_", 20),
    ("AIza", 30),
    ("AKIA", 20),
];
/// The fewest characters of a secret that is known by what stands before it.
const SHORTEST: usize = 6;

/// Whether a value of this name is a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_ascii_lowercase();
    // The name of a variable or of a file is not a secret; its content is.
    if is_of_variable(&name) || name.ends_with("-file") || name.ends_with("_file") {
        return false;
    }
    let rest = HARMLESS_PARTS
        .iter()
        .fold(name.clone(), |name, part| name.replace(part, ""));
    SECRET_NAMES.contains(&name.as_str()) || SECRET_PARTS.iter().any(|part| rest.contains(part))
}

/// Whether a name speaks of a secret also in prose, where `key` may be any key.
pub(super) fn is_surely_secret(name: &str) -> bool {
    let plain = name.trim_start_matches('-').to_ascii_lowercase();
    is_secret(name) && !WEAK_NAMES.contains(&plain.as_str())
}

/// Whether a value of this name names a variable.
pub(super) fn is_of_variable(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("-env") || name.ends_with("_env")
}

/// Whether this may be the name of a variable, and not the key that was given in its
/// place by mistake.
pub fn names_variable(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name =
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(plain);
    // People part the words of long names; keys have digits and no words.
    let is_long = text.len() >= 16 && text.contains(|c: char| c.is_ascii_digit());
    let has_words = text.contains('_') && !text.contains(|c: char| c.is_ascii_lowercase());
    is_name && !looks_like_key(text) && (!is_long || has_words)
}

/// Whether a number of this name counts something: `max_tokens` and the like.
pub(super) fn may_count(name: &str) -> bool {
    name.to_ascii_lowercase().contains("token")
}

/// Characters that keys are made of.
pub(super) fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.~+/=".contains(c)
}

/// Whether a word looks like a key, wherever it stands.
pub(super) fn looks_like_key(word: &str) -> bool {
    let is_known = KEY_STARTS
        .iter()
        .any(|(start, least)| word.starts_with(start) && word.len() >= *least && has_digit(word));
    is_known || is_web_token(word)
}

/// `eyJ….….…`: a JSON web token.
fn is_web_token(word: &str) -> bool {
    word.starts_with("eyJ") && word.len() >= 30 && word.matches('.').count() == 2
}

/// Whether what follows `Bearer`, or a name in prose, looks like a secret; prose has words
/// without digits there.
pub(super) fn may_be_secret(word: &str) -> bool {
    word.len() >= SHORTEST && has_digit(word)
}

fn has_digit(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
}
