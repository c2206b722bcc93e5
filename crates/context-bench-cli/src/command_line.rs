//! The command line as it may be written down: without credentials.

use std::ffi::OsString;

use context_bench::mask::Mask;
use context_bench::system::split_command;
use serde_json::Value;

/// Arguments joined to a line that a shell reads back, without user names and
/// passwords of URLs, and without keys wherever they stand.
pub(crate) fn shown(args: &[OsString]) -> String {
    let words = args
        .iter()
        .map(|arg| quoted(&without_credentials(&arg.to_string_lossy())));
    words.collect::<Vec<_>>().join(" ")
}

pub(crate) fn without_credentials(word: &str) -> String {
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
            (
                vec![r#"--extra-body={"headers":{"Authorization":"Bearer x"}}"#],
                r#"'--extra-body={"headers":{"Authorization":"…"}}'"#,
            ),
            (
                vec!["--command", "prog --key pw-1 -v"],
                r"--command 'prog --key '\''…'\'' -v'",
            ),
            (
                vec!["--system-prompt", "say  it is fine"],
                "--system-prompt 'say  it is fine'",
            ),
            (
                vec!["--api-key-env", "MY_KEY", "--tokenizer=cl100k_base"],
                "--api-key-env MY_KEY --tokenizer=cl100k_base",
            ),
            (
                vec!["--model-args", "base_url=http://h/v1,api_key=abc"],
                "--model-args 'base_url=http://h/v1,api_key=…'",
            ),
        ] {
            let args: Vec<OsString> = args.into_iter().map(OsString::from).collect();
            assert_eq!(shown(&args), expected);
        }
    }
}
