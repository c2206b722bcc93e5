//! Progress on stderr: one bar per system on a terminal, plain lines elsewhere.

use std::fmt::Write;
use std::io::IsTerminal as _;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use context_bench::planner::OUT_OF_TIME;
use context_bench::{Progress, RunEvent};
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

/// One bar per system with done/total, rate, errors and time left.
#[derive(Default)]
struct Bars {
    bars: OnceLock<Vec<ProgressBar>>,
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
                let width = systems.iter().map(|name| name.chars().count()).max();
                let width = width.unwrap_or(0).min(NAME);
                let template = if planned.is_some() {
                    // The lines of all systems stay below 80 columns.
                    format!(
                        "{{prefix:{width}}} {{bar:16}} {{pos}}/{{len}} {{rate}}{{left}} {{msg}}"
                    )
                } else {
                    format!("{{prefix:{width}}} {{spinner}} {{pos}} {{rate}} {{msg}}")
                };
                let style = ProgressStyle::with_template(&template)
                    .unwrap_or_else(|_| ProgressStyle::default_bar())
                    .with_key("rate", |state: &ProgressState, out: &mut dyn Write| {
                        let _ = write!(out, "{:.1}/s", state.per_sec());
                    })
                    .with_key("left", |state: &ProgressState, out: &mut dyn Write| {
                        // Before the first row nothing is known about the rest.
                        if state.pos() > 0 {
                            let _ = write!(out, ", {}", time_left(state.eta()));
                        }
                    });
                let bar = |name: &std::sync::Arc<str>| {
                    let bar = match planned {
                        Some(total) => ProgressBar::new(*total as u64),
                        None => ProgressBar::new_spinner(),
                    };
                    let bar = all.add(bar.with_style(style.clone()));
                    bar.set_prefix(short_name(name));
                    bar
                };
                let _ = self.bars.set(systems.iter().map(bar).collect());
                if let Ok(mut troubles) = self.troubles.lock() {
                    troubles.resize(systems.len(), Troubles::default());
                }
            }
            RunEvent::RowFinished { system, row } => {
                let Some(bar) = self.bars.get().and_then(|bars| bars.get(*system)) else {
                    return;
                };
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
    if name.chars().count() <= NAME {
        return name.to_owned();
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
                    troubles: vec![Troubles::default(); systems.len()],
                    started: now,
                    last: now,
                });
            }
            (RunEvent::RowFinished { system, row }, Some(state)) => {
                state.done[*system] += 1;
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
        let seconds = self.started.elapsed().as_secs_f64();
        for (i, name) in self.names.iter().enumerate() {
            let (done, troubles) = (self.done[i], self.troubles[i].told());
            let rate = done as f64 / seconds;
            let mut line = format!("  {name}: {done}");
            if let Some(planned) = self.planned {
                line += &format!("/{planned}");
            }
            line += &format!(", {rate:.1}/s");
            if !troubles.is_empty() {
                line += &format!(", {troubles}");
            }
            if let Some(left) = self.planned.and_then(|planned| planned.checked_sub(done))
                && rate > 0.0
            {
                let left = Duration::try_from_secs_f64(left as f64 / rate);
                line += &format!(", {}", time_left(left.unwrap_or(Duration::MAX)));
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
    fn names_and_times_are_short() {
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
