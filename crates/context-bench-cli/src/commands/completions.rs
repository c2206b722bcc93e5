//! `completions`: prints a completion script for a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

pub(crate) fn main(shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "context-bench", &mut script);
    output::stdout(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
