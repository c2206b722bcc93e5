//! Progress on stderr: one bar per system on a terminal, plain lines elsewhere.

use std::fmt::Write;
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use context_bench::planner::OUT_OF_TIME;
use context_bench::{EvalRow, Progress, RunEvent};
use context_bench_scoring::text::visible::visible_line;
use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};

use crate::{output, words};

/// The display that suits where stderr goes.
pub(crate) fn display(quiet: bool) -> Box<dyn Progress> {
    let display: Box<dyn Progress> = if quiet {
        Box::new(context_bench::NoProgress)
    } else if std::io::stderr().is_terminal() {
        Box::new(Bars::default())
    } else {
        Box::new(Lines::default())
    };
    Box::new(TimeLimitWarning(display))
}

/// Adds the warning that time is up, which appears even with `--quiet`.
struct TimeLimitWarning(Box<dyn Progress>);

impl Progress for TimeLimitWarning {
    fn on_event(&self, event: &RunEvent<'_>) {
        if matches!(event, RunEvent::TimeIsOver) {
            output::warning(OUT_OF_TIME);
        }
        self.0.on_event(event);
    }
}

/// How fast new rows arrive. Rows from the store arrive at once and say nothing about how long
/// the rest will take.
#[derive(Debug)]
struct Speed {
    started: Instant,
    asked: AtomicUsize,
}

impl Speed {
    fn new() -> Self {
        Self {
            started: Instant::now(),
            asked: AtomicUsize::new(0),
        }
    }

    fn row(&self, row: &EvalRow) {
        if !row.cached {
            self.asked.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Rows per second, time taken, and the time left for the remaining rows at that rate.
    fn describe(&self, elapsed: Duration, remaining: Option<u64>) -> String {
        let asked = self.asked.load(Ordering::Relaxed);
        let rate = asked as f64 / elapsed.as_secs_f64().max(1e-9);
        let mut text = format!("{rate:.1}/s, {}", time_taken(elapsed));
        // Without a single row there is no rate yet.
        if let Some(remaining) = remaining.filter(|_| asked > 0) {
            let left = Duration::try_from_secs_f64(remaining as f64 / rate);
            text += &format!(", {}", time_left(left.unwrap_or(Duration::MAX)));
        }
        text
    }
}

/// One bar per system with done/total, rate, errors, time taken and time left.
#[derive(Default)]
struct Bars {
    bars: OnceLock<Vec<ProgressBar>>,
    speeds: OnceLock<Vec<Arc<Speed>>>,
    problems: Mutex<Vec<ProblemCounts>>,
}

/// What went wrong so far with one system.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct ProblemCounts {
    /// Rows without a score.
    errors: usize,
    /// Attempts that timed out, including those that were retried.
    timeouts: usize,
}

impl ProblemCounts {
    /// In words; empty when nothing went wrong.
    fn describe(self) -> String {
        let counted = [(self.errors, "error"), (self.timeouts, "timeout")];
        let counted = counted.iter().filter(|(n, _)| *n > 0);
        let counted = counted.map(|(n, what)| words::counted(*n, what));
        counted.collect::<Vec<_>>().join(", ")
    }
}

impl Bars {
    /// Counts a problem of a system and shows it.
    fn count(&self, system: usize, count: impl FnOnce(&mut ProblemCounts)) {
        if let Some(bar) = self.bars.get().and_then(|bars| bars.get(system))
            && let Ok(mut problems) = self.problems.lock()
            && let Some(problems) = problems.get_mut(system)
        {
            count(problems);
            bar.set_message(problems.describe());
        }
    }
}

impl Progress for Bars {
    fn on_event(&self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Started { systems, planned } => {
                let all = MultiProgress::new();
                let width = systems.iter().map(|name| short_name(name).chars().count());
                let width = width.max().unwrap_or(0);
                let template = if planned.is_some() {
                    // Every line must fit into 80 columns.
                    format!("{{prefix:{width}}} {{bar:12}} {{pos}}/{{len}} {{speed}} {{msg}}")
                } else {
                    format!("{{prefix:{width}}} {{spinner}} {{pos}} {{speed}} {{msg}}")
                };
                let style = |speed: Arc<Speed>| {
                    let describe = move |state: &ProgressState, out: &mut dyn Write| {
                        let remaining = state.len().map(|len| len.saturating_sub(state.pos()));
                        let _ = out.write_str(&speed.describe(speed.elapsed(), remaining));
                    };
                    ProgressStyle::with_template(&template)
                        .unwrap_or_else(|_| ProgressStyle::default_bar())
                        .with_key("speed", describe)
                };
                let bar = |(name, speed): (&Arc<str>, &Arc<Speed>)| {
                    let bar = match planned {
                        Some(total) => ProgressBar::new(*total as u64),
                        None => ProgressBar::new_spinner(),
                    };
                    let bar = all.add(bar.with_style(style(Arc::clone(speed))));
                    bar.set_prefix(short_name(name));
                    bar
                };
                let speeds: Vec<_> = systems.iter().map(|_| Arc::new(Speed::new())).collect();
                let bars = systems.iter().zip(&speeds).map(bar).collect();
                let _ = self.bars.set(bars);
                let _ = self.speeds.set(speeds);
                if let Ok(mut problems) = self.problems.lock() {
                    problems.resize(systems.len(), ProblemCounts::default());
                }
            }
            RunEvent::RowFinished { system, row } => {
                let Some(bar) = self.bars.get().and_then(|bars| bars.get(*system)) else {
                    return;
                };
                if let Some(speed) = self.speeds.get().and_then(|all| all.get(*system)) {
                    speed.row(row);
                }
                bar.inc(1);
                if row.has_error() {
                    self.count(*system, |problems| problems.errors += 1);
                }
            }
            RunEvent::TimedOut { system } => {
                self.count(*system, |problems| problems.timeouts += 1);
            }
            RunEvent::Finished => {
                for bar in self.bars.get().into_iter().flatten() {
                    bar.finish_and_clear();
                }
            }
            _ => {}
        }
    }
}

