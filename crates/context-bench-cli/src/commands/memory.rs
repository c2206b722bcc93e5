//! `memory`: measures memories with conversations and questions about them.
//!
//! It is a run like any other, with a section `memory` in its spec.

use context_bench::registry::Registry;

use super::memory_check;
use super::run::{self, Invocation};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::memory_args::MemoryArgs;

pub(crate) fn main(args: &MemoryArgs, registry: &Registry, command: &str) -> Result<Exit, Failure> {
    let spec = args.spec()?;
    if args.run.print_config {
        return run::print_config(&spec);
    }
    if args.check {
        return memory_check::main(&spec, registry, args.run.quiet);
    }
    let invocation = Invocation {
        quiet: args.run.quiet,
        dry_run: args.run.dry_run,
        command,
        charted: false,
        shard: Some(&args.run.shard),
        engine: None,
    };
    run::run(&spec, &invocation, registry)
}
