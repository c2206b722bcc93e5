//! What was tried in one field, and what of it held.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// The seed of a run that names none: attacks are random, and the same each time.
pub(crate) const SEED: u64 = 20_261_116;

/// The attacks on one field.
pub(crate) struct Siege {
    field: &'static str,
    whole: bool,
    state: u64,
    began: Instant,
    seconds: f64,
    tried: usize,
    gave_way: Vec<String>,
    not_tried: Vec<String>,
    known: Vec<String>,
}

/// The attacks of a field.
pub(crate) type Attack = fn(&mut Siege);

impl Siege {
    pub(crate) fn new(field: &'static str, whole: bool, seed: u64) -> Self {
        // Each field has numbers of its own, whatever else is attacked.
        let state = field
            .bytes()
            .fold(seed, |state, byte| state.wrapping_mul(31) + u64::from(byte));
        Self {
            field,
            whole,
            state,
            began: Instant::now(),
            seconds: 0.0,
            tried: 0,
            gave_way: Vec::new(),
            not_tried: Vec::new(),
            known: Vec::new(),
        }
    }

    /// Runs the attacks of a field; a panic of theirs is something that gave way.
    pub(crate) fn run(&mut self, attack: Attack) {
        self.began = Instant::now();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| attack(self))) {
            let said = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("a panic");
            self.tried("the attack itself", Err(said.to_owned()));
        }
        self.seconds = self.began.elapsed().as_secs_f64();
    }

    /// One attack: what was tried, and what gave way, if anything did.
    pub(crate) fn tried(&mut self, what: impl Into<String>, held: Result<(), String>) {
        self.tried += 1;
        if let Err(how) = held {
            let what = what.into();
            eprintln!("GAVE WAY  {}: {what}\n{how}", self.field);
            self.gave_way.push(what);
        }
    }

    /// Something that cannot be tried here, and why.
    pub(crate) fn not_tried(&mut self, what: impl Into<String>) {
        self.not_tried.push(what.into());
    }

    /// Something that was tried and does not hold, as the documentation says.
    pub(crate) fn known(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.known.contains(&what) {
            self.known.push(what);
        }
    }

    /// How often to do it: in `make test`, or in the whole of `make attack`.
    pub(crate) fn times(&self, part: usize, whole: usize) -> usize {
        match self.whole {
            true => whole,
            false => part,
        }
    }

    /// The numbers below `n`: all of them in the whole, else some, drawn at random.
    pub(crate) fn some_of(&mut self, n: usize, part: usize) -> Vec<usize> {
        match self.whole {
            true => (0..n).collect(),
            false => (0..part).map(|_| self.below(n)).collect(),
        }
    }

    /// Whether all of it was asked for.
    pub(crate) fn whole(&self) -> bool {
        self.whole
    }

    /// A random number below `end` (`SplitMix64`).
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    pub(crate) fn held(&self) -> bool {
        self.gave_way.is_empty()
    }
}

/// Tried and held, a line each.
pub(crate) fn table(sieges: &[Siege]) -> String {
    let mut out = format!(
        "{:<12}{:>8}{:>8}{:>10}\n",
        "attacked", "tried", "held", "seconds"
    );
    for siege in sieges {
        let held = siege.tried - siege.gave_way.len();
        writeln!(
            out,
            "{:<12}{:>8}{:>8}{:>10.1}",
            siege.field, siege.tried, held, siege.seconds
        )
        .unwrap();
    }
    for siege in sieges {
        for what in &siege.gave_way {
            writeln!(out, "gave way: {}: {what}", siege.field).unwrap();
        }
        for what in &siege.known {
            writeln!(out, "documented: {}: {what}", siege.field).unwrap();
        }
        for what in &siege.not_tried {
            writeln!(out, "not tried here: {}: {what}", siege.field).unwrap();
        }
    }
    out
}
