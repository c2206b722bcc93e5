//! A tag with a comma right behind it: `[!x, y]`.
//!
//! PyYAML takes the comma for a part of the tag, which nobody means; the parser below
//! (libyaml-safer 0.3.0) panics there, and as far as fuzzing can tell only there. So
//! such tags are found beforehand. What looks like one may stand in a text or in a
//! comment; the parser itself says so when it is given the file with spaces before those
//! commas.

use std::ops::Range;

use libyaml_safer::{EventData, Parser};

/// Where the first tag with a comma right behind it is, in bytes.
pub(super) fn before_comma(text: &str) -> Option<usize> {
    let suspects = suspects(text);
    if suspects.is_empty() {
        return None;
    }
    // With a space before each comma; how far a place moves is how many are before it.
    let mut spaced = String::with_capacity(text.len() + suspects.len());
    let mut moved = Vec::with_capacity(suspects.len());
    let mut done = 0;
    for suspect in &suspects {
        if suspect.end > done {
            spaced.push_str(&text[done..suspect.end]);
            spaced.push(' ');
            done = suspect.end;
        }
        let end = spaced.len() - 1;
        moved.push((suspect.start, end - suspect.len()..end));
    }
    spaced.push_str(&text[done..]);
    let (texts, end) = texts(spaced.as_bytes());
    let mut found = moved.into_iter().filter(|(_, part)| {
        let is_in_text = within(&texts, part.start) && within(&texts, part.end - 1);
        part.start <= end && !is_in_text && !is_in_comment(&spaced, &texts, part.start)
    });
    found.next().map(|(start, _)| start)
}

/// Whatever begins with `!`, up to the comma that ends it.
fn suspects(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    for start in memchr::memchr_iter(b'!', bytes) {
        let mut at = start + 1;
        let ends: &[u8] = match bytes.get(at) {
            Some(b'<') => b">",
            _ => b",",
        };
        while let Some(byte) = bytes.get(at)
            && !byte.is_ascii_whitespace()
            && !ends.contains(byte)
        {
            at += 1;
        }
        at += usize::from(bytes.get(at) == Some(&b'>'));
        if bytes.get(at) == Some(&b',') {
            found.push(start..at);
        }
    }
    found
}

/// The places of all texts, without the tags and anchors before them, and how far the
/// parser looked: when it refuses something, it may have looked at the rest of the line.
fn texts(bytes: &[u8]) -> (Vec<Range<usize>>, usize) {
    let index = |index: u64| usize::try_from(index).unwrap_or(usize::MAX);
    let mut parser = Parser::new();
    parser.set_encoding(libyaml_safer::Encoding::Utf8);
    parser.set_input(bytes);
    let mut texts = Vec::new();
    loop {
        let event = match parser.parse() {
            Ok(event) => event,
            Err(error) => {
                let mark = error.problem_mark().map_or(0, |mark| index(mark.index));
                let rest = bytes.get(mark..).unwrap_or_default();
                return (
                    texts,
                    mark + memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
                );
            }
        };
        match event.data {
            EventData::StreamEnd => return (texts, bytes.len()),
            EventData::Scalar { .. } => {
                let (start, end) = (index(event.start_mark.index), index(event.end_mark.index));
                texts.push(content(bytes, start)..end);
            }
            _ => {}
        }
    }
}

/// Where a value begins behind its tag and anchor.
fn content(bytes: &[u8], mut at: usize) -> usize {
    let run = |from: usize, space: bool| {
        let rest = bytes.get(from..).unwrap_or_default();
        let same = |byte: &&u8| byte.is_ascii_whitespace() == space;
        from + rest.iter().take_while(same).count()
    };
    while matches!(bytes.get(at), Some(b'!' | b'&')) {
        at = run(run(at, false), true);
    }
    at
}

fn within(texts: &[Range<usize>], at: usize) -> bool {
    let next = texts.partition_point(|text| text.end <= at);
    texts.get(next).is_some_and(|text| text.contains(&at))
}

fn is_in_comment(text: &str, texts: &[Range<usize>], at: usize) -> bool {
    let bytes = text.as_bytes();
    let line = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1);
    (line..at).any(|place| {
        let begins = place == line || bytes[place - 1].is_ascii_whitespace();
        bytes[place] == b'#' && begins && !within(texts, place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_told_from_texts_and_comments() {
        for (text, expected) in [
            ("a: b, c\n", None),
            ("[!x, y]\n", Some(1)),
            ("[!, y]\n", Some(1)),
            ("[a, !!str, y]\n", Some(4)),
            ("{a: &b !x, c: d}\n", Some(7)),
            ("[!<tag:yaml.org,2002:str>, a]\n", Some(1)),
            ("[!<tag:yaml.org,2002:str> a, b]\n", None),
            ("['a'!x, b]\n", Some(4)),
            ("{a: !x!y,}\n", Some(4)),
            ("[a !x, !y, b]\n", Some(7)),
            ("[a !x, b]\n", None),
            ("a: Hello!, she said: !x\n", None),
            ("a: Hello !you, there\n", None),
            ("a: 'one !x, two'\nb: [!y, z]\n", Some(21)),
            ("a: |\n  text !x, y\n  # !y, z\nb: [c]\n", None),
            ("a: b # !x, y\n# !x, y\nc: d\n", None),
            ("a: !x 'text !y, z'\n", None),
            ("é: ['é', !x, y]\n", Some(11)),
            // Reading ends before it.
            ("a: b: c\nd: [!x, y]\n", None),
        ] {
            assert_eq!(before_comma(text), expected, "{text:?}");
        }
    }
}
