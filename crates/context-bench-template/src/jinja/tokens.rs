//! A template as text, comments and code, and code as tokens.
//!
//! The engine has a tokenizer, but not one that others may use. This one need not
//! know the grammar: what it cannot read, the engine refuses with its own words.

/// A part of a template, in the order of the source.
#[derive(Debug)]
pub(super) enum Piece<'s> {
    /// What is written as it stands.
    Text(Span<'s>),
    /// `{% raw %} … {% endraw %}`, with its tags.
    Raw(Span<'s>),
    Comment(Span<'s>),
    Code(Code<'s>),
}

/// A range of the source.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span<'s> {
    pub(super) text: &'s str,
    pub(super) start: usize,
}

impl Span<'_> {
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// `{{ … }}` or `{% … %}`.
#[derive(Debug)]
pub(super) struct Code<'s> {
    /// With its marks.
    pub(super) whole: Span<'s>,
    /// Whether it is `{% … %}`.
    pub(super) statement: bool,
    pub(super) tokens: Vec<Token<'s>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
    Number,
    /// A text in quotes.
    Literal,
    /// An operator or a bracket.
    Mark,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind,
    pub(super) span: Span<'s>,
}

impl Token<'_> {
    pub(super) fn is_mark(&self, marks: &[&str]) -> bool {
        self.kind == Kind::Mark && marks.contains(&self.span.text)
    }

    pub(super) fn is_name(&self, names: &[&str]) -> bool {
        self.kind == Kind::Name && names.contains(&self.span.text)
    }
}

/// The parts of a template, as far as they can be told; what is not closed is the last.
pub(super) fn pieces(source: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < source.len() {
        let open = find_open(source, at).unwrap_or(source.len());
        if open > at {
            pieces.push(Piece::Text(span(source, at, open)));
        }
        at = open;
        let rest = &source[at..];
        if rest.is_empty() {
            break;
        }
        if rest.starts_with("{#") {
            let end = rest.find("#}").map_or(source.len(), |end| at + end + 2);
            pieces.push(Piece::Comment(span(source, at, end)));
            at = end;
        } else if let Some(start) = basic_tag(rest, "raw") {
            let end = end_raw(source, at + start);
            pieces.push(Piece::Raw(span(source, at, end)));
            at = end;
        } else {
            let code = code(source, at);
            at = code.whole.end();
            pieces.push(Piece::Code(code));
        }
    }
    pieces
}

fn span(source: &str, start: usize, end: usize) -> Span<'_> {
    Span {
        text: &source[start..end],
        start,
    }
}

fn find_open(source: &str, from: usize) -> Option<usize> {
    let bytes = source.as_bytes();
    memchr::memchr_iter(b'{', &bytes[from..])
        .map(|at| from + at)
        .find(|at| matches!(bytes.get(at + 1), Some(b'{' | b'%' | b'#')))
}

/// How long a tag is that holds nothing but a word.
fn basic_tag(text: &str, word: &str) -> Option<usize> {
    let space = |c: char| c.is_ascii_whitespace();
    let inner = text.strip_prefix("{%")?;
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    let after = inner.trim_start_matches(space).strip_prefix(word)?;
    let after = after.trim_start_matches(space);
    let after = after.strip_prefix(['-', '+']).unwrap_or(after);
    Some(text.len() - after.strip_prefix("%}")?.len())
}

/// Where the closing tag of a raw block ends.
fn end_raw(source: &str, from: usize) -> usize {
    let tags = source[from..].match_indices("{%").map(|(at, _)| from + at);
    let mut ends = tags.filter_map(|at| Some(at + basic_tag(&source[at..], "endraw")?));
    ends.next().unwrap_or(source.len())
}

