//! The `context-bench` program as a library, so that other front ends (tests,
//! the Python package) enter the same code with a registry of their own.
//!
//! Only this crate knows terminals, environment variables and exit codes.

mod args;
mod command_line;
mod commands;
mod datasets;
mod env;
mod exit;
mod failure;
mod limits;
mod output;
mod progress;
mod signals;
mod stores;
mod systems;

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _};
use context_bench::registry::Registry;

pub use exit::Exit;

use args::{Cli, Command};

/// Runs the program and tells how it ended. Never calls `exit` itself.
pub fn run<I>(args: I, registry: &Registry) -> Exit
where
    I: IntoIterator<Item = OsString>,
{
    let args: Vec<OsString> = args.into_iter().collect();
    let command = command_line::shown(&args);
    let matches = match Cli::command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version are answers, not errors; they go to stdout.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::BadInput
            } else {
                Exit::Done
            };
        }
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return Exit::BadInput;
        }
    };
    let done = match cli.command {
        None => commands::run::main(&cli.run, registry, &command),
        Some(Command::Run(args)) => commands::run::main(&args, registry, &command),
        Some(Command::Rescore(args)) => commands::rescore::main(&args, registry, &command),
        Some(Command::Runs(args)) => commands::runs::main(&args),
        Some(Command::Export(args)) => commands::export::main(&args, registry),
        Some(Command::Demo(args)) => commands::demo::main(&args, registry),
        Some(Command::Ls(args)) => commands::ls::main(&args, registry),
        Some(Command::Completions { shell }) => commands::completions::main(shell),
    };
    done.unwrap_or_else(|failure| {
        output::error(&failure);
        failure.exit
    })
}
