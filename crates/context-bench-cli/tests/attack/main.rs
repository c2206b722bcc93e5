//! Attacks on the program, as one command: `make attack`.
//!
//! Each field is a file of its own: it damages stores, kills runs, lets programs try
//! to get out, plants keys, breaks proxies, sends bombs, and tells a [`Siege`] what it tried and
//! whether that held. `cargo test` runs a part of it (`--whole` for all); one thing
//! that gave way is a failure, with what was tried and what came of it.
//!
//! ```text
//! cargo test -p context-bench-cli --test attack -- [--whole] [--seed N] [FIELD…]
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    dead_code,
    missing_docs,
    reason = "tests; and the helpers of `it` are more than this needs"
)]

#[path = "../it/program.rs"]
mod program;

mod hub;
mod kills;
mod sandbox;
mod secrets;
mod siege;
mod stores;
mod tap;
mod templates;
mod terminals;

use std::process::ExitCode;

use siege::{Attack, Siege};

/// What is attacked, in the order of the table.
const FIELDS: [(&str, Attack); 8] = [
    ("stores", stores::attack),
    ("kills", kills::attack),
    ("sandbox", sandbox::attack),
    ("secrets", secrets::attack),
    ("tap", tap::attack),
    ("templates", templates::attack),
    ("hub", hub::attack),
    ("terminals", terminals::attack),
];

fn main() -> ExitCode {
    let mut whole = false;
    let mut seed = siege::SEED;
    let mut fields: Vec<String> = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--whole" => whole = true,
            "--seed" => {
                let Some(given) = args.next().and_then(|n| n.parse().ok()) else {
                    eprintln!("error: `--seed` needs a whole number");
                    return ExitCode::from(2);
                };
                seed = given;
            }
            // What cargo and editors pass to every test.
            "--list" => return ExitCode::SUCCESS,
            flag if flag.starts_with('-') => {}
            field if FIELDS.iter().any(|(name, _)| *name == field) => fields.push(arg),
            // The filter of another test: `cargo test NAME` runs nothing of this.
            _ => return ExitCode::SUCCESS,
        }
    }
    let chosen = FIELDS
        .iter()
        .filter(|(name, _)| fields.is_empty() || fields.iter().any(|field| field == name));
    let mut sieges = Vec::new();
    for (name, attack) in chosen {
        let mut siege = Siege::new(name, whole, seed);
        siege.run(*attack);
        sieges.push(siege);
    }
    print!("{}", siege::table(&sieges));
    match sieges.iter().all(Siege::held) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
