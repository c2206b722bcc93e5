//! The `context-bench` program.

use std::process::ExitCode;

use context_bench::registry::Registry;
use context_bench::sandbox;

/// Examples and rows are many small pieces of memory that one thread makes and
/// another lets go, which this one is made for (`docs/adr/0013`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The program is also the launcher of its sandbox, before anything else.
    if let Some(code) = sandbox::run_if_launcher(std::env::args_os()) {
        return code;
    }
    context_bench_cli::run(std::env::args_os(), &Registry::builtin()).into()
}
