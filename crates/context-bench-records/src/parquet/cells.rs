//! The decoded cells of a column, for a few rows, and a place among them.

use std::vec::IntoIter;

use serde_json::Value;

/// The data does not fit its own levels.
#[derive(Debug)]
pub(super) struct DamagedColumn;

/// Cells of one leaf of the records.
pub(super) struct Cells {
    pub(super) max_definition: i16,
    pub(super) definitions: Vec<i16>,
    pub(super) repetitions: Vec<i16>,
    /// The values that are there; missing ones have only levels.
    pub(super) values: Values,
    /// How many levels and values were used.
    at: usize,
}

/// Values one after the other.
pub(super) enum Values {
    Json(IntoIter<Value>),
    Texts(Texts),
}

/// Texts behind one another. Whoever takes them makes strings of them, so that a
/// string is made on the thread that uses it.
pub(super) struct Texts {
    all: String,
    ends: IntoIter<usize>,
    start: usize,
}

impl Texts {
    /// `None` when the bytes are not texts.
    pub(super) fn new<'b>(pieces: impl Iterator<Item = &'b [u8]> + Clone) -> Option<Self> {
        let n_bytes = pieces.clone().map(<[u8]>::len).sum();
        let (mut bytes, mut ends) = (Vec::with_capacity(n_bytes), Vec::new());
        for piece in pieces {
            bytes.extend_from_slice(piece);
            ends.push(bytes.len());
        }
        let all = String::from_utf8(bytes).ok()?;
        // A character in two pieces is good only as a whole.
        let are_texts = ends.iter().all(|end| all.is_char_boundary(*end));
        are_texts.then(|| Self {
            all,
            ends: ends.into_iter(),
            start: 0,
        })
    }

    fn next(&mut self) -> Option<Value> {
        let end = self.ends.next()?;
        let text = self.all.get(self.start..end)?;
        self.start = end;
        Some(text.into())
    }
}

impl Cells {
    pub(super) fn new(
        max_definition: i16,
        (definitions, repetitions): (Vec<i16>, Vec<i16>),
        values: Values,
    ) -> Self {
        Self {
            max_definition,
            definitions,
            repetitions,
            values,
            at: 0,
        }
    }

    /// About how many bytes the values have.
    pub(super) fn n_bytes(&self) -> usize {
        match &self.values {
            Values::Json(values) => 32 * values.len(),
            Values::Texts(texts) => texts.all.len() + 32 * texts.ends.len(),
        }
    }

    /// The definition level of the next value.
    pub(super) fn definition(&self) -> Result<i16, DamagedColumn> {
        if self.max_definition == 0 {
            return Ok(0);
        }
        self.definitions.get(self.at).copied().ok_or(DamagedColumn)
    }

    /// The repetition level of the next value; 0 begins a record.
    pub(super) fn repetition(&self) -> i16 {
        self.repetitions.get(self.at).copied().unwrap_or(0)
    }

    /// Goes past a value that is not there.
    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    /// The next value, which may be missing.
    pub(super) fn value(&mut self) -> Result<Value, DamagedColumn> {
        let is_there = self.definition()? == self.max_definition;
        self.at += 1;
        if !is_there {
            return Ok(Value::Null);
        }
        let next = match &mut self.values {
            Values::Json(values) => values.next(),
            Values::Texts(texts) => texts.next(),
        };
        next.ok_or(DamagedColumn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_one_by_one() {
        let pieces = ["", "ä", "", "bc"];
        let mut texts = Texts::new(pieces.iter().map(|piece| piece.as_bytes())).expect("texts");
        for piece in pieces {
            assert_eq!(texts.next(), Some(piece.into()));
        }
        assert_eq!(texts.next(), None);
    }

    #[test]
    fn a_character_cut_in_two_is_no_text() {
        let whole = "ä".as_bytes();
        assert!(Texts::new([&whole[..1], &whole[1..]].into_iter()).is_none());
        assert!(Texts::new([&b"\xff"[..]].into_iter()).is_none());
    }
}
