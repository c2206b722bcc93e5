//! Masking: settings and command lines without the secrets in them.
//!
//! What is written down or shown must not hold a key, wherever the user put it: in a
//! header inside a body, as a word of a command, in a URL, or in the place of the name of
//! a variable. What a value is called decides, and what keys commonly look like. This is
//! the one masker: whatever leaves goes through it. What rows hold (questions, answers) is
//! data and does not.

mod names;
mod scan;

use serde_json::{Map, Value, json};

use crate::digest;
pub use names::{is_secret, names_variable};
use scan::TextKind;

/// What stands where a secret was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {
    /// Its digest, so that different secrets still are different settings.
    Digest,
    /// `…`, for people; users, passwords and queries of URLs are left out.
    Dots,
}

/// Settings of tasks that are not text of prompts: what is called like a secret in
/// them is one.
const TASK_SETTINGS: [&str; 4] = [
    "metadata",
    "generation_kwargs",
    "dataset_kwargs",
    "metric_list",
];

impl Mask {
    /// What stands for this secret.
    pub fn secret(self, secret: &str) -> String {
        match self {
            Self::Digest => digest::hex(secret.as_bytes()),
            Self::Dots => "…".to_owned(),
        }
    }

    /// Members with secret names, and secrets in texts, at any depth.
    pub fn map(self, map: &Map<String, Value>) -> Map<String, Value> {
        let masked = map.iter().map(|(name, value)| {
            let masked = match value {
                _ if is_secret(name) => self.whole(name, value),
                Value::String(text) if names::is_of_variable(name) => json!(self.variable(text)),
                value => self.value(value),
            };
            (self.text(name), masked)
        });
        masked.collect()
    }

    /// A value without the secrets in it.
    pub fn value(self, value: &Value) -> Value {
        match value {
            Value::Object(map) => Value::Object(self.map(map)),
            Value::Array(list) => list.iter().map(|value| self.value(value)).collect(),
            Value::String(text) => json!(self.setting(text)),
            other => other.clone(),
        }
    }

    /// The settings of a task: prompts are prose, what else is set is not.
    pub fn task(self, config: &Map<String, Value>) -> Map<String, Value> {
        let masked = config.iter().map(|(name, value)| {
            let value = match TASK_SETTINGS.contains(&name.as_str()) {
                _ if names::is_surely_secret(name) => self.whole(name, value),
                true => self.value(value),
                false => self.prose(value),
            };
            (name.clone(), value)
        });
        masked.collect()
    }

