//! Runs the tests one after the other and speaks as Rust's own harness does, which knows no
//! test that finds out when it runs that it cannot.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

use context_bench_testkit::shared;

use crate::report::Report;

/// Why a test could not be run here.
pub(crate) struct Ignored(pub(crate) String);

type Run = fn(&mut Report) -> Result<(), Ignored>;

/// A test and the files of the shared folder that it needs.
pub(crate) struct Test {
    name: &'static str,
    run: Run,
    needs: &'static [&'static str],
}

impl Test {
    pub(crate) const fn new(name: &'static str, run: Run, needs: &'static [&'static str]) -> Self {
        Self { name, run, needs }
    }

    fn missing(&self) -> Option<String> {
        let paths = self.needs.iter().map(|file| format!("data/{file}"));
        let missing = paths.into_iter().find(|path| shared::find(path).is_none());
        missing.map(|path| format!("shared file `{path}` is not present"))
    }
}

/// What the command line asks for, as Rust's harness reads it.
#[derive(Default)]
struct Asked {
    filters: Vec<String>,
    skips: Vec<String>,
    exact: bool,
    list: bool,
}

impl Asked {
    fn from_args() -> Self {
        let mut asked = Self::default();
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--list" => asked.list = true,
                "--exact" => asked.exact = true,
                "--skip" => asked.skips.extend(args.next()),
                "--test-threads" | "--format" | "--color" | "--logfile" | "-Z" => {
                    args.next();
                }
                flag if flag.starts_with('-') => {}
                _ => asked.filters.push(arg),
            }
        }
        asked
    }

    fn wants(&self, test: &Test) -> bool {
        // `cargo test agreement` means all of this.
        let name = format!("agreement::{}", test.name);
        let fits = |filter: &String| match self.exact {
            true => name == *filter,
            false => name.contains(filter.as_str()),
        };
        (self.filters.is_empty() || self.filters.iter().any(fits)) && !self.skips.iter().any(fits)
    }
}

/// Runs what is asked for, prints what was found, and checks or writes the record of it.
pub(crate) fn run(tests: &[Test]) -> ExitCode {
    let asked = Asked::from_args();
    let chosen: Vec<&Test> = tests.iter().filter(|test| asked.wants(test)).collect();
    if asked.list {
        for test in &chosen {
            println!("agreement::{}: test", test.name);
        }
        return ExitCode::SUCCESS;
    }
    let begun = Instant::now();
    let (mut passed, mut failed, mut ignored) = (0, 0, 0);
    let mut report = Report::default();
    println!("\nrunning {} tests", chosen.len());
    for test in &chosen {
        let outcome = match test.missing() {
            Some(reason) => Ok(Err(Ignored(reason))),
            None => catch_unwind(AssertUnwindSafe(|| (test.run)(&mut report))),
        };
        let (count, said) = match outcome {
            Ok(Ok(())) => (&mut passed, "ok".to_owned()),
            Ok(Err(Ignored(reason))) => (&mut ignored, format!("ignored, {reason}")),
            Err(_) => (&mut failed, "FAILED".to_owned()),
        };
        *count += 1;
        println!("test agreement::{} ... {said}", test.name);
    }
    print!("{}", report.table());
    if let Err(difference) = report.settle() {
        println!("\n{difference}");
        failed += 1;
    }
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {verdict}. {passed} passed; {failed} failed; {ignored} ignored; 0 measured; {} filtered out; finished in {:.2}s\n",
        tests.len() - chosen.len(),
        begun.elapsed().as_secs_f64(),
    );
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(101)
    }
}
