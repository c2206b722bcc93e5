//! SciFact: rows of one claim are joined, cited abstracts looked up in the corpus.

use std::collections::HashMap;

use serde_json::Value;

use super::{Row, Rows, Tables};
use crate::dataset::DatasetError;
use crate::text::stringify::python_str;

/// What a claim without evidence says about itself.
const OPEN: &str = "NOT_ENOUGH_INFO";

/// One record per claim with `id`, `claim`, `abstracts` (of the cited documents
/// that the corpus has) and `label`. The hub has one row per piece of evidence;
/// the original file a map `evidence` per claim.
pub(super) fn prepare(rows: Rows, tables: Tables) -> Result<Rows, DatasetError> {
    let abstracts: HashMap<String, String> = tables
        .into_values()
        .flatten()
        .filter_map(|document| {
            let id = match document.get("doc_id") {
                Value::Null => document.get("id"),
                id => id,
            };
            Some((python_str(id).into_owned(), text(document.get("abstract"))?))
        })
        .collect();
    Ok(Rows::new(Claims {
        rows,
        abstracts,
        next: None,
    }))
}

/// The sentences of an abstract as one text.
fn text(sentences: &Value) -> Option<String> {
    match sentences {
        Value::String(text) => Some(text.clone()),
        Value::Array(list) => {
            let sentences: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            Some(sentences.join(" "))
        }
        _ => None,
    }
}

struct Claims {
    rows: Rows,
    abstracts: HashMap<String, String>,
    /// The first row of the claim after the one that was yielded.
    next: Option<Row>,
}

impl Iterator for Claims {
    type Item = Result<Row, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = match self.next.take() {
            Some(row) => row,
            None => match self.rows.next()? {
                Ok(row) => row,
                Err(error) => return Some(Err(error)),
            },
        };
        let mut claim = Claim::default();
        claim.add(&first);
        // Rows of a claim stand together, so nothing has to be kept.
        loop {
            match self.rows.next() {
                Some(Ok(row)) if row.get("id") == first.get("id") => claim.add(&row),
                Some(Ok(row)) => {
                    self.next = Some(row);
                    break;
                }
                Some(Err(error)) => return Some(Err(error)),
                None => break,
            }
        }
        Some(Ok(claim.finish(&first, &self.abstracts)))
    }
}

#[derive(Default)]
struct Claim {
    cited: Vec<String>,
    label: Option<String>,
}

impl Claim {
    fn add(&mut self, row: &Row) {
        let cited = row.get("cited_doc_ids").as_array();
        for id in cited.into_iter().flatten() {
            let id = python_str(id).into_owned();
            // The original layout: evidence by document id.
            if self.label.is_none() {
                let evidence = &row.get("evidence")[&id];
                let label = evidence[0]["label"].as_str();
                self.label = label.filter(|label| !label.is_empty()).map(Into::into);
            }
            if !self.cited.contains(&id) {
                self.cited.push(id);
            }
        }
        if self.label.is_none() {
            let label = row.get("evidence_label").as_str();
            self.label = label.filter(|label| !label.is_empty()).map(Into::into);
        }
    }

    fn finish(self, row: &Row, abstracts: &HashMap<String, String>) -> Row {
        let found = self.cited.iter().filter_map(|id| abstracts.get(id));
        let label = self.label.unwrap_or_else(|| OPEN.to_owned());
        row.becomes([
            ("id", row.get("id").clone()),
            ("claim", row.get("claim").clone()),
            ("abstracts", found.cloned().collect()),
            ("label", label.into()),
        ])
    }
}
