//! Masking: settings and command lines without the secrets in them.
//!
//! What is written down or shown must not hold a key, wherever the user put it:
//! in a header inside a body, or as a word of a command. What a value is called
//! decides, and what keys commonly look like.

use serde_json::{Map, Value, json};

use crate::digest;
use crate::system::split_command;

/// What stands where a secret was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {
    /// Its digest, so that different secrets still are different settings.
    Digest,
    /// `…`, for people.
    Dots,
}

/// Parts of names of values that are secrets.
const SECRET_PARTS: [&str; 10] = [
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "authorization",
    "cookie",
    "credential",
    "bearer",
];
/// Parts that look like them and are not.
const HARMLESS_PARTS: [&str; 3] = ["keyword", "tokeniz", "cache_key"];
/// Names that are secrets only as a whole.
const SECRET_NAMES: [&str; 5] = ["sig", "signature", "auth", "pwd", "pass"];
/// The fewest characters of a key that is known by its looks.
const SHORTEST: usize = 6;

/// Whether a value of this name is a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_ascii_lowercase();
    // The name of a variable is no secret; what it holds is.
    if name.ends_with("-env") || name.ends_with("_env") {
        return false;
    }
    let rest = HARMLESS_PARTS
        .iter()
        .fold(name.clone(), |name, part| name.replace(part, ""));
    SECRET_NAMES.contains(&name.as_str()) || SECRET_PARTS.iter().any(|part| rest.contains(part))
}

impl Mask {
    /// What stands for this secret.
    pub fn secret(self, secret: &str) -> String {
        match self {
            Self::Digest => digest::hex(secret.as_bytes()),
            Self::Dots => "…".to_owned(),
        }
    }

    /// Members with secret names, and keys in texts, at any depth.
    pub fn map(self, map: &Map<String, Value>) -> Map<String, Value> {
        let masked = map.iter().map(|(name, value)| {
            let value = match is_secret(name) {
                true => self.whole(name, value),
                false => self.value(value),
            };
            (name.clone(), value)
        });
        masked.collect()
    }

    /// A value without the secrets in it.
    pub fn value(self, value: &Value) -> Value {
        match value {
            Value::Object(map) => Value::Object(self.map(map)),
            Value::Array(list) => list.iter().map(|value| self.value(value)).collect(),
            Value::String(text) => json!(self.text(text)),
            other => other.clone(),
        }
    }

    /// A value that is secret because of its name.
    fn whole(self, name: &str, value: &Value) -> Value {
        match value {
            Value::String(text) => json!(self.secret(text)),
            Value::Array(list) => list.iter().map(|value| self.whole(name, value)).collect(),
            Value::Object(map) => {
                let whole =
                    |(key, value): (&String, &Value)| (key.clone(), self.whole(name, value));
                Value::Object(map.iter().map(whole).collect())
            }
            // `max_tokens` and the like are numbers, and no secret.
            Value::Number(number) if !name.to_ascii_lowercase().contains("token") => {
                json!(self.secret(&number.to_string()))
            }
            other => other.clone(),
        }
    }

    /// The words of a command: values of flags, variables and headers with secret
    /// names, and keys in any word.
    pub fn words(self, words: &[String]) -> Vec<String> {
        let mut masked = Vec::with_capacity(words.len());
        let mut follows_flag = false;
        for word in words {
            masked.push(match follows_flag && !word.starts_with('-') {
                true => self.secret(word),
                false => self.pairs(word),
            });
            follows_flag = word.starts_with('-') && !word.contains('=') && is_secret(word);
        }
        masked
    }

    /// `name=value`, `name: value` and lists of the former, without secret values.
    pub fn pairs(self, word: &str) -> String {
        let pair = |part: &str| {
            let (name, gap, value) = match (part.split_once('='), part.split_once(": ")) {
                (Some((name, value)), _) => (name, "=", value),
                (None, Some((name, value))) => (name, ": ", value),
                (None, None) => return self.text(part),
            };
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            match name.chars().all(plain) && is_secret(name) && !value.is_empty() {
                true => format!("{name}{gap}{}", self.secret(value)),
                false => self.text(part),
            }
        };
        let parts: Vec<String> = word.split(',').map(pair).collect();
        parts.join(",")
    }

    /// A text without what looks like a key: `sk-…`, or what follows `Bearer`.
    pub fn text(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut after_bearer = false;
        // Words, each with the whitespace and punctuation before it.
        let mut rest = text;
        while !rest.is_empty() {
            let start = rest.find(is_of_key).unwrap_or(rest.len());
            let (gap, from) = rest.split_at(start);
            let end = from.find(|c| !is_of_key(c)).unwrap_or(from.len());
            let (word, after) = from.split_at(end);
            out.push_str(gap);
            let follows = after_bearer && gap == " ";
            match looks_like_key(word, follows) {
                true => out.push_str(&self.secret(word)),
                false => out.push_str(word),
            }
            after_bearer = word.eq_ignore_ascii_case("bearer");
            rest = after;
        }
        out
    }
}

