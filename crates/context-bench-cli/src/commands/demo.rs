//! `demo`: the built-in comparison. It is an ordinary run of the bundled dataset through several
//! context layers, answered by the baseline reader.

use context_bench::plan::{BenchmarkSpec, OutputTarget, RunSpec, SystemSpec, Workers};
use context_bench::registry::Registry;

use super::run::{self, Invocation};
use crate::args::DemoArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, outputs};

/// What is compared: no layer, deduplication, two strengths of extraction and three of
/// truncation.
const SYSTEMS: [&str; 7] = [
    "passthrough",
    "dedup",
    "extractive 10%=extractive:ratio=0.1",
    "extractive 2%=extractive:ratio=0.02",
    "truncate 50%=truncate:ratio=0.5",
    "truncate 25%=truncate:ratio=0.25",
    "truncate 10%=truncate:ratio=0.1",
];

pub(crate) fn main(args: &DemoArgs, registry: &Registry, command: &str) -> Result<Exit, Failure> {
    // A spec that a user could write, so that the demo does nothing that the program cannot.
    let system = |typed: &str| SystemSpec {
        system: Some(typed.to_owned()),
        ..SystemSpec::default()
    };
    let mut spec = RunSpec {
        systems: SYSTEMS.map(system).to_vec(),
        relay: args.relay.clone(),
        benchmarks: vec![BenchmarkSpec {
            dataset: Some("demo".into()),
            ..BenchmarkSpec::default()
        }],
        ..RunSpec::default()
    };
    spec.scoring.text_fields = vec!["context".into()];
    spec.limits.max_workers = Some(Workers::Number(8));
    spec.data.limit = args.max_examples.map(|n| n as f64);
    spec.requests.model.clone_from(&args.model);
    spec.output = outputs::spec(&args.output, &args.output_file)?;
    spec.output
        .also
        .extend(args.page.iter().map(|page| OutputTarget {
            format: Some(outputs::HTML.to_owned()),
            file: Some(page.clone()),
        }));
    if args.relay.is_none() {
        output::note(
            "comparing context layers on questions with long contexts, answered by the built-in\n\
             baseline reader (no language model, no key, no network)\n",
        );
    }
    let invocation = Invocation {
        quiet: args.quiet,
        dry_run: false,
        command,
        charted: true,
        shard: None,
        engine: None,
    };
    let exit = run::run(&spec, &invocation, registry)?;
    if args.page.is_none() {
        output::note("\nto see charts and every answer: context-bench demo --page demo.html");
    }
    output::note(
        "\nto let a real model answer: context-bench demo --relay http://localhost:8000 --model NAME",
    );
    Ok(exit)
}
