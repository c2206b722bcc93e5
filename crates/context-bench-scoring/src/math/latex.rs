//! From the text of an answer, LaTeX or plain or both, to tokens.
//!
//! What only lays out a formula (sizes, spaces, dollar signs) is dropped here,
//! and synonyms become one kind. Numbers are read whole, with their thousands
//! separators. One pass over at most `MAX_CHARS` characters.

use super::command;
use super::expr::Relation;
use super::glyph;
use super::token::{Bracket, Digits, Kind, Token};
use super::words;

/// Longer answers are not read as mathematics.
pub(super) const MAX_CHARS: usize = 8192;

/// How to read `1,234` inside brackets: `(1,234)` is a number or a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Commas {
    /// Three digits after a comma belong to the number.
    Thousands,
    /// Commas inside brackets separate.
    Separate,
}

/// The tokens of an answer, and whether a comma inside brackets was read as
/// part of a number. `None` when the answer is too long.
pub(super) fn tokens(text: &str, commas: Commas) -> Option<(Vec<Token>, bool)> {
    let chars: Vec<char> = text.chars().take(MAX_CHARS + 1).collect();
    if chars.len() > MAX_CHARS {
        return None;
    }
    let mut lexer = Lexer {
        chars,
        at: 0,
        commas,
        out: Vec::new(),
        spaced: false,
        depth: 0,
        ambiguous: false,
        text_ends: Vec::new(),
        negate: false,
    };
    lexer.run();
    Some((lexer.out, lexer.ambiguous))
}

pub(super) struct Lexer {
    pub(super) chars: Vec<char>,
    pub(super) at: usize,
    commas: Commas,
    out: Vec<Token>,
    spaced: bool,
    /// How many brackets other than groups are open.
    depth: usize,
    ambiguous: bool,
    /// Where the open `\text{` groups end, the innermost last.
    text_ends: Vec<usize>,
    /// After `\not`.
    pub(super) negate: bool,
}

