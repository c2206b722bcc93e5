//! The records of a text, each with its line.

use context_bench_error::{Place, Position};
use serde_json::Value;
use serde_json::value::RawValue;

use super::MemoryDataError;

/// A record and where it begins.
pub(super) struct Record {
    pub(super) value: Value,
    pub(super) place: Place,
}

/// The records of a JSON list, or of JSON values one after the other.
pub(super) fn records(file: &str, text: &str) -> Result<Vec<Record>, MemoryDataError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let not_json = |error: serde_json::Error, offset: usize| {
        // Positions of the parser count from the part that it was given.
        let start = Position::in_text(text, offset);
        let column = match error.line() {
            0 | 1 => start.column as usize + error.column().saturating_sub(1),
            _ => error.column(),
        };
        let line = start.line as usize + error.line().saturating_sub(1);
        MemoryDataError::NotJson {
            problem: said(&error),
            place: Place::file(file).line(line).column(column),
        }
    };
    let raw: Vec<&RawValue> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map_err(|error| not_json(error, 0))?
    } else {
        let mut stream = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        let mut found = Vec::new();
        loop {
            match stream.next() {
                Some(Ok(value)) => found.push(value),
                Some(Err(error)) => return Err(not_json(error, 0)),
                None => break found,
            }
        }
    };
    // Counted on from record to record: looking from the beginning each time would take
    // quadratic time.
    let (mut line, mut counted) = (1, 0);
    let records = raw.into_iter().map(|raw| {
        let offset = raw.get().as_ptr() as usize - text.as_ptr() as usize;
        line += text[counted..offset].matches('\n').count();
        counted = offset;
        let value = serde_json::from_str(raw.get()).map_err(|error| not_json(error, offset))?;
        Ok(Record {
            value,
            place: Place::file(file).line(line),
        })
    });
    records.collect()
}

/// The parser's words without the position, which the place has.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let records = records("f", text).unwrap();
        records.iter().filter_map(|one| one.place.line).collect()
    }

    #[test]
    fn lists_and_lines_have_their_lines() {
        assert_eq!(lines("\u{feff}[{},\n {}\n,\n{\n}]"), [1, 2, 4]);
        assert_eq!(lines("{}\n\n{\n}\n{}"), [1, 3, 5]);
        assert!(lines("").is_empty() && lines("[]").is_empty() && lines(" \n").is_empty());
    }

    #[test]
    fn errors_say_where() {
        for (text, expected) in [
            ("[{},\n {]", "f:2:3"),
            ("{}\n{\"a\" 1}", "f:2:6"),
            ("{}\n{\"a\":", "f:2:5"),
            ("nonsense", "f:1:2"),
        ] {
            let Err(MemoryDataError::NotJson { place, .. }) = records("f", text) else {
                panic!("{text} is read");
            };
            assert_eq!(place.to_string(), expected, "{text}");
        }
    }
}
