//! The texts of a row and of its example as JSON, the same in a file and from a server.

use serde_json::{Map, Value, json};

use crate::row::PageRow;

/// Makes JSON of texts. Of one that is too long the beginning is kept.
#[derive(Debug, Clone, Copy)]
pub struct RowTexts {
    most: usize,
    n_cut: usize,
}

impl RowTexts {
    /// Keeps at most so many bytes of each text.
    pub fn up_to(most: usize) -> Self {
        Self { most, n_cut: 0 }
    }

    /// Of how many texts only the beginning was kept.
    pub fn n_cut(&self) -> usize {
        self.n_cut
    }

    /// The id of the example of a row.
    pub fn id(&mut self, row: &PageRow<'_>) -> Value {
        self.text(&row.example_id)
    }

    /// The texts of the example of a row, but for its id.
    pub fn example(&mut self, row: &PageRow<'_>) -> Map<String, Value> {
        let texts = [
            ("question", &row.question),
            ("answer", &row.answer),
            ("context", &row.context),
        ];
        let there = texts
            .into_iter()
            .filter_map(|(name, text)| Some((name, text.as_ref()?)));
        there
            .map(|(name, text)| (name.into(), self.text(text)))
            .collect()
    }

    /// The texts of the row itself.
    pub fn row(&mut self, row: &PageRow<'_>) -> Value {
        let mut texts = Map::new();
        for (name, text) in [
            ("response", &row.response),
            ("reasoning", &row.reasoning),
            ("error", &row.error),
        ] {
            if let Some(text) = text {
                texts.insert(name.into(), self.text(text));
            }
        }
        // Most baselines change nothing; the example has the text already.
        if let Some(sent) = &row.sent {
            let is_same = row.context.as_ref() == Some(sent);
            let sent = if is_same {
                true.into()
            } else {
                self.text(sent)
            };
            texts.insert("sent".into(), sent);
        }
        for (name, pairs) in [("reasons", &row.reasons), ("facts", &row.facts)] {
            if !pairs.is_empty() {
                texts.insert(name.into(), json!(pairs));
            }
        }
        Value::Object(texts)
    }

    /// A text, or its beginning and its length in characters.
    fn text(&mut self, text: &str) -> Value {
        if text.len() <= self.most {
            return text.into();
        }
        self.n_cut += 1;
        let mut end = self.most;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        json!({"begin": &text[..end], "length": text.chars().count()})
    }
}