/// Characters that keys are made of.
fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.~+/=".contains(c)
}

fn looks_like_key(word: &str, follows_bearer: bool) -> bool {
    let secret = match (word.strip_prefix("sk-"), follows_bearer) {
        (Some(secret), _) => secret,
        (None, true) => word,
        (None, false) => return false,
    };
    // Prose has words without digits there.
    secret.len() >= SHORTEST && secret.chars().any(|c| c.is_ascii_digit())
}

/// A word of a command line, or a setting, as it may be written down: URLs without
/// user, password and query, commands and JSON without keys.
pub fn without_credentials(word: &str) -> String {
    // `--extra-body={…}`
    if let Some((flag, value)) = word.split_once('=')
        && flag.starts_with("--")
        && value.trim_start().starts_with('{')
    {
        return format!("{flag}={}", without_credentials(value));
    }
    if word.trim_start().starts_with('{')
        && let Ok(Value::Object(map)) = serde_json::from_str(word)
    {
        return Value::Object(Mask::Dots.map(&map)).to_string();
    }
    // A command in one word: `--command 'prog --key …'`.
    if let Ok(words) = split_command(word)
        && words.len() > 1
    {
        let shown: Vec<String> = words.iter().map(|word| without_url_parts(word)).collect();
        let shown = Mask::Dots.words(&shown);
        if shown == words {
            return word.to_owned();
        }
        let quoted: Vec<String> = shown.iter().map(|word| quoted(word)).collect();
        return quoted.join(" ");
    }
    Mask::Dots.pairs(&without_url_parts(word))
}

/// A URL without user, password and query.
fn without_url_parts(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else {
        return word.to_owned();
    };
    // `--model-args base_url=http://…,model=NAME`: what follows the URL stays.
    let (rest, after) = match (scheme.contains('='), rest.split_once(',')) {
        (true, Some((rest, after))) => (rest, format!(",{after}")),
        _ => (rest, String::new()),
    };
    // A query may carry a key.
    let rest = rest.split('?').next().unwrap_or_default();
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}{after}")
}

/// A word as a shell reads it back.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_secret() {
        for name in [
            "Authorization",
            "api_key",
            "X-Api-Key",
            "apikey",
            "access_token",
            "user_token",
            "client_secret",
            "PASSWORD",
            "Set-Cookie",
            "--key",
            "sig",
            "auth",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "model",
            "tokenizer",
            "keywords",
            "cache_key",
            "--api-key-env",
            "design",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn secrets_are_masked_at_any_depth() {
        let body = json!({
            "headers": {"Authorization": "Bearer sk-hdr-66", "Accept": "text"},
            "password": "pw-88", "pin": {"secret": [17]}, "max_tokens": 5, "temperature": 0.5,
            "note": "say Bearer of news; key sk-abc-1234, sk-learn",
        });
        assert_eq!(
            Mask::Dots.value(&body),
            json!({
                "headers": {"Authorization": "…", "Accept": "text"},
                "password": "…", "pin": {"secret": ["…"]}, "max_tokens": 5, "temperature": 0.5,
                "note": "say Bearer of news; key …, sk-learn",
            })
        );
        let other = json!({"password": "pw-89"});
        assert_ne!(
            Mask::Digest.value(&other),
            Mask::Digest.value(&json!({"password": "pw-88"}))
        );
    }

    #[test]
    fn words_of_commands_are_masked() {
        for (line, expected) in [
            ("prog --key sk-incmd-55 --fast", "prog --key … --fast"),
            ("prog --api-key=abc x", "prog --api-key=… x"),
            ("TOKEN=abc prog -v", "TOKEN=… prog -v"),
            ("prog --key --fast", "prog --key --fast"),
            (
                "base_url=http://h,api_key=abc,model=m",
                "base_url=http://h,api_key=…,model=m",
            ),
            ("prog sk-1234567", "prog …"),
            (
                "python3 my_tokenizer.py --ratio 0.5",
                "python3 my_tokenizer.py --ratio 0.5",
            ),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(Mask::Dots.words(&words).join(" "), expected);
        }
        let header = ["-H".to_owned(), "Authorization: Basic abcdef".to_owned()];
        assert_eq!(Mask::Dots.words(&header)[1], "Authorization: …");
    }
}
