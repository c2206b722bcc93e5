//! MT-Bench: the texts of the turns become messages.

use serde_json::{Value, json};

use super::{Rows, Tables, each};
use crate::dataset::DatasetError;

/// Makes `turns` a list of messages; the hub has the texts as `prompt`, the
/// original file as `turns`. Adds `first` and `last`, the texts of those turns.
pub(super) fn prepare(rows: Rows, _: Tables) -> Result<Rows, DatasetError> {
    Ok(each(rows, |mut row| {
        let texts = match row.get("prompt") {
            Value::Null => row.get("turns"),
            prompt => prompt,
        };
        let texts = texts.as_array();
        let texts = texts.ok_or_else(|| row.misfit("neither `prompt` nor `turns` is a list"))?;
        let turns = texts
            .iter()
            .map(|text| json!({"role": "user", "content": text}));
        let turns: Value = turns.collect();
        let text = |text: Option<&Value>| text.cloned().unwrap_or_else(|| "".into());
        let (first, last) = (text(texts.first()), text(texts.last()));
        row.record.insert("turns", turns);
        row.record.insert("first", first);
        row.record.insert("last", last);
        Ok(row)
    }))
}
