//! Progress on stderr: one bar per system on a terminal, plain lines elsewhere.

use std::fmt::Write;
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use context_bench::planner::OUT_OF_TIME;
use context_bench::text::visible::visible_line;
use context_bench::{EvalRow, Progress, RunEvent};
use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};

use crate::output;

/// The display that suits where stderr goes.
pub(crate) fn display(quiet: bool) -> Box<dyn Progress> {
    let display: Box<dyn Progress> = if quiet {
        Box::new(context_bench::NoProgress)
    } else if std::io::stderr().is_terminal() {
        Box::new(Bars::default())
    } else {
        Box::new(Lines::default())
    };
    Box::new(Announced(display))
}

/// A display with what everybody is told, however quiet the program is.
struct Announced(Box<dyn Progress>);

impl Progress for Announced {
    fn on_event(&self, event: &RunEvent<'_>) {
        if matches!(event, RunEvent::TimeIsOver) {
            output::warning(OUT_OF_TIME);
        }
        self.0.on_event(event);
    }
}

/// How fast rows come that were asked for now. What a store held comes at once, and says
/// nothing about how long the rest takes.
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

    /// Rows per second, and how long so many more take at that pace.
    fn told(&self, elapsed: Duration, remaining: Option<u64>) -> String {
        let asked = self.asked.load(Ordering::Relaxed);
        let rate = asked as f64 / elapsed.as_secs_f64().max(1e-9);
        let mut told = format!("{rate:.1}/s, {}", time_taken(elapsed));
        // Before the first row nothing is known about the rest.
        if let Some(remaining) = remaining.filter(|_| asked > 0) {
            let left = Duration::try_from_secs_f64(remaining as f64 / rate);
            told += &format!(", {}", time_left(left.unwrap_or(Duration::MAX)));
        }
        told
    }
}

/// One bar per system with done/total, rate, errors, time taken and time left.
#[derive(Default)]
struct Bars {
    bars: OnceLock<Vec<ProgressBar>>,
    speeds: OnceLock<Vec<Arc<Speed>>>,
    troubles: Mutex<Vec<Troubles>>,
}

/// What went wrong so far.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Troubles {
    /// Rows without a score.
    errors: usize,
    /// Attempts that took too long, also those that were tried again.
    timeouts: usize,
}

impl Troubles {
    /// In words; empty when there is nothing to tell.
    fn told(self) -> String {
        let counted = [(self.errors, "error"), (self.timeouts, "time-out")];
        let counted = counted.iter().filter(|(n, _)| *n > 0);
        let counted = counted.map(|(n, what)| {
            let plural = if *n == 1 { "" } else { "s" };
            format!("{n} {what}{plural}")
        });
        counted.collect::<Vec<_>>().join(", ")
    }
}

impl Bars {
    /// Notes a trouble of a system and shows it.
    fn note(&self, system: usize, note: impl FnOnce(&mut Troubles)) {
        if let Some(bar) = self.bars.get().and_then(|bars| bars.get(system))
            && let Ok(mut troubles) = self.troubles.lock()
            && let Some(troubles) = troubles.get_mut(system)
        {
            note(troubles);
            bar.set_message(troubles.told());
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
                    // The lines of all systems stay below 80 columns.
                    format!("{{prefix:{width}}} {{bar:12}} {{pos}}/{{len}} {{speed}} {{msg}}")
                } else {
                    format!("{{prefix:{width}}} {{spinner}} {{pos}} {{speed}} {{msg}}")
                };
                let style = |speed: Arc<Speed>| {
                    let told = move |state: &ProgressState, out: &mut dyn Write| {
                        let remaining = state.len().map(|len| len.saturating_sub(state.pos()));
                        let _ = out.write_str(&speed.told(speed.elapsed(), remaining));
                    };
                    ProgressStyle::with_template(&template)
                        .unwrap_or_else(|_| ProgressStyle::default_bar())
                        .with_key("speed", told)
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
                if let Ok(mut troubles) = self.troubles.lock() {
                    troubles.resize(systems.len(), Troubles::default());
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
                    self.note(*system, |troubles| troubles.errors += 1);
                }
            }
            RunEvent::TimedOut { system } => {
                self.note(*system, |troubles| troubles.timeouts += 1);
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

/// How many characters of a name stand before its bar.
const NAME: usize = 24;

fn short_name(name: &str) -> String {
    let name = visible_line(name);
    if name.chars().count() <= NAME {
        return name.into_owned();
    }
    name.chars().take(NAME - 1).chain(['…']).collect()
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

/// How often plain lines come.
const EVERY: Duration = Duration::from_secs(2);

/// A line per system now and then, for logs.
#[derive(Default)]
struct Lines {
    state: Mutex<Option<LinesState>>,
}

struct LinesState {
    names: Vec<String>,
    planned: Option<usize>,
    done: Vec<usize>,
    speeds: Vec<Speed>,
    troubles: Vec<Troubles>,
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
                    troubles: vec![Troubles::default(); systems.len()],
                    started: now,
                    last: now,
                });
            }
            (RunEvent::RowFinished { system, row }, Some(state)) => {
                state.done[*system] += 1;
                state.speeds[*system].row(row);
                state.troubles[*system].errors += usize::from(row.has_error());
                state.print_now_and_then();
            }
            // Nothing may be done for a long time but to wait and try again.
            (RunEvent::TimedOut { system }, Some(state)) => {
                state.troubles[*system].timeouts += 1;
                state.print_now_and_then();
            }
            // A log that had lines says how it ended.
            (RunEvent::Finished, Some(state)) if state.last > state.started => state.print(),
            _ => {}
        }
    }
}

impl LinesState {
    fn print_now_and_then(&mut self) {
        if self.last.elapsed() >= EVERY {
            self.last = Instant::now();
            self.print();
        }
    }

    fn print(&self) {
        for (i, name) in self.names.iter().enumerate() {
            let (done, troubles) = (self.done[i], self.troubles[i].told());
            let speed = &self.speeds[i];
            let mut line = format!("  {name}: {done}");
            if let Some(planned) = self.planned {
                line += &format!("/{planned}");
            }
            let remaining = self
                .planned
                .map(|planned| planned.saturating_sub(done) as u64);
            line += &format!(", {}", speed.told(speed.elapsed(), remaining));
            if !troubles.is_empty() {
                line += &format!(", {troubles}");
            }
            output::note(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn troubles_are_told_by_their_number() {
        for (errors, timeouts, expected) in [
            (0, 0, ""),
            (1, 0, "1 error"),
            (0, 1, "1 time-out"),
            (2, 3, "2 errors, 3 time-outs"),
        ] {
            assert_eq!(Troubles { errors, timeouts }.told(), expected);
        }
    }

    #[test]
    fn what_a_store_held_says_nothing_about_the_rest() {
        let speed = Speed::new();
        let mut row = EvalRow::new("s", 1_usize, Default::default(), 0, 0);
        row.cached = true;
        for _ in 0..990 {
            speed.row(&row);
        }
        let after = Duration::from_secs(65);
        assert_eq!(speed.told(after, Some(10)), "0.0/s, 1:05");
        row.cached = false;
        for _ in 0..13 {
            speed.row(&row);
        }
        assert_eq!(speed.told(after, Some(10)), "0.2/s, 1:05, 50 s left");
        assert_eq!(speed.told(after, None), "0.2/s, 1:05");
    }

    #[test]
    fn names_and_times_are_short() {
        assert_eq!(time_taken(Duration::from_secs(3_723)), "1:02:03");
        assert_eq!(short_name("plain"), "plain");
        assert_eq!(short_name(&"é".repeat(99)).chars().count(), NAME);
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
