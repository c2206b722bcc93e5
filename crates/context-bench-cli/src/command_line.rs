//! The command line without credentials, as it is stored with a run and shown in messages.

use std::ffi::OsString;

use context_bench::mask::{self, Mask, quoted};

/// The arguments as one line that a shell can read back, without API keys and without the user
/// names and passwords of URLs.
pub(crate) fn shown(args: &[OsString]) -> String {
    let words: Vec<String> = args
        .iter()
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect();
    let words = Mask::Dots.words(&words);
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    quoted.join(" ")
}

/// Flags whose values are names and prose: `--dataset secrets=keys.jsonl` contains no secret.
const NAMES_AND_PROSE: [&str; 10] = [
    "--dataset",
    "--data",
    "--data-from",
    "--data_from",
    "--map",
    "--include-path",
    "--include_path",
    "--system-prompt",
    "--system-instruction",
    "--system_instruction",
];

/// The secrets among the arguments, which no message may repeat.
pub(crate) fn secrets(args: &[OsString]) -> Vec<String> {
    let mut words: Vec<String> = Vec::with_capacity(args.len());
    let mut found = Vec::new();
    for arg in args {
        let word = arg.to_string_lossy().into_owned();
        let flag = word.split('=').next().unwrap_or_default();
        let is_named = |flag: &str| NAMES_AND_PROSE.contains(&flag);
        let is_value = words.last().is_some_and(|before| is_named(before));
        words.push(match is_value || word.contains('=') && is_named(flag) {
            true => {
                found.extend(mask::secrets_in_prose(&word));
                String::new()
            }
            false => word,
        });
    }
    found.extend(mask::secrets_in_words(&words));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_command_line_holds_no_credentials() {
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
                "--command 'prog --key … -v'",
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
