//! The `context-bench` program as a library, so that tests and the Python package can run the
//! same code with a registry of their own.
//!
//! Only this crate knows about terminals, environment variables and exit codes.

mod args;
mod backend;
mod check_proxy_args;
mod command_line;
mod commands;
mod compare_args;
mod emit_args;
mod engine;
mod env;
mod exit;
mod failure;
mod gate_args;
mod hub;
mod job_summary;
mod list_args;
mod memory_args;
mod open_files;
mod output;
mod outputs;
mod price_args;
mod progress;
mod proxy_args;
mod reachability;
mod shard_args;
mod shards;
mod shared_folders;
mod signals;
mod spec_args;
mod stores;
mod surroundings;
mod tap_args;
mod task_args;
mod task_files;
mod task_run_args;
mod tasks;
mod terminal_table;
mod view_args;
mod words;

use std::ffi::OsString;
use std::panic::AssertUnwindSafe;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, FromArgMatches as _};
use context_bench::registry::Registry;

pub use engine::{EngineError, EngineHost};
pub use exit::Exit;

use args::{Cli, Command};
use failure::Failure;

/// All commands and arguments of the program, for tests that try every one of them.
pub fn arguments() -> clap::Command {
    Cli::command()
}

/// Runs the program and returns how it ended. Never calls `exit` itself.
pub fn run<I>(args: I, registry: &Registry) -> Exit
where
    I: IntoIterator<Item = OsString>,
{
    run_with(args, registry, None)
}

/// The same, with an engine for runs that ask for one.
pub fn run_with<I>(args: I, registry: &Registry, engine: Option<&dyn EngineHost>) -> Exit
where
    I: IntoIterator<Item = OsString>,
{
    let args: Vec<OsString> = args.into_iter().collect();
    let command = command_line::shown(&args);
    output::hide(command_line::secrets(&args));
    let matches = match Cli::command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version are answers, not errors; they go to stdout.
            let to_stderr = error.use_stderr();
            let wrong_arg = match (
                error.get(ContextKind::InvalidArg),
                error.get(ContextKind::InvalidValue),
            ) {
                (Some(ContextValue::String(arg)), Some(_)) => Some(arg.clone()),
                _ => None,
            };
            match to_stderr {
                true => output::clap_error(error),
                false => drop(error.print()),
            }
            return if to_stderr {
                // clap has said what it expected; this says where to read more.
                if let Some(arg) = wrong_arg {
                    output::hint(&format!("`--help` explains `{arg}`"));
                }
                Exit::BadInput
            } else {
                Exit::Done
            };
        }
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => {
            output::clap_error(error);
            return Exit::BadInput;
        }
    };
    // Every panic is a bug, which has its own exit code.
    let done =
        std::panic::catch_unwind(AssertUnwindSafe(|| call(&cli, registry, engine, &command)));
    done.unwrap_or_else(|_| {
        Err(Failure::bug(
            "context-bench panicked; see the message above",
        ))
    })
    .unwrap_or_else(|failure| {
        output::error(&failure);
        failure.exit
    })
}

fn call(
    cli: &Cli,
    registry: &Registry,
    engine: Option<&dyn EngineHost>,
    command: &str,
) -> Result<Exit, Failure> {
    match &cli.command {
        None => commands::run::main((&cli.run, None), registry, engine, command),
        Some(Command::Run(args)) => {
            let asked = (&args.run, args.file.as_deref());
            commands::run::main(asked, registry, engine, command)
        }
        Some(Command::Memory(args)) => commands::memory::main(args, registry, command),
        Some(Command::CheckProxy(args)) => commands::check_proxy::main(args),
        Some(Command::Plan(args)) => commands::plan::main(args, registry),
        Some(Command::Rescore(args)) => commands::rescore::main(args, registry, command),
        Some(Command::Runs(args)) => commands::runs::main(args),
        Some(Command::Compare(args)) => commands::compare::main(args, registry),
        Some(Command::Export(args)) => commands::export::main(args, registry, command),
        Some(Command::Report(args)) => commands::report::main(args, registry, command),
        Some(Command::Merge(args)) => commands::merge::main(args, registry, command),
        Some(Command::Demo(args)) => commands::demo::main(args, registry, command),
        Some(Command::Ls(args)) => commands::ls::main(args, registry),
        Some(Command::Show(args)) => commands::show::main(args, registry),
        Some(Command::Validate(args)) => commands::validate::main(args, registry),
        Some(Command::Score(args)) => commands::score::main(args, registry),
        Some(Command::Render(args)) => commands::render::main(args, registry),
        Some(Command::Fetch(args)) => commands::fetch::main(args, registry),
        Some(Command::View(args)) => commands::view::main(args, registry),
        Some(Command::Tap(args)) => commands::tap::main(args),
        Some(Command::Emit(args)) => commands::emit::main(args),
        Some(Command::Schema) => commands::schema::main(),
        Some(Command::Completions { shell }) => commands::completions::main(*shell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_panic_is_a_bug_with_its_own_exit_code() {
        let mut registry = Registry::builtin();
        let broken = Arc::new(|_: &_| -> Result<_, _> { panic!("a bug") });
        registry.datasets.register("broken", "", broken);
        let line = "context-bench --system passthrough --dataset broken";
        let exit = run(line.split(' ').map(OsString::from), &registry);
        assert_eq!((exit, exit.code()), (Exit::Bug, 1));
    }
}
