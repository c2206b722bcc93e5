//! The help of the program and of every command of it.

use std::collections::BTreeSet;
use std::path::Path;

use super::session::Session;

/// The names below `Commands:`, but for `help` itself.
fn commands(help: &str) -> Vec<String> {
    let below = help.lines().skip_while(|line| *line != "Commands:");
    let listed = below.skip(1).take_while(|line| !line.is_empty());
    // A description that goes on has more blanks in front of it.
    let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_explains_itself() {
    let mut open = vec![String::new()];
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        let mut session = Session::new();
        let help = session.run(format!("{name} --help").trim_start());
        let below = commands(&help.stdout);
        open.extend(below.iter().map(|below| match name.as_str() {
            "" => below.clone(),
            name => format!("{name} {below}"),
        }));
        let file = format!("help {name}").trim_end().replace(' ', "_");
        session.approve(&file);
        seen.insert(format!("{file}.snap"));
    }
    // A command that is gone leaves no snapshot behind.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots/approved");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let stored: BTreeSet<String> = files
        .filter(|file| file.starts_with("help") && file.ends_with(".snap"))
        .collect();
    assert_eq!(stored, seen);
    assert!(seen.len() > 10, "{seen:?}");
}

#[test]
fn the_version() {
    let mut session = Session::new();
    session.run("--version");
    session.approve("version");
}
