//! `schema`: prints the JSON Schema of run files, for use in editors.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

pub(crate) fn main() -> Result<Exit, Failure> {
    let schema = context_bench::plan::schema();
    output::json(&schema)?;
    Ok(Exit::Done)
}
