//! JSON: one list of objects, at the top level or under a well-known key.
//!
//! The list is cut into its elements without parsing them, so memory grows with
//! the largest element and not with the file, and one bad element can be told
//! from the next. What is outside the elements is checked here.

use std::path::Path;
use std::sync::Arc;

use super::Records;
use super::json_record::JsonRecord;
use super::json_scanner::Scanner;
use super::source::Input;
use crate::dataset::DatasetError;
use crate::error::Location;
use crate::model::Example;
use crate::text::suggest::quoted_list;

/// The keys under which exports of other tools keep their records.
const LIST_KEYS: [&str; 4] = ["data", "examples", "rows", "records"];

const EXPECTED: &str =
    "expected a list of maps, or a map with one under `data`, `examples`, `rows` or `records`";

/// How many keys of a map without such a list are shown.
const SHOWN_KEYS: usize = 8;

pub(super) struct JsonList {
    scanner: Scanner,
    max_records: usize,
    n_records: usize,
    state: State,
    /// Whether the list is inside a map, and which keys were seen in it.
    keys: Option<Vec<String>>,
    list_key: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    BeforeList,
    /// After the opening bracket.
    FirstElement,
    /// After an element.
    NextElement,
    Over,
}

impl JsonList {
    pub(super) fn new(input: Input, path: Arc<Path>, max_records: usize) -> Self {
        Self {
            scanner: Scanner::new(input, path),
            max_records,
            n_records: 0,
            state: State::BeforeList,
            keys: None,
            list_key: None,
        }
    }

    fn next_record(&mut self) -> Option<Result<JsonRecord<'_>, DatasetError>> {
        let (line, column) = match self.next_element() {
            Ok(start) => start?,
            Err(error) => {
                self.state = State::Over;
                return Some(Err(error));
            }
        };
        self.n_records += 1;
        Some(Ok(JsonRecord {
            bytes: &self.scanner.value,
            index: self.n_records - 1,
            path: &self.scanner.path,
            line,
            column,
        }))
    }

    /// Scans the next element and returns where it begins; nothing after the last.
    fn next_element(&mut self) -> Result<Option<(usize, usize)>, DatasetError> {
        if self.n_records >= self.max_records {
            return Ok(None);
        }
        if self.state == State::BeforeList {
            self.find_list()?;
        }
        let byte = match self.state {
            State::BeforeList | State::Over => return Ok(None),
            State::FirstElement | State::NextElement => self.scanner.peek_token()?,
        };
        match (self.state, byte) {
            (_, Some(b']')) => {
                self.scanner.bump()?;
                self.end_list()?;
                return Ok(None);
            }
            (State::FirstElement, _) => {}
            (_, Some(b',')) => {
                self.scanner.bump()?;
                self.scanner.peek_token()?;
            }
            _ => return Err(self.scanner.unexpected("`,` or `]`")?),
        }
        let start = (self.scanner.line, self.scanner.column);
        self.scanner.scan_value()?;
        self.state = State::NextElement;
        Ok(Some(start))
    }

    /// Moves behind the opening bracket of the list.
    fn find_list(&mut self) -> Result<(), DatasetError> {
        self.scanner.skip_byte_order_mark()?;
        match self.scanner.peek_token()? {
            Some(b'[') => {
                self.scanner.bump()?;
                self.state = State::FirstElement;
                Ok(())
            }
            Some(b'{') => {
                self.scanner.bump()?;
                self.keys = Some(Vec::new());
                self.find_list_in_map(true)
            }
            None => Err(self.scanner.bad(format!("the file is empty; {EXPECTED}"))),
            Some(_) => Err(self.scanner.unexpected("a list or a map")?),
        }
    }

    /// Goes over the keys of the map, and stops behind the opening bracket of
    /// the list or at the end of the map.
    fn find_list_in_map(&mut self, mut is_first: bool) -> Result<(), DatasetError> {
        loop {
            match self.scanner.peek_token()? {
                Some(b'}') => {
                    self.scanner.bump()?;
                    return self.end_file();
                }
                Some(b',') if !is_first => {
                    self.scanner.bump()?;
                    self.scanner.peek_token()?;
                }
                _ if is_first => {}
                _ => return Err(self.scanner.unexpected("`,` or `}`")?),
            }
            is_first = false;
            let key = self.scanner.scan_key()?;
            let is_list = self.scanner.peek_token()? == Some(b'[');
            if is_list && LIST_KEYS.contains(&key.as_str()) {
                if let Some(other) = &self.list_key {
                    let problem = format!("found a list under both `{other}` and `{key}`");
                    return Err(self.scanner.bad(problem));
                }
                self.scanner.bump()?;
                self.list_key = Some(key);
                self.state = State::FirstElement;
                return Ok(());
            }
            self.scanner.skip_value()?;
            if let Some(keys) = &mut self.keys
                && keys.len() < SHOWN_KEYS
            {
                keys.push(key);
            }
        }
    }

    /// Checks what follows the list.
    fn end_list(&mut self) -> Result<(), DatasetError> {
        self.state = State::Over;
        if self.keys.is_some() {
            self.find_list_in_map(false)
        } else {
            self.end_file()
        }
    }

    /// Checks that nothing follows the top-level value and that it held a list.
    fn end_file(&mut self) -> Result<(), DatasetError> {
        self.state = State::Over;
        if let Some(byte) = self.scanner.peek_token()? {
            let problem = if byte == b'{' && self.keys.is_some() {
                "found a second map after the first; a file with one map per line must end in `.jsonl`"
            } else {
                "found more text after the end of the JSON value"
            };
            return Err(self.scanner.bad(problem.into()));
        }
        match &self.keys {
            Some(keys) if self.list_key.is_none() => {
                let found = if keys.is_empty() {
                    "an empty map".into()
                } else {
                    format!("a map with {}", quoted_list(keys, "and"))
                };
                Err(DatasetError::BadFile {
                    problem: format!("{EXPECTED}; found {found}"),
                    at: Location::file(&*self.scanner.path),
                })
            }
            _ => Ok(()),
        }
    }
}

impl Records for JsonList {
    fn check_next(&mut self) -> Option<Result<(), DatasetError>> {
        Some(self.next_record()?.and_then(|record| record.check()))
    }

    fn read_next(&mut self) -> Option<Result<Example, DatasetError>> {
        Some(self.next_record()?.and_then(|record| record.read()))
    }
}
