//! `report`: writes stored runs as a page. Nobody is asked.

use context_bench::TextsKept;
use context_bench::planner;
use context_bench::registry::Registry;
use context_bench::report::Reporter as _;

use super::compare::OpenedStores;
use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Sink};
use crate::{outputs, surroundings};

pub(crate) fn main(args: &ReportArgs, registry: &Registry, command: &str) -> Result<Exit, Failure> {
    let mut opened = OpenedStores::default();
    let mut runs = Vec::new();
    for typed in &args.runs {
        let run = opened.run(typed, args.cache_dir.as_deref())?;
        runs.push(run.priced(&args.prices.prices)?);
    }
    let mut page = outputs::page(command);
    // The run itself comes first: who has no store can only run it again.
    let mut commands: Vec<String> = Vec::new();
    for run in &runs {
        commands.extend(outputs::page(&run.stored.run.command).commands);
    }
    commands.append(&mut page.commands);
    page.commands = commands;
    let texts = match args.no_text {
        true => TextsKept::None,
        false => page.texts(),
    };
    let sink = Sink::open(Some(&args.output_file))?;
    let result = match planner::join_runs(&runs, &surroundings::of(registry, true), texts) {
        Ok(result) => result,
        Err(error) => {
            sink.discard();
            return Err(error.into());
        }
    };
    let damaged = opened.damaged();
    if damaged > 0 {
        output::warning(&format!(
            "{damaged} stored entries are damaged; their contents are missing here"
        ));
    }
    output::notices(planner::unfinished(&result).as_slice());
    output::notices(&planner::without_values(&result));
    let written = sink.write(|out| page.write(&result, out));
    written.map_err(|error| Failure::bad_input(format!("cannot write the report: {error}")))?;
    Ok(match result.part_of() {
        None if damaged == 0 => Exit::Done,
        _ => Exit::RowsFailed,
    })
}
