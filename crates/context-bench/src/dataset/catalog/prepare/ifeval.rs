//! IFEval: the Parquet copy gives every instruction the arguments of all of
//! them, most of them null. Null arguments say nothing and are left out.

use serde_json::Value;

use super::{Rows, Tables, each};
use crate::dataset::DatasetError;

/// Leaves out the nulls of `kwargs`.
pub(super) fn prepare(rows: Rows, _: Tables) -> Result<Rows, DatasetError> {
    Ok(each(rows, |mut row| {
        let arguments = row.record.get_mut("kwargs").and_then(Value::as_array_mut);
        for arguments in arguments.into_iter().flatten() {
            if let Value::Object(arguments) = arguments {
                arguments.retain(|_, value| !value.is_null());
            }
        }
        Ok(row)
    }))
}
