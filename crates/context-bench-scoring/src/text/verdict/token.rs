//! A reply as words, numbers, marks and line ends, without its typography.

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'a> {
    /// A word as written.
    Word(&'a str),
    /// A number in digits.
    Number(f64),
    /// Any other character that may mean something.
    Mark(char),
    /// The end of one or several lines.
    Line,
}

impl Token<'_> {
    /// Whether it is one of these words, in any case.
    pub(super) fn is_word(&self, words: &[&str]) -> bool {
        match self {
            Self::Word(word) => words.iter().any(|known| word.eq_ignore_ascii_case(known)),
            _ => false,
        }
    }

    /// Whether it is one of these marks.
    pub(super) fn is_mark(&self, marks: &str) -> bool {
        matches!(self, Self::Mark(mark) if marks.contains(*mark))
    }
}

/// Cuts a reply. Emphasis, code marks and quotes are dropped, an underscore
/// separates (`model_1`), apostrophes belong to words. With `signed` a minus
/// before a number is its sign, else a dash.
pub(super) fn tokens(text: &str, signed: bool) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut before = ' ';
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = if c.is_alphanumeric() {
            word(rest, &mut tokens)
        } else if signed && is_sign(c) && !before.is_alphanumeric() && starts_number(rest, c) {
            let len = word(&rest[c.len_utf8()..], &mut tokens);
            if let Some(Token::Number(value)) = tokens.last_mut() {
                *value = -*value;
            }
            c.len_utf8() + len
        } else {
            match c {
                '\n' | '\r' => {
                    if tokens.last().is_some_and(|last| *last != Token::Line) {
                        tokens.push(Token::Line);
                    }
                }
                '*' | '`' | '"' | '\'' | '“' | '”' | '‘' | '’' | '_' | '«' | '»' => {}
                c if c.is_whitespace() => {}
                c => tokens.push(Token::Mark(c)),
            }
            c.len_utf8()
        };
        before = rest[..len].chars().next_back().unwrap_or(' ');
        rest = &rest[len..];
    }
    if tokens.last() == Some(&Token::Line) {
        tokens.pop();
    }
    tokens
}

fn is_sign(c: char) -> bool {
    c == '-' || c == '−'
}

fn starts_number(text: &str, sign: char) -> bool {
    text[sign.len_utf8()..].starts_with(|c: char| c.is_ascii_digit())
}

/// Takes a run of letters and digits and returns its length.
fn word<'a>(text: &'a str, tokens: &mut Vec<Token<'a>>) -> usize {
    let mut end = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let digits_around = text[..at].ends_with(|c: char| c.is_ascii_digit())
            && next.is_some_and(|next| next.is_ascii_digit());
        let letters_around = next.is_some_and(char::is_alphabetic);
        let inside = c.is_alphanumeric()
            || (matches!(c, '.' | ',') && digits_around)
            || (matches!(c, '\'' | '’') && letters_around);
        if !inside {
            break;
        }
        end = at + c.len_utf8();
    }
    let run = &text[..end];
    tokens.push(match number(run) {
        Some(value) => Token::Number(value),
        None => Token::Word(run),
    });
    end
}

/// `4`, `3.5`, `3,5` and `1,000`; a version such as `1.2.3` is not a number.
fn number(run: &str) -> Option<f64> {
    if !run
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b','))
    {
        return None;
    }
    if let Ok(value) = run.parse() {
        return Some(value);
    }
    let (whole, last) = run.rsplit_once(',')?;
    if last.len() == 3 || whole.contains(',') {
        return run.replace(',', "").parse().ok();
    }
    format!("{whole}.{last}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Token::{Line, Mark, Number, Word};

    #[test]
    fn typography_goes_and_meaning_stays() {
        for (text, expected) in [
            ("**4**", vec![Number(4.0)]),
            ("model_1", vec![Word("model"), Number(1.0)]),
            (
                "I'd say 3.5.",
                vec![Word("I'd"), Word("say"), Number(3.5), Mark('.')],
            ),
            ("4/5", vec![Number(4.0), Mark('/'), Number(5.0)]),
            ("3,5 1,000", vec![Number(3.5), Number(1000.0)]),
            (
                "4th GPT4 1.2.3",
                vec![Word("4th"), Word("GPT4"), Word("1.2.3")],
            ),
            (
                "\n a\n\n-3\n",
                vec![Word("a"), Line, Mark('-'), Number(3.0)],
            ),
        ] {
            assert_eq!(tokens(text, false), expected, "{text}");
        }
        assert_eq!(
            tokens("-3 1-2", true),
            [Number(-3.0), Number(1.0), Mark('-'), Number(2.0)]
        );
    }
}
