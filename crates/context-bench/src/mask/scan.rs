//! Where the secrets of a text are: in URLs, after names and flags, by their looks.
//!
//! One scan for every form: a word, a command line, JSON, a list of pairs, prose. It
//! parses nothing, so that malformed URLs, JSON and commands have their secrets found
//! as well.

use std::ops::Range;

use super::names::{
    is_of_key, is_of_variable, is_secret, is_surely_secret, looks_like_key, may_be_secret,
    may_count, names_variable,
};

/// What kind of text is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// Something that the user set: what is called like a secret is one.
    Setting,
    /// Words for people: only what surely is one.
    Prose,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SecretSpan {
    pub(super) at: Range<usize>,
    /// Whether people read the text better without it: the user of a URL, its query.
    pub(super) is_extra: bool,
}

/// Flags of well-known programs that take `user:password`.
const USER_FLAGS: [&str; 3] = ["-u", "--user", "--proxy-user"];

/// Whether `user:password` follows this flag.
pub(super) fn takes_user(flag: &str) -> bool {
    USER_FLAGS.contains(&flag)
}

/// The secrets of a text in their order; none overlaps another.
pub(super) fn secrets(text: &str, sort: TextKind) -> Vec<SecretSpan> {
    let mut found = Vec::new();
    urls(text, sort, &mut found);
    pairs(text, sort, &mut found);
    flags(text, sort, &mut found);
    looks(text, &mut found);
    found.retain(|one| !one.at.is_empty());
    found.sort_by_key(|one| (one.at.start, std::cmp::Reverse(one.at.end)));
    let mut apart: Vec<SecretSpan> = Vec::with_capacity(found.len());
    for one in found {
        match apart.last_mut() {
            Some(last) if one.at.start < last.at.end => {
                if one.at.end > last.at.end {
                    last.at.end = one.at.end;
                    last.is_extra = false;
                }
            }
            _ => apart.push(one),
        }
    }
    apart
}

fn secret(at: Range<usize>) -> SecretSpan {
    SecretSpan {
        at,
        is_extra: false,
    }
}

fn extra(at: Range<usize>) -> SecretSpan {
    SecretSpan { at, is_extra: true }
}

/// The first place from `from` where `ends` holds, or the end.
fn until(text: &str, from: usize, ends: impl Fn(char) -> bool) -> usize {
    text[from..].find(ends).map_or(text.len(), |at| from + at)
}

/// Where something unquoted ends that a comma ends only when another pair follows.
fn before_next_pair(text: &str, from: usize, end: usize) -> usize {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text[from..end]
        .match_indices(',')
        .map(|(at, _)| from + at)
        .find(|at| {
            let rest = text[at + 1..].trim_start();
            let name = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            name > 0 && rest[name..].starts_with(['=', ':'])
        })
        .unwrap_or(end)
}

/// Users, passwords and queries of URLs.
fn urls(text: &str, sort: TextKind, found: &mut Vec<SecretSpan>) {
    // `//user:password@host` also where a scheme was cut off, and `http:/…` where a path
    // was made of it.
    for (at, _) in text.match_indices('/') {
        let before = &text[..at];
        let rest = text[at..].trim_start_matches('/');
        let is_first = !before.ends_with('/');
        let has_scheme = before.ends_with(':');
        let slashes = text.len() - at - rest.len();
        if !is_first || !has_scheme && (slashes != 2 || before.ends_with(is_of_key)) {
            continue;
        }
        let start = at + slashes;
        let end = until(text, start, |c| {
            c.is_whitespace() || c.is_control() || "\"'`<>|".contains(c)
        });
        let end = before_next_pair(text, start, end);
        let word = &text[start..end];
        let authority = word.find(['/', '?', '#', '\\']).unwrap_or(word.len());
        let host = match user(word, authority) {
            Some(after) => {
                found.push(extra(start..start + after));
                start + after
            }
            None => start,
        };
        if !has_scheme || slashes < 2 {
            continue;
        }
        let Some(query) = text[host..end].find(['?', '#']).map(|at| host + at) else {
            continue;
        };
        match sort {
            TextKind::Setting => found.push(extra(query..end)),
            TextKind::Prose => parameters(text, query + 1..end, found),
        }
    }
}

