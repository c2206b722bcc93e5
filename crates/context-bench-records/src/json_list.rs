//! JSON: a list of objects, wherever it is in the file, or objects one by one.
//!
//! A list at the top level, under a well-known key or at a given pointer is cut
//! into its elements without parsing them, so memory grows with the largest
//! element and not with the file, and one bad element can be kept apart from the next.
//! What is outside the elements is checked here. Other shapes are held whole
//! (`json_shape`), up to the size of the largest record.

use std::path::Path;
use std::sync::Arc;

use context_bench_error::Place;
use context_bench_error::suggest::quoted_list;

use crate::json_record::JsonRecord;
use crate::json_scanner::Scanner;
use crate::json_shape;
use crate::source::Input;
use crate::{CheckedRecord, PositionedRecord, Record, RecordError, RecordPosition, Records};

/// The keys under which exports of other tools keep their records.
const LIST_KEYS: [&str; 4] = ["data", "examples", "rows", "records"];

const EXPECTED: &str =
    "expected a list of maps, or a map with one under `data`, `examples`, `rows` or `records`";

/// How many keys of a map without such a list are shown.
const SHOWN_KEYS: usize = 8;

pub(crate) struct JsonList {
    scanner: Scanner,
    max_records: usize,
    n_records: usize,
    state: State,
    /// The way to the list, when the user gave one.
    pointer: Option<Vec<String>>,
    /// How many maps are open around the list.
    depth: usize,
    /// Keys that were seen on the way, for the message that there is no list.
    keys: Vec<String>,
    list_key: Option<String>,
}

enum State {
    BeforeList,
    /// After the opening bracket.
    FirstElement,
    /// After an element.
    NextElement,
    /// Between objects that follow one another. The first was read before it
    /// was known to be a record.
    Objects(Option<FirstObject>),
    /// Records that could only be found after the whole file was read.
    Held(std::vec::IntoIter<Record>),
    Over,
}

struct FirstObject {
    bytes: Vec<u8>,
    line: usize,
    column: usize,
}

impl JsonList {
    pub(crate) fn new(
        input: Input,
        path: Arc<Path>,
        max_records: usize,
        field: Option<&str>,
    ) -> Self {
        Self {
            scanner: Scanner::new(input, path),
            max_records,
            n_records: 0,
            state: State::BeforeList,
            pointer: field.map(keys_of_pointer),
            depth: 0,
            keys: Vec::new(),
            list_key: None,
        }
    }