fn code(source: &str, start: usize) -> Code<'_> {
    let statement = source[start..].starts_with("{%");
    let close = if statement { "%}" } else { "}}" };
    let mut at = start + 2;
    if source[at..].starts_with(['-', '+']) {
        at += 1;
    }
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut brackets = 0_isize;
    while let Some(c) = source[at..].chars().next() {
        if c.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let rest = &source[at..];
        // Within brackets, `}}` closes two of them.
        let trimmed = rest.strip_prefix(['-', '+']);
        let ends = [Some(rest), trimmed].into_iter().flatten();
        if brackets == 0
            && let Some(rest) = ends.filter_map(|rest| rest.strip_prefix(close)).next()
        {
            at = source.len() - rest.len();
            break;
        }
        let after_dot = source[..at].ends_with('.');
        let (kind, length) = token(rest, c, after_dot);
        match rest.as_bytes().first() {
            Some(b'(' | b'[' | b'{') => brackets += 1,
            Some(b')' | b']' | b'}') => brackets -= 1,
            _ => {}
        }
        tokens.push(Token {
            kind,
            span: span(source, at, at + length),
        });
        at += length;
    }
    Code {
        whole: span(source, start, at),
        statement,
        tokens,
    }
}

fn token(rest: &str, first: char, after_dot: bool) -> (Kind, usize) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    match first {
        '"' | '\'' => (Kind::Literal, literal(rest, first)),
        '0'..='9' => (Kind::Number, number(rest.as_bytes(), after_dot)),
        c if is_word(c) => {
            let end = rest.find(|c| !is_word(c));
            (Kind::Name, end.unwrap_or(rest.len()))
        }
        c => {
            let pairs = ["//", "**", "==", "!=", ">=", "<="];
            let pair = pairs.iter().any(|pair| rest.starts_with(pair));
            (Kind::Mark, if pair { 2 } else { c.len_utf8() })
        }
    }
}

fn literal(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// `12`, `1.5`, `1e-3`, `0xff`. Behind a dot it is an index: `x.1.0` has two of them.
fn number(bytes: &[u8], after_dot: bool) -> usize {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let run = |from: usize, of: &dyn Fn(&u8) -> bool| {
        let rest = bytes.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| of(byte)).count()
    };
    if let [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', ..] = bytes {
        return run(2, &is_word);
    }
    let digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'_';
    let exponent = |at: usize| {
        let tail = bytes.get(at..).unwrap_or_default();
        matches!(tail, [b'e' | b'E', b'+' | b'-' | b'0'..=b'9', ..])
    };
    let mut end = run(0, &digit);
    if !after_dot && bytes.get(end) == Some(&b'.') {
        let next = bytes.get(end + 1);
        let name = next.is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        if !name || exponent(end + 1) {
            end = run(end + 1, &digit);
        }
    }
    if exponent(end) {
        end = run(end + 2, &digit);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_taken_apart_without_loss() {
        for (source, expected) in [
            ("text", "T[text]"),
            ("a{{ x }}b", "T[a] x T[b]"),
            ("{{- x.1.0 -}}{{+ 1.5e3+2 +}}", "x . 1 . 0 1.5e3 + 2"),
            ("{{ {'a': {}} }}}}", "{ 'a' : { } } T[}}]"),
            ("{{ '}}' }}{# {{ x }} #}", "'}}' C[{# {{ x }} #}]"),
            ("{% if x|f('\\'%}') %}", "if x | f ( '\\'%}' )"),
            (
                "{%- raw -%} {{ x }} {% endraw %}y",
                "R[{%- raw -%} {{ x }} {% endraw %}] T[y]",
            ),
            ("{{ a//b**c!=d<=e }}", "a // b ** c != d <= e"),
            ("{{ 0x1f + 1.e5 - 1.real }}", "0x1f + 1.e5 - 1 . real"),
            ("{{ é_1 ~ 'ü", "é_1 ~ 'ü"),
            ("{ { {{", "T[{ { ]"),
            ("{% raw %}{{", "R[{% raw %}{{]"),
        ] {
            let mut at = 0;
            let mut found = Vec::new();
            for piece in pieces(source) {
                let whole = match &piece {
                    Piece::Text(span) => {
                        found.push(format!("T[{}]", span.text));
                        *span
                    }
                    Piece::Raw(span) => {
                        found.push(format!("R[{}]", span.text));
                        *span
                    }
                    Piece::Comment(span) => {
                        found.push(format!("C[{}]", span.text));
                        *span
                    }
                    Piece::Code(code) => {
                        found.extend(code.tokens.iter().map(|token| token.span.text.to_owned()));
                        code.whole
                    }
                };
                assert_eq!(whole.start, at, "{source}");
                at = whole.end();
            }
            assert_eq!(at, source.len(), "{source}");
            assert_eq!(found.join(" "), expected, "{source}");
        }
    }
}