/// Where the user and password of a URL end, with the `@` after them.
fn user(word: &str, authority: usize) -> Option<usize> {
    if let Some(at) = word[..authority].rfind('@') {
        return Some(at + 1);
    }
    // A password with `/` or `?` in it: it is unclear where it ends, so up to the last `@`.
    let (_, port) = word[..authority].split_once(':')?;
    let is_port = port.chars().all(|c| c.is_ascii_digit()) || word.starts_with('[');
    let last = word.rfind('@').filter(|_| !is_port)?;
    Some(last + 1)
}

/// The values of secret names in a query.
fn parameters(text: &str, at: Range<usize>, found: &mut Vec<SecretSpan>) {
    let mut start = at.start;
    for part in text[at].split(['&', ';', '#']) {
        if let Some((name, value)) = part.split_once('=')
            && is_secret(name)
        {
            let value = value.trim_end_matches([')', ']', '}', ',', '.', ':']);
            let from = start + name.len() + 1;
            found.push(secret(from..from + value.len()));
        }
        start += part.len() + 1;
    }
}

/// Values after their names: `NAME=VALUE`, `Name: value`, `"name": "value"`.
fn pairs(text: &str, sort: TextKind, found: &mut Vec<SecretSpan>) {
    let bytes = text.as_bytes();
    for (at, separator) in text.match_indices(['=', ':']) {
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
        if matches!(next, b'=' | b':') || b"=:!<>".contains(&before) {
            continue;
        }
        let is_colon = separator == ":";
        if is_colon && text[at..].starts_with("://") {
            continue;
        }
        let Some((name, is_quoted)) = name_before(text, at) else {
            continue;
        };
        let of_variable = sort == TextKind::Setting && is_of_variable(name);
        let is_meant = match sort {
            TextKind::Setting => is_secret(name) || of_variable,
            TextKind::Prose => is_surely_secret(name),
        };
        // `name:key=value` is a name with settings; a header may stand without a space.
        let is_apart = is_quoted || next.is_ascii_whitespace() || b"\"'\\".contains(&next);
        if !is_meant || is_colon && !is_apart && !is_surely_secret(name) {
            continue;
        }
        let value = value_after(text, at + 1, is_colon, sort);
        let said = &text[value.clone()];
        if of_variable && names_variable(said) {
            continue;
        }
        let is_number = said.parse::<f64>().is_ok();
        let is_none = ["true", "false", "null", "none", "…"]
            .iter()
            .any(|word| said.eq_ignore_ascii_case(word));
        // A reference to a variable holds nothing, and counts are not secrets.
        if said.starts_with('$') || is_none || is_number && may_count(name) {
            continue;
        }
        if sort == TextKind::Setting || said.split_whitespace().any(may_be_secret) {
            found.push(secret(value));
        }
    }
}

/// The name that ends before `at`, and whether it is in quotes.
fn name_before(text: &str, at: usize) -> Option<(&str, bool)> {
    let before = text[..at].trim_end_matches(' ');
    // `a = b` and `"a" : b`, but not a word somewhere before.
    if at - before.len() > 1 {
        return None;
    }
    let bare = before.trim_end_matches(['"', '\'', '\\', '`']);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let start = bare
        .char_indices()
        .rev()
        .take_while(|(_, c)| is_name(*c))
        .last()?
        .0;
    Some((&bare[start..], bare.len() < before.len()))
}

