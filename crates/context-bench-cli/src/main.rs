//! The `context-bench` program.

use std::process::ExitCode;

use context_bench::registry::Registry;
use context_bench::sandbox;

/// Examples and rows are many small allocations made on one thread and freed on another,
/// which mimalloc is designed for (`docs/adr/0013`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The sandbox starts this same program as its launcher, so that comes first.
    if let Some(code) = sandbox::run_if_launcher(std::env::args_os()) {
        return code;
    }
    context_bench_cli::run(std::env::args_os(), &Registry::builtin()).into()
}
