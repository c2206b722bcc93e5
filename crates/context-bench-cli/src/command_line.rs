//! The command line as it may be written down: without credentials.

use std::ffi::OsString;

/// Arguments joined to a line that a shell reads back, with user names and
/// passwords of URLs left out.
pub(crate) fn shown(args: &[OsString]) -> String {
    let words = args
        .iter()
        .map(|arg| quoted(&without_credentials(&arg.to_string_lossy())));
    words.collect::<Vec<_>>().join(" ")
}

pub(crate) fn without_credentials(word: &str) -> String {
    if word.trim_start().starts_with('{') {
        return hide_secrets(word);
    }
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

/// A JSON object with the texts of members that look like secrets left out.
fn hide_secrets(text: &str) -> String {
    let Ok(serde_json::Value::Object(mut map)) = serde_json::from_str(text) else {
        return text.to_owned();
    };
    for (name, value) in &mut map {
        let name = name.to_lowercase();
        let secret = ["key", "token", "secret", "password"];
        if value.is_string() && secret.iter().any(|part| name.contains(part)) {
            *value = "…".into();
        }
    }
    serde_json::Value::Object(map).to_string()
}

fn quoted(word: &str) -> String {
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
    fn what_is_written_down_holds_no_credentials() {
        for (args, expected) in [
            (
                vec!["context-bench", "--proxy", "http://h:1/v1"],
                "context-bench --proxy http://h:1/v1",
            ),
            (
                vec!["--proxy", "http://me:pw@h/v1?key=k"],
                "--proxy http://h/v1",
            ),
            (
                vec!["--dataset", "my file.jsonl"],
                "--dataset 'my file.jsonl'",
            ),
            (vec!["it's"], r"'it'\''s'"),
            (
                vec!["--model-args", "base_url=http://u:p@h/v1?k=1,model=m"],
                "--model-args base_url=http://h/v1,model=m",
            ),
            (
                vec![r#"{"api_key":"sk-1","temperature":0}"#],
                r#"'{"api_key":"…","temperature":0}'"#,
            ),
        ] {
            let args: Vec<OsString> = args.into_iter().map(OsString::from).collect();
            assert_eq!(shown(&args), expected);
        }
    }
}