/// Where the value after a name and its separator is.
fn value_after(text: &str, from: usize, is_colon: bool, sort: TextKind) -> Range<usize> {
    let rest = &text[from..];
    let start = from + (rest.len() - rest.trim_start_matches([' ', '\t']).len());
    let rest = &text[start..];
    for quote in ["\\\"", "\\'", "\"", "'", "`"] {
        if let Some(inner) = rest.strip_prefix(quote) {
            let from = start + quote.len();
            return from..from + closing(inner, quote);
        }
    }
    if rest.starts_with(['[', '{']) {
        let end = until(text, start, |c| matches!(c, ']' | '}'));
        return start..(end + 1).min(text.len());
    }
    // A header is the rest of its line; of prose, two words (`Basic abc`) have to do.
    let end = match (is_colon, sort) {
        (true, TextKind::Setting) => until(text, start, |c| "\n\r\"'`}".contains(c)),
        (true, TextKind::Prose) => {
            let word = until(text, start, char::is_whitespace);
            let scheme = ["bearer", "basic", "token"];
            let is_scheme = scheme
                .iter()
                .any(|s| text[start..word].eq_ignore_ascii_case(s));
            match is_scheme && word < text.len() {
                true => until(text, word + 1, |c| {
                    c.is_whitespace() || "\"'`,;)".contains(c)
                }),
                false => until(text, start, |c| c.is_whitespace() || "\"'`,;)".contains(c)),
            }
        }
        (false, _) => until(text, start, |c| {
            c.is_whitespace() || "\"'`&;|)}]".contains(c)
        }),
    };
    start..before_next_pair(text, start, end)
}

/// Where a quoted text ends.
fn closing(inner: &str, quote: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in inner.char_indices() {
        if quote.len() == 1 && is_escaped {
            is_escaped = false;
        } else if inner[at..].starts_with(quote) {
            return at;
        } else {
            is_escaped = c == '\\';
        }
    }
    inner.len()
}

/// Words of commands after flags with secret names, and passwords after users.
fn flags(text: &str, sort: TextKind, found: &mut Vec<SecretSpan>) {
    let quotes = ['"', '\'', '\\', '`', '(', '$'];
    let mut from = 0;
    while let Some(start) = text[from..].find(|c: char| !c.is_whitespace()) {
        let start = from + start;
        let end = until(text, start, char::is_whitespace);
        from = end;
        let flag = text[start..end].trim_start_matches(quotes);
        if !flag.starts_with('-') || flag.contains('=') || end == text.len() {
            continue;
        }
        let flag = flag.trim_end_matches(['"', '\'', '\\', ',']);
        let is_user = takes_user(flag);
        if !is_user && !is_secret(flag) {
            continue;
        }
        let value = value_after(text, end, false, sort);
        let said = &text[value.clone()];
        if sort == TextKind::Prose && !may_be_secret(said) {
            continue;
        }
        if said.starts_with(['-', '$']) || said.parse::<f64>().is_ok() && may_count(flag) {
            continue;
        }
        match (is_user, said.find(':')) {
            (true, Some(colon)) => found.push(secret(value.start + colon + 1..value.end)),
            (true, None) => {}
            (false, _) => found.push(secret(value.clone())),
        }
        from = value.end.max(end);
    }
}

/// What looks like a key, and what follows `Bearer`.
fn looks(text: &str, found: &mut Vec<SecretSpan>) {
    let mut follows_bearer = false;
    let mut from = 0;
    while let Some(start) = text[from..].find(is_of_key) {
        let start = from + start;
        let end = until(text, start, |c| !is_of_key(c));
        let gap = &text[from..start];
        let word = &text[start..end];
        if follows_bearer && gap == " " && may_be_secret(word) {
            found.push(secret(start..end));
        } else {
            parts(text, start..end, found);
        }
        follows_bearer = word.eq_ignore_ascii_case("bearer");
        from = end;
    }
}

/// From the first part of a word that looks like a key: `/keys/sk-…`, `model=sk-…`.
fn parts(text: &str, at: Range<usize>, found: &mut Vec<SecretSpan>) {
    let mut start = at.start;
    for part in text[at.clone()].split(['/', '=', '+', '~']) {
        if looks_like_key(part.trim_end_matches(['.', '-', '_'])) {
            found.push(secret(start..at.end));
            return;
        }
        start += part.len() + 1;
    }
}
