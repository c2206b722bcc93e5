//! A command line as words, without a shell.
//!
//! Words are split as a POSIX shell splits them, and nothing else is done:
//! no variables, patterns, pipes or redirections. What needs those is a script.

use super::CommandError;

/// Splits a command line into words.
///
/// - Whitespace separates words.
/// - Between single quotes every character stands for itself.
/// - Between double quotes too, but `\"` is a quote and `\\` a backslash.
/// - Outside of quotes a backslash makes the next character stand for itself.
/// - Quoted and plain parts that touch are one word; `''` is an empty word.
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
    let unfinished = |missing| CommandError::Unfinished {
        command: text.to_owned(),
        missing,
    };
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_default();
        match letter {
            '\'' => loop {
                match letters.next().ok_or_else(|| unfinished("`'`"))? {
                    '\'' => break,
                    inner => word.push(inner),
                }
            },
            '"' => loop {
                match letters.next().ok_or_else(|| unfinished("`\"`"))? {
                    '"' => break,
                    '\\' => match letters.next().ok_or_else(|| unfinished("`\"`"))? {
                        escaped @ ('"' | '\\') => word.push(escaped),
                        other => word.extend(['\\', other]),
                    },
                    inner => word.push(inner),
                }
            },
            '\\' => {
                word.push(
                    letters
                        .next()
                        .ok_or_else(|| unfinished("a character after `\\`"))?,
                );
            }
            plain => word.push(plain),
        }
    }
    words.extend(word);
    Ok(words)
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
            ("é 日本", &["é", "日本"]),
        ] {
            assert_eq!(split_command(text).expect(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        for (text, message) in [
            ("a 'b", "the command `a 'b` ends without `'`"),
            ("\"b\\", "the command `\"b\\` ends without `\"`"),
            (
                "a \\",
                "the command `a \\` ends without a character after `\\`",
            ),
        ] {
            let error = split_command(text).expect_err(text);
            assert_eq!(error.to_string(), message);
        }
    }
}
