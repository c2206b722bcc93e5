//! `Clock`: whether the time of a program is over, and whether it had that time.
//!
//! The limit is wall time on a processor that is free. What a program was ready to
//! run and had no processor, because others had them, is not its time: a correct
//! program must not fail for what runs beside it. A program is out of time when it
//! used that much processor time, or when the limit has passed without the time it
//! was kept waiting. Where that cannot be known, its time is in doubt, and it has to
//! run again alone.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::tree::Tree;

/// How many times the limit a program may take that is kept waiting: to go on is
/// cheaper than to begin again, as long as it gets anywhere.
const PATIENCE: u32 = 4;

/// The same when nothing else of ours runs.
const PATIENCE_ALONE: u32 = 2;

/// The launcher and a program with one thread.
const FEW: usize = 2;

/// What is known about the time of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    Left,
    Over,
    /// The limit has passed; how much of it was the program's is not known.
    InDoubt,
}

/// The time of one run.
#[derive(Debug)]
pub(super) struct Clock {
    begun: Instant,
    limit: Duration,
    /// Nothing else of ours runs, so the limit decides in the end.
    alone: bool,
    last_look: Duration,
    /// Processor time of all processes together, at least.
    cpu: Duration,
    /// How long each thread was kept waiting, those that are gone too.
    waits: HashMap<(u32, u32), Duration>,
    /// How long a process stood waiting for a device, as far as seen.
    stood: Duration,
    /// Whether `waits` holds all threads that there were, to their end.
    is_whole: bool,
}

impl Clock {
    /// Begins now.
    pub(super) fn new(limit: Duration, alone: bool) -> Self {
        Self {
            begun: Instant::now(),
            limit,
            alone,
            last_look: Duration::ZERO,
            cpu: Duration::ZERO,
            waits: HashMap::new(),
            stood: Duration::ZERO,
            is_whole: true,
        }
    }

    /// How long until the limit has passed by the clock on the wall.
    pub(super) fn until_limit(&self) -> Duration {
        self.limit.saturating_sub(self.begun.elapsed())
    }

    /// Takes down what the processes of the program took so far.
    pub(super) fn look(&mut self, tree: &Tree) {
        let now = self.begun.elapsed();
        let processes = &tree.processes;
        let cpu: Duration = processes.iter().map(|process| process.cpu).sum();
        self.cpu = self.cpu.max(cpu);
        if processes.iter().any(|process| process.state == 'D') {
            self.stood += now.saturating_sub(self.last_look);
        }
        let mut seen = 0;
        for process in processes {
            self.is_whole &= !process.had_children;
            for thread in &process.threads {
                match process.kept_waiting(*thread) {
                    Some(waited) => {
                        seen += 1;
                        self.waits.insert((process.pid, *thread), waited);
                    }
                    None => self.is_whole = false,
                }
            }
        }
        self.is_whole &= tree.is_whole && seen == self.waits.len();
        self.last_look = now;
    }

    /// What is known now.
    pub(super) fn time(&self) -> Time {
        self.time_at(self.begun.elapsed())
    }

    fn time_at(&self, wall: Duration) -> Time {
        if wall < self.limit {
            return Time::Left;
        }
        if self.cpu >= self.limit {
            return Time::Over;
        }
        let waited = self.waits.values().sum::<Duration>() + self.stood;
        // Many keep each other waiting, and alone there is nobody else.
        let (is_known, patience) = match self.alone {
            true => ((1..=FEW).contains(&self.waits.len()), PATIENCE_ALONE),
            false => (!self.waits.is_empty() && self.is_whole, PATIENCE),
        };
        if is_known && wall >= self.limit.saturating_add(waited) {
            return Time::Over;
        }
        // A loop is soon through with its processor time, and then there is no doubt.
        let nearly = self.cpu >= self.limit / 4 * 3 && wall < self.limit.saturating_mul(3) / 2;
        match self.alone {
            _ if is_known && wall < self.limit.saturating_mul(patience) => Time::Left,
            true => Time::Over,
            false if nearly => Time::Left,
            false => Time::InDoubt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A clock of ten seconds with what was seen: processor time, time waited (`None`
    /// where it is not counted) and whether all threads were seen.
    fn clock(cpu: f64, waited: Option<f64>, is_whole: bool, alone: bool) -> Clock {
        let waits = waited.map(|waited| ((1, 1), Duration::from_secs_f64(waited)));
        Clock {
            cpu: Duration::from_secs_f64(cpu),
            waits: waits.into_iter().collect(),
            is_whole,
            ..Clock::new(10 * SECOND, alone)
        }
    }

    #[test]
    fn only_its_own_time_ends_a_program() {
        use Time::{InDoubt, Left, Over};
        for (name, cpu, waited, is_whole, wall, beside, alone) in [
            ("still early", 20.0, Some(0.0), true, 9.9, Left, Left),
            ("many spinners", 10.0, Some(90.0), false, 10.0, Over, Over),
            ("a loop", 9.9, Some(0.1), true, 10.1, Over, Over),
            ("sleeps", 0.1, Some(0.0), true, 10.0, Over, Over),
            ("kept waiting", 0.1, Some(9.9), true, 10.0, Left, Left),
            ("kept waiting long", 0.1, Some(20.0), true, 20.0, Left, Over),
            (
                "kept waiting too long",
                0.1,
                Some(40.0),
                true,
                40.0,
                InDoubt,
                Over,
            ),
            ("waited, then slept", 0.1, Some(3.0), true, 13.0, Over, Over),
            (
                "children are gone",
                0.1,
                Some(0.1),
                false,
                10.2,
                InDoubt,
                Over,
            ),
            ("nothing is counted", 0.0, None, false, 10.0, InDoubt, Over),
            ("a loop, uncounted", 9.5, None, false, 10.0, Left, Over),
            (
                "a slow loop, uncounted",
                9.5,
                None,
                false,
                15.0,
                InDoubt,
                Over,
            ),
        ] {
            let wall = Duration::from_secs_f64(wall);
            for (is_alone, expected) in [(false, beside), (true, alone)] {
                let clock = clock(cpu, waited, is_whole, is_alone);
                assert_eq!(clock.time_at(wall), expected, "{name}, alone: {is_alone}");
            }
        }
    }
}
