//! `export`: a stored run in any format, from the store alone.

use context_bench::planner::{self, Reopened};
use context_bench::registry::Registry;

use super::run;
use crate::args::ExportArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Sink};
use crate::{stores, surroundings};

pub(crate) fn main(args: &ExportArgs, registry: &Registry) -> Result<Exit, Failure> {
    let reporter = run::reporter(Some(&args.output), args.output_file.is_some(), registry)?;
    let store = stores::open(args.cache_dir.as_deref())?;
    let reopened = Reopened::open(&store, &args.run_id)?;
    let keep_text = reporter.writes_rows() && !args.no_text;
    let sink = Sink::open(args.output_file.as_deref())?;
    let result = match reopened.result(&surroundings::of(registry, true), keep_text) {
        Ok(result) => result,
        Err(error) => {
            sink.discard();
            return Err(error.into());
        }
    };
    let damaged = store.damaged();
    if damaged > 0 {
        output::warning(&format!(
            "{damaged} stored records are damaged; what they held is missing here"
        ));
    }
    output::notices(planner::unfinished(&result).as_slice());
    output::notices(&planner::without_values(&result));
    let written = sink.write(|out| reporter.write(&result, out));
    written.map_err(|error| Failure::bad_input(format!("cannot write the report: {error}")))?;
    Ok(match result.part_of() {
        None if damaged == 0 => Exit::Done,
        _ => Exit::RowsFailed,
    })
}