    /// Words for people, at any depth.
    pub fn prose(self, value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let prose = |(name, value): (&String, &Value)| (name.clone(), self.prose(value));
                Value::Object(map.iter().map(prose).collect())
            }
            Value::Array(list) => list.iter().map(|value| self.prose(value)).collect(),
            Value::String(text) => json!(self.text(text)),
            other => other.clone(),
        }
    }

    /// A value that is secret because of its name.
    fn whole(self, name: &str, value: &Value) -> Value {
        match value {
            Value::String(text) if text.is_empty() => value.clone(),
            Value::String(text) => json!(self.secret(text)),
            Value::Array(list) => list.iter().map(|value| self.whole(name, value)).collect(),
            Value::Object(map) => {
                let whole =
                    |(key, value): (&String, &Value)| (key.clone(), self.whole(name, value));
                Value::Object(map.iter().map(whole).collect())
            }
            // `max_tokens` and the like are numbers, and no secret.
            Value::Number(number) if !names::may_count(name) => {
                json!(self.secret(&number.to_string()))
            }
            other => other.clone(),
        }
    }

    /// The words of a command: values of flags, variables and headers with secret
    /// names, and keys in any word.
    pub fn words(self, words: &[String]) -> Vec<String> {
        let mut masked = Vec::with_capacity(words.len());
        let mut before: Option<&String> = None;
        for word in words {
            let flag = before.filter(|flag| flag.starts_with('-') && !flag.contains('='));
            // The scan knows what follows a flag when it sees both.
            masked.push(match flag {
                Some(flag) if names::is_of_variable(flag) => self.variable(word),
                Some(flag) if is_secret(flag) && !word.starts_with('-') => {
                    match names::may_count(flag) && word.parse::<f64>().is_ok() {
                        true => word.clone(),
                        false => self.secret(word),
                    }
                }
                Some(flag) if scan::takes_user(flag) && word.contains(':') => {
                    let (user, password) = word.split_once(':').unwrap_or_default();
                    format!("{user}:{}", self.secret(password))
                }
                _ => self.setting(word),
            });
            before = Some(word);
        }
        masked
    }

    /// The name of a variable, unless it is the key itself, given by mistake.
    pub fn variable(self, name: &str) -> String {
        match names_variable(name) {
            true => name.to_owned(),
            false => self.secret(name),
        }
    }

    /// Something that the user set: a word, a URL, a command, pairs, JSON.
    pub fn setting(self, text: &str) -> String {
        if text.trim_start().starts_with(['{', '['])
            && let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text)
        {
            let masked = self.value(&value);
            return match masked == value {
                true => text.to_owned(),
                false => masked.to_string(),
            };
        }
        self.scanned(text, TextKind::Setting)
    }

    /// Words for people, without what surely is a secret.
    pub fn text(self, text: &str) -> String {
        self.scanned(text, TextKind::Prose)
    }

    fn scanned(self, text: &str, sort: TextKind) -> String {
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for found in scan::secrets(text, sort) {
            out.push_str(&text[done..found.at.start]);
            let secret = &text[found.at.clone()];
            match (self, found.is_extra, secret.strip_suffix('@')) {
                (Self::Dots, true, _) => {}
                (Self::Digest, true, Some(user)) => {
                    out.push_str(&self.secret(user));
                    out.push('@');
                }
                _ => out.push_str(&self.secret(secret)),
            }
            done = found.at.end;
        }
        out.push_str(&text[done..]);
        out
    }
}

/// The secrets in the words of a command line or in other settings, to be looked for in
/// what is said later.
pub fn secrets_in(setting: &str) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if setting.trim_start().starts_with(['{', '['])
        && let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(setting)
    {
        return secrets_of(&value).iter().map(text).collect();
    }
    found_in(setting, TextKind::Setting)
}

/// What surely is a secret in words for people, or in names of data.
pub fn secrets_in_prose(text: &str) -> Vec<String> {
    found_in(text, TextKind::Prose)
}

fn found_in(text: &str, sort: TextKind) -> Vec<String> {
    let found = scan::secrets(text, sort);
    let found = found.into_iter().flat_map(|one| {
        let whole = &text[one.at.clone()];
        match one.is_extra {
            // The user is none; of the query, each value may be one.
            true if whole.ends_with('@') => {
                let user = whole.trim_end_matches('@');
                vec![user.split_once(':').map_or(user, |(_, password)| password)]
            }
            true => {
                let parts = whole.split(['?', '#', '&', ';']);
                parts
                    .filter_map(|part| part.split_once('='))
                    .filter(|(name, _)| is_secret(name))
                    .map(|(_, value)| value)
                    .collect()
            }
            false => vec![whole],
        }
    });
    found.map(str::to_owned).collect()
}

/// The secrets in the words of a command.
pub fn secrets_in_words(words: &[String]) -> Vec<String> {
    let masked = Mask::Dots.words(words);
    let found = words.iter().zip(masked).flat_map(|(word, masked)| {
        let found = secrets_in(word);
        match (found.is_empty(), word.rsplit_once(':')) {
            // All of it because of the flag before it, or what follows a user.
            (true, _) if masked == "…" => vec![word.clone()],
            (true, Some((_, password))) if masked.ends_with(":…") => vec![password.to_owned()],
            _ => found,
        }
    });
    found.collect()
}

