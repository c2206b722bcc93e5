//! `make fuzz-yaml SECONDS=120`: mutated YAML texts through the reader.
//!
//! Each text must end in a document or in an error with a place, and what is read must
//! be written so that it reads back as the same. A panic of the parser below is caught
//! by the reader; the place of every panic is listed, and the exit code is 1.
//!
//! ```text
//! cargo run --package context-bench-template --example fuzz -- [SECONDS] [SEED] [FILE…]
//! ```
//!
//! The texts begin as the worked cases of the tests and the files named.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a program for developers, not part of the product"
)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

use context_bench_template::yaml;

/// Signs that mean something in YAML, and some that make trouble.
const MARKS: [&str; 48] = [
    "- ",
    ": ",
    "? ",
    "\n",
    "\n  ",
    "\r",
    "\t",
    "[",
    "]",
    "{",
    "}",
    ",",
    "'",
    "\"",
    "|",
    ">",
    "|-",
    ">+2",
    "&a ",
    "*a",
    "!",
    "!x",
    "!!str ",
    "!<x>",
    "!x!y",
    "!e!%41 ",
    "%YAML 1.1\n---\n",
    "%TAG !e! tag:x,2000:\n--- ",
    "---",
    "...",
    "#",
    " #",
    "@",
    "`",
    "%",
    "\\x",
    "\\u00e9",
    "\\",
    "<<: ",
    "é",
    "😀",
    "\u{0}",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "0x",
    "1e",
    "~",
];

/// Where panics happened, how often, and on which text first.
static PANICS: Mutex<BTreeMap<String, (u64, String)>> = Mutex::new(BTreeMap::new());
static CURRENT: LazyLock<Mutex<String>> = LazyLock::new(Mutex::default);

struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

fn mutate(text: &mut String, other: &str, chance: &mut Chance) {
    let places: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let mut place = || places[chance.below(places.len())];
    let (a, b) = (place(), place());
    let near = (a..=(a + 12).min(text.len())).rev();
    let near = near
        .into_iter()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(a);
    match chance.below(7) {
        0..3 => text.insert_str(a, MARKS[chance.below(MARKS.len())]),
        3 => text.replace_range(a..near, ""),
        4 => text.replace_range(a.min(b)..a.max(b), ""),
        5 => {
            let part = text[a.min(b)..a.max(b)].to_owned();
            text.insert_str(a, &part);
        }
        _ => text.insert_str(a, other.lines().nth(chance.below(20)).unwrap_or("")),
    }
}

/// What is wrong with how a text was read.
fn problem(text: &str) -> Option<String> {
    let document = match yaml::parse(text.as_bytes(), "x.yaml") {
        Ok(document) => document,
        Err(error) if error.message().is_empty() => return Some("no message".to_owned()),
        Err(_) => return None,
    };
    let written = yaml::emit(&document.root);
    let again = match yaml::parse(written.as_bytes(), "y.yaml") {
        Ok(again) => yaml::emit(&again.root),
        Err(error) => return Some(format!("written as {written:?}: {error}")),
    };
    (again != written).then(|| format!("written as {written:?}, then as {again:?}"))
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let mut number = |default| {
        args.next()
            .map_or(default, |text| text.parse().expect("a number"))
    };
    let (seconds, seed) = (number(60), number(1));
    let cases: Vec<serde_json::Value> =
        serde_json::from_str(include_str!("../tests/golden/yaml.json")).unwrap();
    let texts = cases.iter().map(|case| case["text"].as_str().unwrap());
    let mut seeds: Vec<String> = texts.map(str::to_owned).collect();
    seeds.extend(args.filter_map(|file| std::fs::read_to_string(file).ok()));
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let mut panics = PANICS.lock().unwrap();
        let text = CURRENT.lock().unwrap().clone();
        let found = panics.entry(place).or_insert((0, text.clone()));
        found.0 += 1;
        if text.len() < found.1.len() {
            found.1 = text;
        }
    }));
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut chance = Chance(seed);
    let (mut inputs, mut read, mut wrong) = (0_u64, 0_u64, 0_u64);
    while Instant::now() < until {
        let mut text = seeds[chance.below(seeds.len())].clone();
        for _ in 0..1 + chance.below(6) {
            let other = seeds[chance.below(seeds.len())].clone();
            mutate(&mut text, &other, &mut chance);
        }
        CURRENT.lock().unwrap().clone_from(&text);
        inputs += 1;
        if let Some(problem) = problem(&text) {
            wrong += 1;
            println!("{text:?}\n  {problem}");
        } else if yaml::parse(text.as_bytes(), "x.yaml").is_ok() {
            read += 1;
        }
        if wrong == 20 {
            break;
        }
    }
    let panics = PANICS.lock().unwrap();
    for (place, (count, text)) in panics.iter() {
        println!("{count} panics at {place}, for example on {text:?}");
    }
    println!(
        "{} seeds, {inputs} texts, {read} read, {wrong} wrong, {} places that panic",
        seeds.len(),
        panics.len()
    );
    match wrong + panics.len() as u64 {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
