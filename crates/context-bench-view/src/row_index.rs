//! `RowIndex`: the numbers of all rows of a run, column by column, so that a filter or an order over
//! a million rows takes milliseconds. Texts stay in the store.

use std::collections::{HashMap, HashSet};

use context_bench::comparison::{Matched, ScoreColumns};
use context_bench::planner::RowReader;
use context_bench::reopened_run::RowPlace;
use context_bench::{Counts, EvalRow};
use context_bench_page::Outcome;

/// Most bytes of all columns of scores. The score that counts has a column of its own.
const MAX_SCORES: usize = 48 << 20;
/// Stands for a number that is not known.
const NONE: u32 = u32::MAX;

/// Names and their numbers, in order of first use.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) names: Vec<String>,
    numbers: HashMap<String, u16>,
}

impl Names {
    fn number(&mut self, name: &str) -> u16 {
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        // A run with more datasets than that would have one more row each.
        let number = u16::try_from(self.names.len()).unwrap_or(u16::MAX);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

/// Which rows of a system are there already.
#[derive(Debug, Default)]
struct Seen {
    /// All positions below are there.
    next: i64,
    beyond: HashSet<(i64, i64)>,
}

/// How a system failed.
#[derive(Debug, Clone)]
pub(crate) struct FailureKind {
    pub(crate) n: usize,
    /// What the first and the last of them said.
    pub(crate) first: String,
    pub(crate) last: String,
}

/// The numbers of the rows of a run. A row has the number of its place here, for good.
#[derive(Debug, Default)]
pub(crate) struct RowIndex {
    pub(crate) system: Vec<u16>,
    pub(crate) position: Vec<u32>,
    repeat: Vec<u16>,
    pub(crate) dataset: Vec<u16>,
    pub(crate) outcome: Vec<u8>,
    /// 0 is none.
    pub(crate) kind: Vec<u16>,
    pub(crate) cached: Vec<bool>,
    /// Not a number where there is none.
    pub(crate) quality: Vec<f64>,
    pub(crate) latency: Vec<f64>,
    pub(crate) input_tokens: Vec<u32>,
    pub(crate) output_tokens: Vec<u32>,
    prompt_tokens: Vec<u32>,
    completion_tokens: Vec<u32>,
    /// 1 where a row passed and the baseline did not, -1 the other way round.
    pub(crate) flip: Vec<i8>,
    /// Narrow, because there are many; the page shows what the store has.
    scores: Vec<(String, Vec<f32>)>,
    pub(crate) datasets: Names,
    pub(crate) kinds: Names,
    pub(crate) counts: Vec<Counts>,
    pub(crate) failures: Vec<HashMap<String, FailureKind>>,
    seen: Vec<Seen>,
    max_scores: usize,
    /// Rows that `flip` covers.
    n_flips: usize,
}

impl RowIndex {
    /// An index for about so many rows.
    pub(crate) fn new(n_systems: usize, rows: usize) -> Self {
        let mut index = Self {
            counts: vec![Counts::default(); n_systems],
            failures: vec![HashMap::new(); n_systems],
            max_scores: (MAX_SCORES / 4 / rows.max(1)).clamp(1, 64),
            ..Self::default()
        };
        index.seen.resize_with(n_systems, Seen::default);
        // Growing by doubling would hold half as much again for nothing.
        index.system.reserve_exact(rows);
        index.position.reserve_exact(rows);
        index.repeat.reserve_exact(rows);
        index.dataset.reserve_exact(rows);
        index.outcome.reserve_exact(rows);
        index.kind.reserve_exact(rows);
        index.cached.reserve_exact(rows);
        index.quality.reserve_exact(rows);
        index.latency.reserve_exact(rows);
        for column in [
            &mut index.input_tokens,
            &mut index.output_tokens,
            &mut index.prompt_tokens,
            &mut index.completion_tokens,
        ] {
            column.reserve_exact(rows);
        }
        index
    }

    pub(crate) fn len(&self) -> usize {
        self.system.len()
    }

    /// Where the rows of a system that are not all there begin.
    pub(crate) fn frontier(&self, system: usize) -> RowPlace {
        let next = self.seen.get(system).map_or(0, |seen| seen.next);
        RowPlace {
            position: next - 1,
            repeat: i64::MAX,
            ..RowPlace::before(system)
        }
    }

    /// Whether a row is not there yet.
    pub(crate) fn lacks(&self, place: RowPlace) -> bool {
        let system = usize::try_from(place.system).ok();
        let seen = system.and_then(|system| self.seen.get(system));
        seen.is_some_and(|seen| {
            place.position >= seen.next && !seen.beyond.contains(&(place.position, place.repeat))
        })
    }

    /// Adds a row that it lacks.
    pub(crate) fn push(&mut self, place: RowPlace, row: &EvalRow, reader: &RowReader) {
        let Ok(system) = usize::try_from(place.system) else {
            return;
        };
        let (Some(seen), Some(counts)) = (self.seen.get_mut(system), self.counts.get_mut(system))
        else {
            return;
        };
        seen.beyond.insert((place.position, place.repeat));
        counts.add(row);
        let narrow = |n: i64| u32::try_from(n).unwrap_or(NONE);
        let count = |n: u64| u32::try_from(n).unwrap_or(NONE - 1);
        let optional = |n: Option<u64>| n.map_or(NONE, count);
        let failure = row.failure.as_deref();
        let outcome = match () {
            () if failure.is_some() => Outcome::Failed,
            () if row.has_error() => Outcome::Unscored,
            () if row.is_scored() => Outcome::Scored,
            () => Outcome::NotApplicable,
        };
        let unscored = || row.scores.unscored().next().map(|(_, reason)| reason);
        let said = match failure {
            Some(failure) => Some((failure.kind.as_str(), failure.message.as_str())),
            None => unscored().map(|reason| ("unscored", reason)),
        };
        if let (Some((kind, message)), Some(known)) = (said, self.failures.get_mut(system)) {
            let short = |text: &str| text.chars().take(400).collect::<String>();
            match known.get_mut(kind) {
                Some(known) => {
                    known.n += 1;
                    if known.last != message {
                        known.last = short(message);
                    }
                }
                None => {
                    let first = FailureKind {
                        n: 1,
                        first: short(message),
                        last: short(message),
                    };
                    known.insert(kind.to_owned(), first);
                }
            }
        }
        let tokens = row.reply.as_deref().map(|reply| &reply.tokens);
        let at = self.len();
        self.system.push(u16::try_from(system).unwrap_or(u16::MAX));
        self.position.push(narrow(place.position));
        self.repeat
            .push(u16::try_from(place.repeat).unwrap_or(u16::MAX));
        self.dataset.push(self.datasets.number(&row.dataset));
        self.outcome.push(u8::try_from(outcome.code()).unwrap_or(0));
        let kind = failure.map_or(0, |failure| self.kinds.number(failure.kind.as_str()) + 1);
        self.kind.push(kind);
        self.cached.push(row.cached);
        self.quality.push(reader.quality(row).unwrap_or(f64::NAN));
        self.latency.push(row.latency);
        self.input_tokens.push(count(row.input_tokens));
        self.output_tokens.push(count(row.output_tokens));
        self.prompt_tokens
            .push(optional(tokens.and_then(|tokens| tokens.prompt)));
        self.completion_tokens
            .push(optional(tokens.and_then(|tokens| tokens.completion)));
        for (name, score) in row
            .scores
            .iter()
            .filter(|(_, score)| score.as_evidence().is_none())
        {
            let known = self
                .scores
                .iter()
                .position(|(known, _)| known == name.as_str());
            let column = match known {
                Some(known) => known,
                None if self.scores.len() < self.max_scores => {
                    let mut column = Vec::new();
                    column.reserve_exact(self.system.capacity());
                    self.scores.push((name.to_string(), column));
                    self.scores.len() - 1
                }
                None => continue,
            };
            let column = &mut self.scores[column].1;
            column.resize(at, f32::NAN);
            column.push(score.get().map_or(f32::NAN, |value| value as f32));
        }
    }

    /// Moves the places behind which everything is there as far as they go.
    pub(crate) fn settle(&mut self) {
        for seen in &mut self.seen {
            // The last position stays open: more repeats of its example may follow.
            while seen.beyond.contains(&(seen.next, 0)) && seen.beyond.contains(&(seen.next + 1, 0))
            {
                seen.next += 1;
            }
            let next = seen.next;
            seen.beyond.retain(|(position, _)| *position >= next);
        }
        for (_, column) in &mut self.scores {
            column.resize(self.system.len(), f32::NAN);
        }
    }

    /// The names of the scores that can be filtered by.
    pub(crate) fn score_names(&self) -> Vec<String> {
        self.scores.iter().map(|(name, _)| name.clone()).collect()
    }

    /// The column of a score.
    pub(crate) fn score(&self, name: &str) -> Option<&[f32]> {
        let found = self.scores.iter().find(|(known, _)| known == name);
        found.map(|(_, column)| column.as_slice())
    }

    /// Where a row stands in the run.
    pub(crate) fn place(&self, row: usize) -> Option<RowPlace> {
        Some(RowPlace {
            system: i64::from(*self.system.get(row)?),
            position: i64::from(*self.position.get(row)?),
            repeat: i64::from(*self.repeat.get(row)?),
        })
    }

    /// The rows of all systems about the example of a row.
    pub(crate) fn of_example(&self, row: usize) -> Vec<usize> {
        let (Some(position), Some(repeat)) = (self.position.get(row), self.repeat.get(row)) else {
            return Vec::new();
        };
        let same = self.position.iter().zip(&self.repeat).enumerate();
        let same = same.filter(|(_, own)| *own == (position, repeat));
        same.map(|(row, _)| row).take(256).collect()
    }

    pub(crate) fn prompt_tokens(&self, row: usize) -> Option<u32> {
        self.prompt_tokens.get(row).copied().filter(|n| *n != NONE)
    }

    pub(crate) fn completion_tokens(&self, row: usize) -> Option<u32> {
        self.completion_tokens
            .get(row)
            .copied()
            .filter(|n| *n != NONE)
    }

    /// The scores that count of a system and its baseline, pair by pair: rows of the same example and
    /// attempt.
    pub(crate) fn beside(&self, baseline: usize, system: usize) -> ScoreColumns {
        let (old, new) = (self.in_order(baseline), self.in_order(system));
        let at = |row: &u32| (self.position[*row as usize], self.repeat[*row as usize]);
        let mut found = ScoreColumns {
            values: Vec::with_capacity(old.len()),
            datasets: Vec::with_capacity(old.len()),
            ..ScoreColumns::default()
        };
        let is_repeated = old.iter().any(|row| at(row).1 > 0);
        let mut later = new.iter().peekable();
        for row in &old {
            while later.next_if(|other| at(other) < at(row)).is_some() {}
            let Some(other) = later.next_if(|other| at(other) == at(row)) else {
                continue;
            };
            let quality = |row: &u32| self.quality[*row as usize];
            found.values.push((quality(row), quality(other)));
            found.datasets.push(self.dataset[*row as usize]);
            if is_repeated {
                found.clusters.push(at(row).0);
            }
        }
        found.matched = Matched::of(found.values.len(), old.len(), new.len());
        found
    }

    /// The rows of a system in the order of examples.
    fn in_order(&self, system: usize) -> Vec<u32> {
        let own = (0_u32..).zip(&self.system);
        let own = own.filter(|(_, own)| usize::from(**own) == system);
        let mut rows: Vec<u32> = own.map(|(row, _)| row).collect();
        rows.sort_by_key(|row| (self.position[*row as usize], self.repeat[*row as usize]));
        rows
    }

    /// Whether it is known of all rows whether they flipped.
    pub(crate) fn knows_flips(&self) -> bool {
        self.n_flips == self.len()
    }

    /// Works out which rows flipped, where that is not known of all rows.
    pub(crate) fn find_flips(&mut self, baseline: usize, threshold: f64) {
        if self.knows_flips() {
            return;
        }
        let baseline = u16::try_from(baseline).unwrap_or(u16::MAX);
        let n = self
            .position
            .iter()
            .max()
            .map_or(0, |most| *most as usize + 1);
        // Positions are those of a dataset; one far beyond the number of rows is no place to count to.
        let n = n.min(self.len().saturating_mul(4).max(1 << 16));
        let mut of_baseline = vec![f64::NAN; n];
        for row in (0..self.len())
            .rev()
            .filter(|row| self.system[*row] == baseline)
        {
            if let Some(place) = of_baseline.get_mut(self.position[row] as usize) {
                *place = self.quality[row];
            }
        }
        self.flip.clear();
        self.flip.reserve_exact(self.system.capacity());
        for row in 0..self.len() {
            let base = of_baseline.get(self.position[row] as usize);
            let base = base.copied().unwrap_or(f64::NAN);
            let own = self.quality[row];
            let flip = match self.system[row] == baseline || base.is_nan() || own.is_nan() {
                true => 0,
                false => i8::from(own >= threshold) - i8::from(base >= threshold),
            };
            self.flip.push(flip);
        }
        self.n_flips = self.len();
    }
}