/// The secrets in a value, at any depth.
pub fn secrets_of(value: &Value) -> Vec<Value> {
    fn all(value: &Value, out: &mut Vec<Value>) {
        match value {
            Value::Object(map) => map.values().for_each(|value| all(value, out)),
            Value::Array(list) => list.iter().for_each(|value| all(value, out)),
            Value::String(_) | Value::Number(_) => out.push(value.clone()),
            _ => {}
        }
    }
    let mut out = Vec::new();
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let is_key = |text: &str| names::is_of_variable(name) && !names_variable(text);
                match value {
                    _ if is_secret(name) => match value {
                        Value::Number(_) if names::may_count(name) => {}
                        value => all(value, &mut out),
                    },
                    Value::String(text) if is_key(text) => out.push(value.clone()),
                    value => out.extend(secrets_of(value)),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| out.extend(secrets_of(value))),
        Value::String(text) => out.extend(secrets_in(text).into_iter().map(Value::from)),
        _ => {}
    }
    out
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
    fn settings_are_masked_in_every_form() {
        for (setting, expected) in [
            ("http://me:pw@h:1/v1?api_key=k#x", "http://h:1/v1"),
            ("http://u:p/w@h/v1", "http://h/v1"),
            (
                "base_url=http://u:pw@h/v1?k=1,model=m",
                "base_url=http://h/v1,model=m",
            ),
            ("see 'http://u:pw@h/x' now", "see 'http://h/x' now"),
            ("export MY_KEY=pw; run", "export MY_KEY=…; run"),
            ("KEY=$OTHER run", "KEY=$OTHER run"),
            ("curl -u me:pw http://h", "curl -u me:… http://h"),
            (
                r#"run '{"api_key": "p w"}' x"#,
                r#"run '{"api_key": "…"}' x"#,
            ),
            (r#"sh -c "x --token 'p w' y""#, r#"sh -c "x --token '…' y""#),
            ("Authorization: Basic pw==", "Authorization: …"),
            ("PASSWORD=a,b", "PASSWORD=…"),
            ("key-env=sk-proj-12345,model=m", "key-env=…,model=m"),
            ("key-env=MY_KEY,model=m", "key-env=MY_KEY,model=m"),
            ("hf_abcdefghij0123456789", "…"),
            ("max_tokens=100,tokenizer=x", "max_tokens=100,tokenizer=x"),
            ("mmlu:algebra@test", "mmlu:algebra@test"),
            ("truncate:max_tokens=5", "truncate:max_tokens=5"),
            ("a::b==c != d", "a::b==c != d"),
            ("http://[::1]:80/v1", "http://[::1]:80/v1"),
        ] {
            assert_eq!(Mask::Dots.setting(setting), expected, "{setting}");
            // What is masked holds nothing more.
            assert_eq!(Mask::Dots.setting(expected), expected, "{setting}");
        }
    }

    #[test]
    fn prose_keeps_what_only_sounds_like_a_secret() {
        for (text, expected) in [
            ("the key: is under the mat", "the key: is under the mat"),
            ("write `NAME:key=value,...`", "write `NAME:key=value,...`"),
            ("unknown token: `x`", "unknown token: `x`"),
            ("at http://u:pw@h/v1, then", "at http://h/v1, then"),
            (
                "(http://h/v1?api_key=k1&m=2)",
                "(http://h/v1?api_key=…&m=2)",
            ),
            ("api_key=abc123 was refused", "api_key=… was refused"),
        ] {
            assert_eq!(Mask::Dots.text(text), expected, "{text}");
        }
    }

    #[test]
    fn names_of_variables_are_told_from_keys() {
        for name in ["MY_KEY", "OPENAI_API_KEY", "key2", "AZURE_OPENAI_API_KEY_2"] {
            assert!(names_variable(name), "{name}");
        }
        for key in ["sk-abc", "9f8e", "Zq7Kp93mW5tBx1Zq7Kp9", "a b", ""] {
            assert!(!names_variable(key), "{key}");
        }
    }

    #[test]
    fn secrets_are_found_to_be_looked_for() {
        let words = [
            "--proxy",
            "http://me:pw-1@h?token=pw-2",
            "--key",
            "pw-3",
            "-u",
            "me:pw-4",
        ];
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(secrets_in_words(&words), ["pw-1", "pw-2", "pw-3", "pw-4"]);
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
