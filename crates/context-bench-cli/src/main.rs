//! The `context-bench` program.

use std::process::ExitCode;

use context_bench::registry::Registry;

fn main() -> ExitCode {
    context_bench_cli::run(std::env::args_os(), &Registry::builtin()).into()
}