    /// Goes on to the next record and gives it to one of the two ways to use it.
    fn next<T>(
        &mut self,
        parse: impl FnOnce(&JsonRecord<'_>) -> Result<T, RecordError>,
        hold: impl FnOnce(Record, RecordPosition) -> T,
    ) -> Option<Result<T, RecordError>> {
        if self.n_records >= self.max_records {
            return None;
        }
        let (line, column) = match self.next_element() {
            Ok(start) => start?,
            Err(error) => {
                self.state = State::Over;
                return Some(Err(error));
            }
        };
        self.n_records += 1;
        let index = self.n_records - 1;
        if let State::Held(records) = &mut self.state {
            let position = RecordPosition {
                index,
                line: None,
                column: None,
            };
            return records.next().map(|record| Ok(hold(record, position)));
        }
        let record = JsonRecord {
            bytes: &self.scanner.value,
            index,
            path: &self.scanner.path,
            line,
            column,
        };
        Some(parse(&record))
    }

    /// Scans the next element and returns where it begins; nothing after the last.
    fn next_element(&mut self) -> Result<Option<(usize, usize)>, RecordError> {
        if matches!(self.state, State::BeforeList) {
            self.find_list()?;
        }
        match &mut self.state {
            State::BeforeList | State::Over => return Ok(None),
            State::Held(records) => return Ok((records.len() > 0).then_some((0, 0))),
            State::Objects(first) => {
                if let Some(first) = first.take() {
                    self.scanner.value = first.bytes;
                    return Ok(Some((first.line, first.column)));
                }
                if self.scanner.peek_token()?.is_none() {
                    self.state = State::Over;
                    return Ok(None);
                }
            }
            State::FirstElement => {
                if self.scanner.peek_token()? == Some(b']') {
                    self.end_list()?;
                    return Ok(None);
                }
                self.state = State::NextElement;
            }
            State::NextElement => match self.scanner.peek_token()? {
                Some(b']') => {
                    self.end_list()?;
                    return Ok(None);
                }
                Some(b',') => {
                    self.scanner.bump()?;
                    self.scanner.peek_token()?;
                }
                _ => return Err(self.scanner.unexpected("`,` or `]`")?),
            },
        }
        let start = (self.scanner.line, self.scanner.column);
        self.scanner.scan_value()?;
        Ok(Some(start))
    }

    /// Moves behind the opening bracket of the list.
    fn find_list(&mut self) -> Result<(), RecordError> {
        self.scanner.skip_byte_order_mark()?;
        let first = self.scanner.peek_token()?;
        if let Some(pointer) = self.pointer.take() {
            return self.follow(&pointer);
        }
        match first {
            Some(b'[') => {
                self.scanner.bump()?;
                self.state = State::FirstElement;
                Ok(())
            }
            Some(b'{') => {
                let start = (self.scanner.line, self.scanner.column);
                self.scanner.keep();
                self.scanner.bump()?;
                self.depth = 1;
                self.find_list_in_map(true, start)
            }
            None => Err(self.scanner.bad(format!("the file is empty; {EXPECTED}"))),
            Some(_) => Err(self.scanner.unexpected("a list or a map")?),
        }
    }

    /// Goes down to the list that the user pointed to.
    fn follow(&mut self, pointer: &[String]) -> Result<(), RecordError> {
        for wanted in pointer {
            if self.scanner.peek_token()? != Some(b'{') {
                let expected = format!("a map with `{wanted}`");
                return Err(self.scanner.unexpected(&expected)?);
            }
            self.scanner.bump()?;
            self.depth += 1;
            let mut seen = Vec::new();
            let mut is_first = true;
            while self.is_at_key(is_first)? {
                is_first = false;
                let key = self.scanner.scan_key()?;
                if key == *wanted {
                    break;
                }
                self.scanner.skip_value()?;
                if seen.len() < SHOWN_KEYS {
                    seen.push(key);
                }
            }
            if self.scanner.peek_token()? == Some(b'}') {
                let problem = format!("no key `{wanted}`; found {}", shown_map(&seen));
                return Err(self.scanner.bad(problem));
            }
        }
        if self.scanner.peek_token()? == Some(b'[') {
            self.scanner.bump()?;
            self.list_key = Some(pointer.join("/"));
            self.state = State::FirstElement;
            return Ok(());
        }
        // Not a list: columns, or objects by name.
        let start = self.scanner.here();
        self.scanner.scan_value()?;
        match serde_json::from_slice(&self.scanner.value)
            .ok()
            .and_then(json_shape::records)
        {
            Some(records) => {
                self.state = State::Held(records.into_iter());
                Ok(())
            }
            None => Err(RecordError::BadFile {
                problem: format!("expected a list of maps under `{}`", pointer.join("/")),
                at: start,
            }),
        }
    }

    /// Moves to the next key of a map; false at its end, which is left unread.
    fn is_at_key(&mut self, is_first: bool) -> Result<bool, RecordError> {
        match self.scanner.peek_token()? {
            Some(b'}') => return Ok(false),
            Some(b',') if !is_first => {
                self.scanner.bump()?;
                self.scanner.peek_token()?;
            }
            _ if is_first => {}
            _ => return Err(self.scanner.unexpected("`,` or `}`")?),
        }
        Ok(true)
    }

    /// Goes over the keys of the top-level map, and stops behind the opening
    /// bracket of the list or at the end of the map.
    fn find_list_in_map(
        &mut self,
        mut is_first: bool,
        start: (usize, usize),
    ) -> Result<(), RecordError> {
        while self.is_at_key(is_first)? {
            is_first = false;
            let key = self.scanner.scan_key()?;
            let is_list = self.scanner.peek_token()? == Some(b'[');
            if is_list && LIST_KEYS.contains(&key.as_str()) {
                if let Some(other) = &self.list_key {
                    let problem = format!("found a list under both `{other}` and `{key}`");
                    return Err(self.scanner.bad(problem));
                }
                self.scanner.take_kept();
                self.scanner.bump()?;
                self.list_key = Some(key);
                self.state = State::FirstElement;
                return Ok(());
            }
            self.scanner.skip_value()?;
            if self.keys.len() < SHOWN_KEYS {
                self.keys.push(key);
            }
        }
        self.scanner.bump()?;
        self.depth = 0;
        match self.scanner.take_kept() {
            Some(bytes) => self.end_of_first_object(bytes, start),
            None => self.end_file(),
        }
    }

    /// Decides what a top-level map without a well-known list is.
    fn end_of_first_object(
        &mut self,
        bytes: Vec<u8>,
        (line, column): (usize, usize),
    ) -> Result<(), RecordError> {
        if self.scanner.peek_token()? == Some(b'{') {
            self.state = State::Objects(Some(FirstObject {
                bytes,
                line,
                column,
            }));
            return Ok(());
        }
        self.end_file()?;
        match serde_json::from_slice(&bytes)
            .ok()
            .and_then(json_shape::records)
        {
            Some(records) => {
                self.state = State::Held(records.into_iter());
                Ok(())
            }
            None => Err(RecordError::BadFile {
                problem: format!("{EXPECTED}; found {}", shown_map(&self.keys)),
                at: Place::path(&self.scanner.path),
            }),
        }
    }

    /// Checks what follows the list, whose closing bracket is the next byte.
    fn end_list(&mut self) -> Result<(), RecordError> {
        self.state = State::Over;
        self.scanner.bump()?;
        // A list inside a map: what else is in the map is checked, and there must
        // be no second list among it that was left out.
        if self.depth == 1
            && self
                .list_key
                .as_deref()
                .is_some_and(|key| LIST_KEYS.contains(&key))
        {
            return self.find_list_in_map(false, (0, 0));
        }
        for _ in 0..self.depth {
            while self.is_at_key(false)? {
                self.scanner.scan_key()?;
                self.scanner.skip_value()?;
            }
            self.scanner.bump()?;
        }
        self.end_file()
    }

    /// Checks that nothing follows the top-level value.
    fn end_file(&mut self) -> Result<(), RecordError> {
        self.state = State::Over;
        match self.scanner.peek_token()? {
            None => Ok(()),
            Some(_) => {
                let problem = "found more text after the end of the JSON value";
                Err(self.scanner.bad(problem.into()))
            }
        }
    }
}

impl Records for JsonList {
    fn check_next(&mut self, key: &str) -> Option<Result<CheckedRecord, RecordError>> {
        self.next(
            |record| record.check(key),
            |mut record, position| CheckedRecord {
                value: record.take(key),
                position,
            },
        )
    }

    fn read_next(&mut self) -> Option<Result<PositionedRecord, RecordError>> {
        self.next(
            |record| record.read(),
            |record, position| PositionedRecord { record, position },
        )
    }

    fn file(&self) -> &Path {
        &self.scanner.path
    }
}

/// The keys of a JSON pointer; a text without a leading slash is one key.
fn keys_of_pointer(field: &str) -> Vec<String> {
    match field.strip_prefix('/') {
        None => vec![field.into()],
        Some(pointer) => pointer
            .split('/')
            .map(|key| key.replace("~1", "/").replace("~0", "~"))
            .collect(),
    }
}

fn shown_map(keys: &[String]) -> String {
    if keys.is_empty() {
        "an empty map".into()
    } else {
        format!("a map with {}", quoted_list(keys, "and"))
    }
}
