//! Where strings and brackets of Python text go on in the next line.

/// Keeps track of strings and brackets over lines.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    /// The quote of a triple-quoted string that is open.
    quote: Option<char>,
    depth: usize,
    continued: bool,
}

impl Scanner {
    /// Whether a string goes on in the next line.
    pub(super) fn in_string(&self) -> bool {
        self.quote.is_some()
    }

    /// Whether a string, a bracket or a statement goes on in the next line.
    pub(super) fn is_inside(&self) -> bool {
        self.quote.is_some() || self.depth > 0 || self.continued
    }

    /// Reads a line with its end.
    pub(super) fn line(&mut self, line: &str) {
        self.continued = false;
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let step = match (self.quote, c) {
                (_, '\\') if matches!(&rest[1..], "\n" | "\r\n") => {
                    self.continued = self.quote.is_none();
                    rest.len()
                }
                (_, '\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
                (Some(quote), _) => {
                    if c == quote && is_triple(rest, quote) {
                        self.quote = None;
                        3
                    } else {
                        c.len_utf8()
                    }
                }
                (None, '"' | '\'') if is_triple(rest, c) => {
                    self.quote = Some(c);
                    3
                }
                (None, '"' | '\'') => string_length(rest, c),
                (None, '#') => rest.len(),
                (None, '(' | '[' | '{') => {
                    self.depth += 1;
                    1
                }
                (None, ')' | ']' | '}') => {
                    self.depth = self.depth.saturating_sub(1);
                    1
                }
                (None, _) => c.len_utf8(),
            };
            rest = &rest[step..];
        }
    }
}

fn is_triple(text: &str, quote: char) -> bool {
    text.chars().take(3).filter(|c| *c == quote).count() == 3
}

/// The length of a string on one line, or of its quote when it does not end there.
fn string_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => break,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    1
}
