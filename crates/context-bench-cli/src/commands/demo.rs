//! `demo`: the built-in comparison. It is a run like any other, with everything
//! given: the bundled dataset, a set of context layers, the baseline reader.

use clap::Parser as _;
use context_bench::registry::Registry;

use super::run;
use crate::args::{Cli, DemoArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// What is compared: nothing, deduplication, two strengths of extraction and
/// three of truncation.
const SYSTEMS: [&str; 7] = [
    "passthrough",
    "dedup",
    "extractive 10%=extractive:ratio=0.1",
    "extractive 2%=extractive:ratio=0.02",
    "truncate 50%=truncate:ratio=0.5",
    "truncate 25%=truncate:ratio=0.25",
    "truncate 10%=truncate:ratio=0.1",
];

pub(crate) fn main(args: &DemoArgs, registry: &Registry) -> Result<Exit, Failure> {
    // The same arguments that a user would type, so that the demo cannot do
    // what the program cannot.
    let mut line = vec![
        "context-bench",
        "--dataset",
        "demo",
        "--text-field",
        "context",
    ];
    line.extend(["--max-workers", "8", "--output", &args.output]);
    for system in SYSTEMS {
        line.extend(["--system", system]);
    }
    let mut run_args = Cli::try_parse_from(line)
        .map_err(|error| Failure::bug(error.to_string()))?
        .run;
    run_args.max_examples = args.max_examples;
    run_args.relay.clone_from(&args.relay);
    run_args.quiet = args.quiet;
    if let Some(model) = &args.model {
        run_args.model.clone_from(model);
    }
    if args.relay.is_none() {
        output::note(
            "context layers over questions with long contexts, answered by the built-in\n\
             baseline reader (no language model, no key, no network)\n",
        );
    }
    let exit = run::main(&run_args, registry, "context-bench demo")?;
    output::note(
        "\nto let a real model answer: context-bench demo --relay http://localhost:8000 --model NAME",
    );
    Ok(exit)
}