/// The longest name shown before a bar, in characters.
const LONGEST_NAME: usize = 24;

fn short_name(name: &str) -> String {
    let name = visible_line(name);
    if name.chars().count() <= LONGEST_NAME {
        return name.into_owned();
    }
    name.chars().take(LONGEST_NAME - 1).chain(['…']).collect()
}

fn time_left(left: Duration) -> String {
    let seconds = left.as_secs();
    match seconds {
        0..60 => format!("{seconds} s left"),
        60..3600 => format!("{} min left", seconds / 60),
        _ => format!("{} h {} min left", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `0:07`, `12:45`, `1:02:03`.
fn time_taken(taken: Duration) -> String {
    let seconds = taken.as_secs();
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds % 3600 / 60, seconds % 60),
    }
}

/// How often plain lines are written.
const EVERY: Duration = Duration::from_secs(2);

/// One line per system from time to time, for logs.
#[derive(Default)]
struct Lines {
    state: Mutex<Option<LinesState>>,
}

struct LinesState {
    names: Vec<String>,
    planned: Option<usize>,
    done: Vec<usize>,
    speeds: Vec<Speed>,
    problems: Vec<ProblemCounts>,
    started: Instant,
    last: Instant,
}

impl Progress for Lines {
    fn on_event(&self, event: &RunEvent<'_>) {
        let Ok(mut state) = self.state.lock() else {
            return;
        };
        match (event, &mut *state) {
            (RunEvent::Started { systems, planned }, state) => {
                let now = Instant::now();
                *state = Some(LinesState {
                    names: systems.iter().map(ToString::to_string).collect(),
                    planned: *planned,
                    done: vec![0; systems.len()],
                    speeds: systems.iter().map(|_| Speed::new()).collect(),
                    problems: vec![ProblemCounts::default(); systems.len()],
                    started: now,
                    last: now,
                });
            }
            (RunEvent::RowFinished { system, row }, Some(state)) => {
                state.done[*system] += 1;
                state.speeds[*system].row(row);
                state.problems[*system].errors += usize::from(row.has_error());
                state.print_if_due();
            }
            // While an endpoint hangs, there may be no rows for a long time.
            (RunEvent::TimedOut { system }, Some(state)) => {
                state.problems[*system].timeouts += 1;
                state.print_if_due();
            }
            // A log with progress lines also gets a last one.
            (RunEvent::Finished, Some(state)) if state.last > state.started => state.print(),
            _ => {}
        }
    }
}

impl LinesState {
    fn print_if_due(&mut self) {
        if self.last.elapsed() >= EVERY {
            self.last = Instant::now();
            self.print();
        }
    }

    fn print(&self) {
        for (i, name) in self.names.iter().enumerate() {
            let (done, problems) = (self.done[i], self.problems[i].describe());
            let speed = &self.speeds[i];
            let mut line = format!("  {name}: {done}");
            if let Some(planned) = self.planned {
                line += &format!("/{planned}");
            }
            let remaining = self
                .planned
                .map(|planned| planned.saturating_sub(done) as u64);
            line += &format!(", {}", speed.describe(speed.elapsed(), remaining));
            if !problems.is_empty() {
                line += &format!(", {problems}");
            }
            output::note(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_counted_in_words() {
        for (errors, timeouts, expected) in [
            (0, 0, ""),
            (1, 0, "1 error"),
            (0, 1, "1 timeout"),
            (2, 3, "2 errors, 3 timeouts"),
        ] {
            let problems = ProblemCounts { errors, timeouts };
            assert_eq!(problems.describe(), expected);
        }
    }

    #[test]
    fn rows_from_the_store_do_not_count_for_speed() {
        let speed = Speed::new();
        let mut row = EvalRow::new("s", 1_usize, Default::default(), 0, 0);
        row.cached = true;
        for _ in 0..990 {
            speed.row(&row);
        }
        let after = Duration::from_secs(65);
        assert_eq!(speed.describe(after, Some(10)), "0.0/s, 1:05");
        row.cached = false;
        for _ in 0..13 {
            speed.row(&row);
        }
        assert_eq!(speed.describe(after, Some(10)), "0.2/s, 1:05, 50 s left");
        assert_eq!(speed.describe(after, None), "0.2/s, 1:05");
    }

    #[test]
    fn names_and_times_are_short() {
        assert_eq!(time_taken(Duration::from_secs(3_723)), "1:02:03");
        assert_eq!(short_name("plain"), "plain");
        assert_eq!(short_name(&"é".repeat(99)).chars().count(), LONGEST_NAME);
        for (seconds, expected) in [
            (0, "0 s left"),
            (59, "59 s left"),
            (125, "2 min left"),
            (7_500, "2 h 5 min left"),
        ] {
            assert_eq!(time_left(Duration::from_secs(seconds)), expected);
        }
    }
}
