use serde_json::Value;
use crate::card::front_matter;
pub(crate) fn configs(readme: &str) -> Result<Option<Value>, String> {
    let Some(text) = front_matter(readme) else {
        return Ok(None);
    };
    let v: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    Ok(v.get("configs").cloned())
}
