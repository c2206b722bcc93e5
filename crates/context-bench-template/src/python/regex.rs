//! Python's `re` on top of fancy-regex: patterns are translated, and matches are
//! found by Python's rules for empty ones.
//!
//! A pattern that backtracks without end is an error of the match, never "no match".

mod translate;

use std::fmt;
use std::sync::OnceLock;

use fancy_regex::{Regex as Engine, RegexBuilder};

/// A compiled pattern.
#[derive(Debug)]
pub struct Regex {
    pattern: String,
    translated: String,
    ignore_case: bool,
    engine: Engine,
    /// Made when an empty match asks whether a longer one starts at the same place.
    not_empty: OnceLock<Option<Engine>>,
}

/// Why a pattern could not be compiled or applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegexError {
    /// The pattern as written.
    pub pattern: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for RegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "regular expression `{}`: {}", self.pattern, self.message)
    }
}

impl std::error::Error for RegexError {}

/// Byte range of a group, when it took part in the match.
pub type Span = Option<(usize, usize)>;

/// One match: the whole of it and its groups, as byte ranges of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Where the match starts.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The groups from number 1.
    pub groups: Vec<Span>,
}

impl Regex {
    /// Compiles a pattern in Python's syntax.
    pub fn new(pattern: &str) -> Result<Self, RegexError> {
        let wrong = |message: String| RegexError {
            pattern: pattern.to_owned(),
            message,
        };
        let translation = translate::translate(pattern).map_err(wrong)?;
        let engine = build(&translation.pattern, translation.ignore_case, false)
            .map_err(|error| wrong(first_line(&error)))?;
        Ok(Self {
            pattern: pattern.to_owned(),
            translated: translation.pattern,
            ignore_case: translation.ignore_case,
            engine,
            not_empty: OnceLock::new(),
        })
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// How many groups the pattern has.
    pub fn n_groups(&self) -> usize {
        self.engine.captures_len().saturating_sub(1)
    }

    /// The first match at or after a byte offset.
    pub fn search(&self, text: &str, from: usize) -> Result<Option<Match>, RegexError> {
        self.run(&self.engine, text, from)
    }

    fn run(&self, engine: &Engine, text: &str, from: usize) -> Result<Option<Match>, RegexError> {
        let found = engine
            .captures_from_pos(text, from)
            .map_err(|error| RegexError {
                pattern: self.pattern.clone(),
                message: format!("gave up: {}", first_line(&error)),
            })?;
        Ok(found.and_then(|captures| {
            let whole = captures.get(0)?;
            let group = |i| captures.get(i).map(|group| (group.start(), group.end()));
            Some(Match {
                start: whole.start(),
                end: whole.end(),
                groups: (1..captures.len()).map(group).collect(),
            })
        }))
    }

    /// All matches, left to right, none overlapping. An empty match may follow right
    /// after another, as in Python since 3.7.
    pub fn find_iter<'r>(&'r self, text: &'r str) -> Matches<'r> {
        Matches {
            regex: self,
            text,
            at: Some(0),
            must_advance: false,
        }
    }

    /// `re.findall` for patterns of any number of groups: group 1, or the whole match.
    pub fn find_all(&self, text: &str) -> Result<Vec<Match>, RegexError> {
        self.find_iter(text).collect()
    }

    /// `re.sub`: replaces matches, all when `count` is 0. The replacement may use
    /// `\1`, `\g<1>` and `\g<name>`.
    pub fn sub(&self, replacement: &str, text: &str, count: usize) -> Result<String, RegexError> {
        self.sub_within(replacement, text, count, usize::MAX)
    }

    /// [`Regex::sub`], unless that becomes longer than `most`.
    pub(crate) fn sub_within(
        &self,
        replacement: &str,
        text: &str,
        count: usize,
        most: usize,
    ) -> Result<String, RegexError> {
        let parts = self.replacement(replacement)?;
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        let limit = if count == 0 { usize::MAX } else { count };
        for found in self.find_iter(text).take(limit) {
            let found = found?;
            out.push_str(&text[copied..found.start]);
            for part in &parts {
                match part {
                    Part::Text(text) => out.push_str(text),
                    Part::Group(0) => out.push_str(&text[found.start..found.end]),
                    Part::Group(n) => {
                        if let Some(Some((start, end))) = found.groups.get(n - 1) {
                            out.push_str(&text[*start..*end]);
                        }
                    }
                }
            }
            copied = found.end;
            if out.len() > most {
                return Err(RegexError {
                    pattern: self.pattern.clone(),
                    message: "the replaced text becomes too long".to_owned(),
                });
            }
        }
        out.push_str(&text[copied..]);
        Ok(out)
    }

    fn replacement(&self, replacement: &str) -> Result<Vec<Part>, RegexError> {
        let wrong = |message: String| RegexError {
            pattern: self.pattern.clone(),
            message,
        };
        let known = |n: usize| {
            (n <= self.n_groups())
                .then_some(Part::Group(n))
                .ok_or_else(|| {
                    wrong(format!(
                        "the replacement names group {n}, which is not there"
                    ))
                })
        };
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = replacement;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            if c != '\\' {
                text.push(c);
                continue;
            }
            let Some(escape) = rest.chars().next() else {
                return Err(wrong("the replacement ends in a backslash".into()));
            };
            rest = &rest[escape.len_utf8()..];
            let simple = match escape {
                'a' => '\u{7}',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\u{b}',
                'g' => {
                    let name = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
                    let Some((name, after)) = name else {
                        return Err(wrong("`\\g` in the replacement needs `<name>`".into()));
                    };
                    rest = after;
                    parts.push(Part::Text(std::mem::take(&mut text)));
                    let number = name.parse().ok().or_else(|| {
                        self.engine
                            .capture_names()
                            .position(|known| known == Some(name))
                    });
                    let number = number.ok_or_else(|| {
                        wrong(format!(
                            "the replacement names group `{name}`, which is not there"
                        ))
                    })?;
                    parts.push(known(number)?);
                    continue;
                }
                '0'..='9' => {
                    let after = rest.bytes().take_while(u8::is_ascii_digit).take(2).count();
                    let octal = rest.bytes().take(2).all(|byte| matches!(byte, b'0'..=b'7'));
                    let (digits, octal) = match (escape, after) {
                        ('0', _) => (
                            rest.bytes()
                                .take(2)
                                .take_while(|b| matches!(b, b'0'..=b'7'))
                                .count(),
                            true,
                        ),
                        ('1'..='3', 2) if octal => (2, true),
                        (_, 0) => (0, false),
                        _ => (1, false),
                    };
                    let number = format!("{escape}{}", &rest[..digits]);
                    rest = &rest[digits..];
                    if octal {
                        let code = u32::from_str_radix(&number, 8).unwrap_or(0);
                        char::from_u32(code).unwrap_or('\0')
                    } else {
                        parts.push(Part::Text(std::mem::take(&mut text)));
                        parts.push(known(number.parse().unwrap_or(usize::MAX))?);
                        continue;
                    }
                }
                c if c.is_ascii_alphabetic() => {
                    return Err(wrong(format!("unknown escape `\\{c}` in the replacement")));
                }
                '\\' => '\\',
                other => {
                    text.push('\\');
                    other
                }
            };
            text.push(simple);
        }
        parts.push(Part::Text(text));
        Ok(parts)
    }
}