impl Lexer {
    fn run(&mut self) {
        while let Some(c) = self.peek(0) {
            if self.text_ends.last() == Some(&self.at) {
                // The brace that closes `\text{`.
                self.text_ends.pop();
                self.at += 1;
            } else if c.is_whitespace() || matches!(c, '~' | '\u{200b}' | '\u{feff}') {
                self.space();
                self.at += 1;
            } else if glyph::digit(c).is_some()
                || (c == '.' && self.peek(1).and_then(glyph::digit).is_some())
            {
                self.number();
            } else if c == '\\' {
                self.at += 1;
                command::read(self);
            } else if c.is_ascii_alphabetic() {
                self.letters();
            } else {
                self.at += 1;
                self.character(c);
            }
        }
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn in_text(&self) -> bool {
        !self.text_ends.is_empty()
    }

    pub(super) fn space(&mut self) {
        self.spaced = true;
    }

    pub(super) fn push(&mut self, kind: Kind) {
        match kind {
            Kind::Open(bracket) if bracket != Bracket::Group => self.depth += 1,
            Kind::Close(bracket) if bracket != Bracket::Group => {
                self.depth = self.depth.saturating_sub(1);
            }
            _ => {}
        }
        let kind = match kind {
            Kind::Relation(Relation::Equal) if std::mem::take(&mut self.negate) => {
                Kind::Relation(Relation::Unequal)
            }
            kind => kind,
        };
        let spaced = std::mem::take(&mut self.spaced);
        self.out.push(Token { kind, spaced });
    }

    /// Skips white space and gives the end of the brace group that starts here:
    /// the position of its closing brace or of the end of the text.
    pub(super) fn group_end(&mut self) -> Option<usize> {
        while self.peek(0).is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        if self.peek(0) != Some('{') {
            return None;
        }
        let mut depth = 0_usize;
        for (i, c) in self.chars.iter().enumerate().skip(self.at) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(i);
            }
        }
        Some(self.chars.len())
    }

    /// Reads what follows up to the closing brace as words.
    pub(super) fn text_group(&mut self) {
        if let Some(end) = self.group_end() {
            self.at += 1;
            self.text_ends.push(end);
            self.spaced = true;
        }
    }

    fn letters(&mut self) {
        let start = self.at;
        while self.peek(0).is_some_and(|c| c.is_ascii_alphabetic()) {
            self.at += 1;
        }
        // A word may go on in other letters: `Jahre`, `années`.
        if self
            .peek(0)
            .is_some_and(|c| c.is_alphabetic() && !is_greek(c) && glyph::script(c).is_none())
        {
            self.at = start;
            return self.foreign_word();
        }
        let run: String = self.chars[start..self.at].iter().collect();
        match words::run(&run, self.in_text()) {
            Some(kind) => self.push(kind),
            None => {
                for letter in run.chars() {
                    self.push(Kind::symbol(letter.to_string()));
                }
            }
        }
    }

    fn foreign_word(&mut self) {
        let start = self.at;
        while self
            .peek(0)
            .is_some_and(|c| c.is_alphabetic() || is_mark(c))
        {
            self.at += 1;
        }
        let run: String = self.chars[start..self.at].iter().collect();
        self.push(Kind::word(&run, true));
    }

    fn character(&mut self, c: char) {
        let next = self.peek(0);
        match c {
            '$' => self.space(),
            '*' if next == Some('*') => {
                self.at += 1;
                // A power in programs, bold type in Markdown.
                let tight = self
                    .peek(0)
                    .is_some_and(|c| c.is_alphanumeric() || matches!(c, '(' | '-'));
                let after_operand = matches!(
                    self.out.last().map(|token| &token.kind),
                    Some(Kind::Number(_) | Kind::Symbol(_) | Kind::Close(_))
                );
                if tight && after_operand && !self.spaced {
                    self.push(Kind::Caret);
                } else {
                    self.space();
                }
            }
            '<' | '>' | '!' if next == Some('=') => {
                self.at += 1;
                self.push(Kind::Relation(match c {
                    '<' => Relation::LessOrEqual,
                    '>' => Relation::GreaterOrEqual,
                    _ => Relation::Unequal,
                }));
            }
            '=' if next == Some('=') => {}
            '"' | '“' | '”' | '`' | '\u{2061}' | '\u{2062}' => self.space(),
            _ if glyph::is_currency(c) => self.space(),
            _ => self.glyph(c),
        }
    }

    fn glyph(&mut self, c: char) {
        if let Some((above, below)) = glyph::fraction(c) {
            self.push(Kind::Fraction);
            for part in [above, below] {
                self.push(Kind::Open(Bracket::Group));
                self.push(Kind::whole(part));
                self.push(Kind::Close(Bracket::Group));
            }
        } else if let Some((_, raised)) = glyph::script(c) {
            self.at -= 1;
            self.scripts(raised);
        } else if let Some(kind) = glyph::sign(c) {
            self.push(kind);
        } else if is_greek(c) {
            self.push(Kind::symbol(c.to_string()));
        } else if c.is_alphabetic() {
            self.at -= 1;
            self.foreign_word();
        } else {
            self.push(Kind::Other(c.to_string().into()));
        }
    }

    /// A run of superscripts or subscripts is a group.
    fn scripts(&mut self, raised: bool) {
        self.push(if raised {
            Kind::Caret
        } else {
            Kind::Underscore
        });
        self.push(Kind::Open(Bracket::Group));
        let mut digits = String::new();
        while let Some((c, true)) = self
            .peek(0)
            .and_then(glyph::script)
            .map(|(c, side)| (c, side == raised))
        {
            self.at += 1;
            match c {
                '-' => self.push(Kind::Minus),
                '+' => {}
                'n' => self.push(Kind::symbol("n")),
                digit => digits.push(digit),
            }
        }
        if !digits.is_empty() {
            self.push(Kind::whole(&digits));
        }
        self.push(Kind::Close(Bracket::Group));
    }

    fn digits(&mut self, into: &mut String) {
        while let Some(digit) = self.peek(0).and_then(glyph::digit) {
            into.push(digit);
            self.at += 1;
        }
    }

    fn number(&mut self) {
        let mut number = Digits::default();
        self.digits(&mut number.whole);
        if (1..=3).contains(&number.whole.len()) {
            while let Some(width) = self.thousands_separator() {
                self.at += width;
                self.digits(&mut number.whole);
            }
        }
        if matches!(self.peek(0), Some('.' | '．')) {
            let follows = self.peek(1);
            if follows.and_then(glyph::digit).is_some() || follows == Some('\\') {
                self.at += 1;
                self.digits(&mut number.fraction);
                number.decimal = !number.fraction.is_empty();
                self.period(&mut number);
            } else if !follows.is_some_and(char::is_alphabetic) && !self.in_text() {
                self.at += 1;
            }
        }
        self.exponent(&mut number);
        self.push(Kind::Number(number));
    }

    /// The width of a separator with exactly three digits behind it.
    fn thousands_separator(&mut self) -> Option<usize> {
        const SEPARATORS: &[&str] = &[
            "{,}\\!", ",\\! ", "{,}", ",\\!", ",", "\\,", "\\ ", "\\;", "\\:", "\\!", "_", "'",
            "’", "，", "\u{2009}", "\u{202f}", "\u{a0}", " ",
        ];
        let rest = &self.chars[self.at..];
        let width = SEPARATORS.iter().find_map(|separator| {
            let width = separator.chars().count();
            let here = rest.iter().take(width).copied();
            here.eq(separator.chars()).then_some(width)
        })?;
        let group = rest[width..].iter();
        let n_digits = group.take(4).take_while(|c| glyph::digit(**c).is_some());
        if n_digits.count() != 3 {
            return None;
        }
        if self.depth > 0 && matches!(rest[0], ',' | '，') {
            if self.commas == Commas::Separate {
                return None;
            }
            self.ambiguous = true;
        }
        Some(width)
    }

    /// `\overline{27}` after a decimal point repeats for ever.
    fn period(&mut self, number: &mut Digits) {
        let rest: String = self.chars[self.at..].iter().take(12).collect();
        let Some(opening) = ["\\overline{", "\\bar{", "\\dot{"]
            .iter()
            .find(|opening| rest.starts_with(**opening))
        else {
            return;
        };
        let start = self.at;
        self.at += opening.len();
        self.digits(&mut number.period);
        if self.peek(0) == Some('}') && !number.period.is_empty() {
            self.at += 1;
        } else {
            number.period.clear();
            self.at = start;
        }
    }

    /// `1.2e5`, when digits follow the letter at once.
    fn exponent(&mut self, number: &mut Digits) {
        if !matches!(self.peek(0), Some('e' | 'E')) || self.in_text() {
            return;
        }
        let signed = matches!(self.peek(1), Some('-' | '+' | '−'));
        let first = 1 + usize::from(signed);
        if self.peek(first).and_then(glyph::digit).is_none() {
            return;
        }
        let negative = signed && self.peek(1) != Some('+');
        self.at += first;
        let mut digits = String::new();
        self.digits(&mut digits);
        let size: i32 = digits.parse().unwrap_or(i32::MAX);
        number.exponent = if negative { -size } else { size };
        number.decimal = true;
    }
}

fn is_greek(c: char) -> bool {
    ('α'..='ω').contains(&c) || ('Α'..='Ω').contains(&c) || matches!(c, 'ϕ' | 'ϵ' | 'ϑ')
}

/// Combining marks and vowel signs inside words of other scripts.
fn is_mark(c: char) -> bool {
    use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
    c.general_category_group() == GeneralCategoryGroup::Mark
}
