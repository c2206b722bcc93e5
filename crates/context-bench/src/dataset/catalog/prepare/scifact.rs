//! SciFact: rows of one claim are joined, cited abstracts looked up in the corpus.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Row, Rows, Tables};
use crate::dataset::DatasetError;
use crate::text::stringify::python_str;

/// What a claim without evidence says about itself.
const OPEN: &str = "NOT_ENOUGH_INFO";

/// One record per claim with `id`, `claim`, `documents` (the cited ones that the corpus has:
/// `{id, sentences}`), `abstracts` (the same as texts), `evidence` (`{doc, label, sentences}`
/// for each abstract that decides the claim) and `label`: that of the evidence, and empty
/// when abstracts disagree. The hub has one row per piece of evidence; the original file a
/// map `evidence` per claim.
pub(super) fn prepare(rows: Rows, tables: Tables) -> Result<Rows, DatasetError> {
    let abstracts: HashMap<String, Vec<String>> = tables
        .into_values()
        .flatten()
        .filter_map(|document| {
            let id = match document.get("doc_id") {
                Value::Null => document.get("id"),
                id => id,
            };
            let sentences = sentences(document.get("abstract"))?;
            Some((python_str(id).into_owned(), sentences))
        })
        .collect();
    Ok(Rows::new(Claims {
        rows,
        abstracts,
        next: None,
    }))
}

/// The sentences of an abstract.
fn sentences(sentences: &Value) -> Option<Vec<String>> {
    match sentences {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(list) => {
            let sentences = list.iter().filter_map(Value::as_str);
            Some(sentences.map(str::to_owned).collect())
        }
        _ => None,
    }
}

struct Claims {
    rows: Rows,
    abstracts: HashMap<String, Vec<String>>,
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
    evidence: Vec<AbstractVerdict>,
}

/// What one abstract says about a claim.
struct AbstractVerdict {
    document: String,
    label: String,
    /// Sets of sentences, each of which is enough.
    sets: Vec<Value>,
}

impl Claim {
    fn add(&mut self, row: &Row) {
        let cited = row.get("cited_doc_ids").as_array();
        for id in cited.into_iter().flatten() {
            let id = python_str(id).into_owned();
            if !self.cited.contains(&id) {
                self.cited.push(id);
            }
        }
        match row.get("evidence") {
            // The original layout: lists of evidence by document id.
            Value::Object(documents) => {
                for (id, pieces) in documents {
                    for piece in pieces.as_array().into_iter().flatten() {
                        self.decide(id, &piece["label"], &piece["sentences"]);
                    }
                }
            }
            // The same as a list of pieces.
            Value::Array(pieces) => {
                for piece in pieces {
                    let id = python_str(&piece["doc_id"]).into_owned();
                    self.decide(&id, &piece["label"], &piece["sentences"]);
                }
            }
            _ => {
                let id = python_str(row.get("evidence_doc_id")).into_owned();
                let label = row.get("evidence_label");
                self.decide(&id, label, row.get("evidence_sentences"));
            }
        }
    }

    fn decide(&mut self, document: &str, label: &Value, sentences: &Value) {
        let Some(label) = label.as_str().filter(|label| !label.is_empty()) else {
            return;
        };
        let set = sentences.is_array().then(|| sentences.clone());
        let known = self.evidence.iter_mut();
        let mut known = known.filter(|one| one.document == document && one.label == label);
        match known.next() {
            Some(known) => known.sets.extend(set),
            None => self.evidence.push(AbstractVerdict {
                document: document.to_owned(),
                label: label.to_owned(),
                sets: set.into_iter().collect(),
            }),
        }
    }

    /// The label of all evidence; none when abstracts disagree.
    fn label(&self) -> &str {
        let mut labels = self.evidence.iter().map(|one| one.label.as_str());
        match labels.next() {
            None => OPEN,
            Some(first) if labels.all(|label| label == first) => first,
            Some(_) => "",
        }
    }

    fn finish(self, row: &Row, abstracts: &HashMap<String, Vec<String>>) -> Row {
        let found: Vec<(&String, &Vec<String>)> = self
            .cited
            .iter()
            .filter_map(|id| Some((id, abstracts.get(id)?)))
            .collect();
        let documents = found
            .iter()
            .map(|(id, sentences)| json!({"id": id, "sentences": sentences}));
        let texts = found.iter().map(|(_, sentences)| sentences.join(" "));
        let evidence = self
            .evidence
            .iter()
            .map(|one| json!({"doc": one.document, "label": one.label, "sentences": one.sets}));
        row.becomes([
            ("id", row.get("id").clone()),
            ("claim", row.get("claim").clone()),
            ("documents", documents.collect()),
            ("abstracts", texts.collect()),
            ("evidence", evidence.collect()),
            ("label", self.label().into()),
        ])
    }
}