enum Part {
    Text(String),
    Group(usize),
}

/// See [`Regex::find_iter`].
#[derive(Debug)]
pub struct Matches<'r> {
    regex: &'r Regex,
    text: &'r str,
    /// Where to search next; nothing when all is searched.
    at: Option<usize>,
    /// The last match was empty and ended at `at`.
    must_advance: bool,
}

impl Matches<'_> {
    fn step(&mut self, at: usize) -> Result<Option<Match>, RegexError> {
        if !self.must_advance {
            return self.regex.search(self.text, at);
        }
        let not_empty = self
            .regex
            .not_empty
            .get_or_init(|| build(&self.regex.translated, self.regex.ignore_case, true).ok());
        if let Some(engine) = not_empty {
            let found = self.regex.run(engine, self.text, at)?;
            if let Some(found) = found.filter(|found| found.start == at) {
                return Ok(Some(found));
            }
        }
        match self.text[at..].chars().next() {
            Some(c) => self.regex.search(self.text, at + c.len_utf8()),
            None => Ok(None),
        }
    }
}

impl Iterator for Matches<'_> {
    type Item = Result<Match, RegexError>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at?;
        let found = self.step(at);
        match &found {
            Ok(Some(found)) => {
                self.at = Some(found.end);
                self.must_advance = found.start == found.end;
            }
            Ok(None) | Err(_) => self.at = None,
        }
        found.transpose()
    }
}

fn build(pattern: &str, ignore_case: bool, not_empty: bool) -> Result<Engine, fancy_regex::Error> {
    RegexBuilder::new(pattern)
        .case_insensitive(ignore_case)
        .find_not_empty(not_empty)
        .build()
}

/// Engines draw pictures of the pattern; the last line says what is wrong.
fn first_line(error: &dyn fmt::Display) -> String {
    let text = error.to_string();
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines
        .last()
        .copied()
        .unwrap_or("cannot be compiled")
        .to_owned()
}
