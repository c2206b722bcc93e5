//! Rows of a run as requests ask for them: a page of those that match, one of them, and one example in
//! all systems. Numbers are those of the index, texts are read from the store.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use context_bench::EvalRow;
use context_bench::reopened_run::TextSearch;
use context_bench::store::StoreError;
use context_bench_page::RowTexts;
use serde_json::{Value, json};

use crate::query::Query;
use crate::selection::Filter;
use crate::watched_run::{WatchedRun, lock};

/// Most rows that one request may ask for.
const MAX_PAGE: usize = 200;
/// Most bytes of a text in a list, and where one example is shown.
const LINE: usize = 400;
const TEXT: usize = 200_000;

impl WatchedRun {
    /// A page of the rows that a query asks for.
    pub(crate) fn rows(&self, query: &Query) -> Result<Value, StoreError> {
        self.note_interest();
        self.await_rows();
        let filter = Filter::of(query);
        let words = TextSearch::new(query.get("text").unwrap_or_default());
        let (found, searched) = self.found(filter, words)?;
        let offset: usize = query.number("offset").unwrap_or(0);
        let limit: usize = query.number("limit").unwrap_or(50).min(MAX_PAGE);
        let end = offset.saturating_add(limit).min(found.len());
        let page = found.get(offset.min(end)..end).unwrap_or_default();
        let mut rows = Vec::with_capacity(page.len());
        for row in page {
            rows.push(self.line(*row as usize)?);
        }
        let index = self.index();
        Ok(json!({
            "found": found.len(),
            "total": index.len(),
            "n_stored": self.expected.max(index.len()),
            "is_read": self.is_read.load(Ordering::Relaxed),
            "searched": searched,
            "offset": offset,
            "rows": rows,
            "datasets": index.datasets.names,
            "kinds": index.kinds.names,
        }))
    }

    /// The rows that match, as far as they are known, and the share of texts that was searched.
    fn found(&self, filter: Filter, words: TextSearch) -> Result<(Arc<Vec<u32>>, f64), StoreError> {
        if filter.needs_flips() {
            self.find_flips();
        }
        let mut selection = {
            let index = self.index();
            lock(&self.selections).take(&index, filter, words)
        };
        if !selection.is_searched() {
            let place = |row: u32| self.index().place(row as usize);
            selection.search(&self.reader, place)?;
        }
        let found = (selection.found(), selection.share());
        lock(&self.selections).keep(selection);
        Ok(found)
    }

    /// Works out what flipped, where that is not known of all rows.
    fn find_flips(&self) {
        if !self.index().knows_flips() {
            self.index_mut()
                .find_flips(self.reader.baseline(), self.threshold);
        }
    }

    fn read(&self, row: usize) -> Result<Option<(usize, EvalRow)>, StoreError> {
        let Some(place) = self.index().place(row) else {
            return Ok(None);
        };
        let system = usize::try_from(place.system).unwrap_or_default();
        Ok(self.reader.row_at(place)?.map(|row| (system, row)))
    }

    /// One row of the list: its numbers, its id and the beginning of its question.
    pub(crate) fn line(&self, number: usize) -> Result<Value, StoreError> {
        let read = self.read(number)?;
        let mut line = self.numbers(number, read.as_ref().map(|(_, row)| row));
        if let Some((system, row)) = &read {
            let page = self.reader.page_row(row, *system, &[]);
            let mut texts = RowTexts::up_to(LINE);
            line["id"] = texts.id(&page);
            line["question"] = texts
                .example(&page)
                .remove("question")
                .unwrap_or(Value::Null);
        }
        Ok(line)
    }

    /// The numbers of a row. Its scores are those of the store, where it can be read.
    fn numbers(&self, number: usize, row: Option<&EvalRow>) -> Value {
        let index = self.index();
        if number >= index.len() {
            return Value::Null;
        }
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let scores = row.map(|row| {
            let scores = row.scores.iter();
            let scores = scores.filter(|(_, score)| score.as_evidence().is_none());
            let scores = scores.map(|(name, score)| (name.to_string(), json!(score.get())));
            scores.collect::<serde_json::Map<_, _>>()
        });
        json!({
            "number": number,
            "system": index.system[number],
            "dataset": index.dataset[number],
            "example": number,
            "outcome": index.outcome[number],
            "kind": index.kind[number],
            "cached": u8::from(index.cached[number]),
            "quality": finite(index.quality[number]),
            "latency": finite(index.latency[number]),
            "input_tokens": index.input_tokens[number],
            "output_tokens": index.output_tokens[number],
            "prompt_tokens": index.prompt_tokens(number),
            "completion_tokens": index.completion_tokens(number),
            "flip": index.flip.get(number).copied().unwrap_or(0),
            "scores": scores.unwrap_or_default(),
        })
    }

    /// The example of a row in all systems, with all texts.
    pub(crate) fn example(&self, number: usize) -> Result<Option<Value>, StoreError> {
        self.note_interest();
        self.find_flips();
        let numbers = self.index().of_example(number);
        let mut texts = RowTexts::up_to(TEXT);
        let mut example = None;
        let mut rows = Vec::new();
        for number in numbers {
            let Some((system, row)) = self.read(number)? else {
                rows.push(json!({"row": self.numbers(number, None), "texts": null}));
                continue;
            };
            let page = self.reader.page_row(&row, system, &[]);
            if example.is_none() {
                let mut own = texts.example(&page);
                own.insert("id".into(), texts.id(&page));
                example = Some(Value::Object(own));
            }
            rows.push(json!({"row": self.numbers(number, Some(&row)), "texts": texts.row(&page)}));
        }
        Ok(example.map(|example| json!({"example": example, "rows": rows})))
    }
}
