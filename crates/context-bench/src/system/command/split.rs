//! A command line as words, without a shell.
//!
//! Words are split as a POSIX shell splits them, and nothing else is done:
//! no variables, patterns, pipes or redirections. What needs those is a script.

use super::CommandError;

/// Splits a command line into words, quotes, backslashes and comments (`# …`) as in a
/// POSIX shell.
///
/// ```
/// let words = context_bench::system::split_command("python3 'my system.py' --rate 0.5");
/// assert_eq!(words.unwrap(), ["python3", "my system.py", "--rate", "0.5"]);
/// ```
///
/// # Errors
///
/// When a quote is not closed or nothing follows the last backslash.
pub fn split_command(text: &str) -> Result<Vec<String>, CommandError> {
    shlex::split(text).ok_or_else(|| CommandError::Unfinished {
        command: text.to_owned(),
        missing: "a closing quote, or a character after its last `\\`",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        for (text, expected) in [
            ("", &[][..]),
            ("  a\tb \n c ", &["a", "b", "c"]),
            ("'a b' \"c d\"", &["a b", "c d"]),
            ("a'b c'\"d\"e", &["ab cde"]),
            ("'' \"\"", &["", ""]),
            (r#""a\"b\\c\d""#, &[r#"a"b\c\d"#]),
            (r"a\ b \'c\\", &["a b", r"'c\"]),
            (r"'a\b'", &[r"a\b"]),
            ("$HOME | *", &["$HOME", "|", "*"]),
            (r#""\$a" b#c # d"#, &["$a", "b#c"]),
            ("é 日本", &["é", "日本"]),
        ] {
            assert_eq!(split_command(text).expect(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        for text in ["a 'b", "\"b\\", "a \\"] {
            let error = split_command(text).expect_err(text);
            let expected = format!(
                "the command `{text}` ends without a closing quote, or a character after its last `\\`"
            );
            assert_eq!(error.to_string(), expected);
        }
    }
}
