//! The front matter of a README, read as Python reads it.

use context_bench_template::yaml;
use serde_json::Value;

use crate::card::front_matter;

/// The list `configs` of a README; nothing if there is none.
///
/// Only that list becomes JSON: the rest of a card may hold anything.
pub(crate) fn configs(readme: &str) -> Result<Option<Value>, String> {
    let Some(text) = front_matter(readme) else {
        return Ok(None);
    };
    let document = yaml::parse(text.as_bytes(), "README.md").map_err(|error| error.to_string())?;
    match document.root.get("configs") {
        Some(list) => {
            let list = yaml::to_json(list, "README.md").map_err(|error| error.to_string())?;
            Ok((!list.is_null()).then_some(list))
        }
        None => Ok(None),
    }
}
