//! `WatchedRun`: one run that somebody looks at. A thread of its own reads its numbers into an
//! index, goes on while the run goes on, and sums the run up when it is over.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use context_bench::comparison::{ScoreColumns, compare_columns};
use context_bench::planner::{PlanError, ReopenedPlan, RowReader, Surroundings};
use context_bench::report::{PageReport, page_comparison};
use context_bench::store::{RunStatus, Store, StoreError};
use context_bench::{EvalRow, TextsKept};
use context_bench_page::{Comparison, PageData};
use serde_json::{Value, json};

use crate::figures;
use crate::found_rows::Selections;
use crate::row_index::RowIndex;

/// Rows that go into the index at a time.
const BATCH: usize = 512;
/// A run with more rows is summed up from the index: in memory its rows take half a kilobyte each.
const MAX_SUMMED_UP: usize = 50_000;
/// Rows of a system that room is made for at once; a damaged plan may say any number.
const MOST_EXPECTED: usize = 1 << 24;
/// How often a run that is going is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// How long the first question about a run waits for its numbers.
const MOMENT: Duration = Duration::from_millis(250);
/// How long a question about rows waits for the first of them.
const FIRST_ROWS: Duration = Duration::from_millis(500);
/// For how long it is looked at after the last question about it.
const INTEREST: u64 = 30;
/// A run that somebody looks at.
pub(crate) struct WatchedRun {
    pub(crate) id: String,
    store: Store,
    pub(crate) reader: RowReader,
    pub(crate) threshold: f64,
    planned: Option<usize>,
    /// Rows that there should be in the end, as far as that is known.
    pub(crate) expected: usize,
    index: RwLock<RowIndex>,
    status: Mutex<RunStatus>,
    /// Whether every row that is there is in the index.
    pub(crate) is_read: AtomicBool,
    /// What the page says, once the run is over and summed up.
    summed_up: Mutex<Option<Arc<Value>>>,
    /// The differences between systems of a run that is too large to be summed up, once they are known.
    compared: Mutex<Option<Option<Comparison>>>,
    problem: Mutex<Option<String>>,
    pub(crate) selections: Mutex<Selections>,
    /// When how many rows were there, of the last while.
    progress: Mutex<VecDeque<(Instant, usize)>>,
    opened: Instant,
    /// Seconds after `opened` at which somebody asked last.
    asked: AtomicU64,
    pub(crate) is_over: AtomicBool,
}

impl WatchedRun {
    /// Opens a run and begins to read it.
    pub(crate) fn open(
        store: &Store,
        id: &str,
        around: &Surroundings,
    ) -> Result<Arc<Self>, PlanError> {
        // Rows are not counted before some are shown: that would read a million of them.
        let plan = ReopenedPlan::open_uncounted(store, id)?;
        let reader = plan.row_reader(around)?;
        let run = &reader.run().run;
        let expected = reader.planned().unwrap_or(0).min(MOST_EXPECTED) * run.systems.len();
        let watched = Arc::new(Self {
            id: run.run.id().to_string(),
            store: store.clone(),
            threshold: figures::threshold(run),
            planned: reader.planned(),
            index: RwLock::new(RowIndex::new(run.systems.len(), expected)),
            expected,
            status: Mutex::new(run.status),
            is_read: AtomicBool::new(false),
            summed_up: Mutex::default(),
            compared: Mutex::default(),
            problem: Mutex::default(),
            selections: Mutex::default(),
            progress: Mutex::default(),
            opened: Instant::now(),
            asked: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            reader,
        });
        let (own, around) = (Arc::clone(&watched), around.clone());
        let thread = std::thread::Builder::new().name("watched-run".into());
        let started = thread.spawn(move || own.watch(&around));
        started.map_err(|error| PlanError::new(format!("no thread to read the run: {error}")))?;
        Ok(watched)
    }

    /// Reads the run until it is over, or nobody looks at it any more.
    fn watch(&self, around: &Surroundings) {
        loop {
            if let Err(error) = self.read_on() {
                *lock(&self.problem) = Some(error.to_string());
            }
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let before = *lock(&self.status);
            if before != RunStatus::Running {
                break;
            }
            std::thread::sleep(LOOK);
            while self.opened.elapsed().as_secs() > self.asked.load(Ordering::Relaxed) + INTEREST {
                if self.is_over.load(Ordering::Relaxed) {
                    return;
                }
                std::thread::sleep(LOOK);
            }
            match self.store.run_uncounted(&self.id) {
                Ok(run) if run.status != RunStatus::Running => {
                    // Rows may have come between the last look and the end.
                    let read = self.read_on();
                    let counted = self.store.run(&self.id).map(|run| run.n_rows);
                    let n_rows = counted.ok().and_then(|n| usize::try_from(n).ok());
                    if let Some(n_rows) = n_rows.filter(|_| read.is_ok())
                        && self.index().len() != n_rows
                    {
                        self.read_anew(n_rows);
                    }
                    *lock(&self.status) = run.status;
                    break;
                }
                Ok(_) => {}
                Err(error) => {
                    *lock(&self.problem) = Some(error.to_string());
                    return;
                }
            }
        }
        if self.index().len() > MAX_SUMMED_UP {
            *lock(&self.compared) = Some(self.compare());
        } else {
            match self.sum_up(around) {
                Ok(data) => {
                    let data = serde_json::to_value(data).unwrap_or(Value::Null);
                    *lock(&self.summed_up) = Some(Arc::new(data));
                }
                Err(error) => *lock(&self.problem) = Some(error.to_string()),
            }
        }
    }

    /// What the report says above its rows.
    fn sum_up(&self, around: &Surroundings) -> Result<PageData, PlanError> {
        let plan = ReopenedPlan::open(&self.store, &self.id)?;
        let result = plan.result(around, TextsKept::None)?;
        let command = format!("context-bench report {}", self.id);
        let report = PageReport::made_by(vec![plan.stored.run.command, command]);
        Ok(report.data(&result))
    }

    /// Every system beside the baseline, from the numbers of rows: for runs that are not summed up.
    pub(crate) fn compare(&self) -> Option<Comparison> {
        let systems = &self.reader.run().run.systems;
        let names: Vec<&str> = systems.iter().map(|one| one.name.as_str()).collect();
        let baseline = self.reader.baseline();
        let settings = self.reader.comparison_settings();
        let tags = self.index().datasets.names.clone();
        let others = (0..names.len()).filter(|system| *system != baseline);
        let columns = others
            .take_while(|_| !self.is_over.load(Ordering::Relaxed))
            .map(|system| ScoreColumns {
                baseline: (names[baseline].to_owned(), None),
                system: (names[system].to_owned(), None),
                ..self.index().beside(baseline, system)
            });
        let found = compare_columns(columns, &tags, self.reader.score_name(), settings)?;
        page_comparison(&found, &names)
    }

    /// Whether all is known of the run that there is to know.
    fn is_done(&self) -> bool {
        *lock(&self.status) != RunStatus::Running
            && self.is_read.load(Ordering::Relaxed)
            && (lock(&self.summed_up).is_some()
                || lock(&self.compared).is_some()
                || lock(&self.problem).is_some())
    }

    /// Reads the rows that are not in the index yet.
    fn read_on(&self) -> Result<(), StoreError> {
        for system in 0..self.reader.run().run.systems.len() {
            let frontier = self.index().frontier(system);
            let mut batch: Vec<(_, EvalRow)> = Vec::with_capacity(BATCH);
            for row in self.reader.rows_after(frontier) {
                let (place, row) = row?;
                if place.system != frontier.system || self.is_over.load(Ordering::Relaxed) {
                    break;
                }
                batch.push((place, row));
                if batch.len() == BATCH {
                    self.put(&mut batch);
                }
            }
            self.put(&mut batch);
        }
        self.is_read.store(true, Ordering::Relaxed);
        let now = (Instant::now(), self.index().len());
        let mut progress = lock(&self.progress);
        progress.push_back(now);
        // Half a minute of looks says how fast it goes.
        while progress.len() > 60 {
            progress.pop_front();
        }
        Ok(())
    }

    fn put(&self, batch: &mut Vec<(context_bench::reopened_run::RowPlace, EvalRow)>) {
        let mut index = self.index_mut();
        for (place, row) in batch.drain(..) {
            if index.lacks(place) {
                index.push(place, &row, &self.reader);
            }
        }
        index.settle();
    }

    /// Reads everything again, because rows came in an order that could not be followed.
    fn read_anew(&self, n_rows: usize) {
        *self.index_mut() = RowIndex::new(self.reader.run().run.systems.len(), n_rows);
        lock(&self.selections).clear();
        if let Err(error) = self.read_on() {
            *lock(&self.problem) = Some(error.to_string());
        }
    }

    /// What is known of the run: how far it is, how fast, what is left.
    pub(crate) fn state(&self) -> Value {
        self.note_interest();
        let is_done = self.is_done();
        let status = *lock(&self.status);
        let run = &self.reader.run().run;
        let index = self.index();
        let rows = index.len();
        let systems = run.systems.len();
        let planned = self.planned.map(|planned| (planned * systems).max(rows));
        let rate = self.rate(rows);
        let left = planned.map(|planned| planned - rows);
        let left_s = match (left, rate) {
            (Some(left), Some(rate)) if rate > 0.0 => Some(left as f64 / rate),
            _ => None,
        };
        let now = SystemTime::now();
        let elapsed = now.duration_since(run.created_at).unwrap_or_default();
        let per_system = run.systems.iter().zip(&index.counts);
        let per_system = per_system.map(|(system, counts)| {
            let rows = counts.scored + counts.unscored + counts.failed + counts.not_applicable;
            json!({"name": system.name, "rows": rows, "failed": counts.failed,
                "unscored": counts.unscored, "planned": self.planned})
        });
        let mut errors: Vec<Value> = Vec::new();
        for (system, kinds) in run.systems.iter().zip(&index.failures) {
            for (kind, failure) in kinds {
                errors.push(json!({"system": system.name, "kind": kind, "n": failure.n,
                    "last": failure.last}));
            }
        }
        errors.sort_by_key(|error| std::cmp::Reverse(error["n"].as_u64()));
        errors.truncate(8);
        json!({
            "id": self.id,
            "status": status.as_str(),
            "created_at": unix(run.created_at),
            "rows": rows,
            "planned": planned,
            "failed": index.counts.iter().map(|one| one.failed).sum::<usize>(),
            "unscored": index.counts.iter().map(|one| one.unscored).sum::<usize>(),
            "rate": rate.filter(|_| status == RunStatus::Running),
            "left_s": left_s.filter(|_| status == RunStatus::Running),
            "elapsed_s": elapsed.as_secs_f64(),
            "systems": per_system.collect::<Vec<_>>(),
            "errors": errors,
            "is_read": self.is_read.load(Ordering::Relaxed),
            "is_done": is_done,
            "problem": lock(&self.problem).clone(),
            "n_stored": self.expected.max(rows),
        })
    }

    /// Rows per second of the last half minute.
    fn rate(&self, rows: usize) -> Option<f64> {
        let progress = lock(&self.progress);
        let (since, before) = progress.front()?;
        let seconds = since.elapsed().as_secs_f64();
        (seconds > 1.0).then(|| rows.saturating_sub(*before) as f64 / seconds)
    }

    /// Waits for the first rows, which come in a moment: a page without any would have to be drawn again.
    pub(crate) fn await_rows(&self) {
        let waits = || self.index().len() == 0 && !self.is_read.load(Ordering::Relaxed);
        while self.opened.elapsed() < FIRST_ROWS && waits() {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// What the page says above its rows, with the names that its rows refer to.
    pub(crate) fn page(&self) -> Value {
        self.note_interest();
        // A small run is summed up in a moment; then its page need not be drawn twice.
        let is_large = self.expected > MAX_SUMMED_UP;
        while !is_large && self.opened.elapsed() < MOMENT && lock(&self.summed_up).is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.await_rows();
        let summed_up = lock(&self.summed_up).clone();
        let index = self.index();
        let data = match &summed_up {
            Some(data) => Value::clone(data),
            None => self.light(&index),
        };
        json!({
            "data": data,
            "datasets": index.datasets.names,
            "kinds": index.kinds.names,
            "is_large": is_large || index.len() > MAX_SUMMED_UP,
            "is_compared": lock(&self.compared).is_some(),
        })
    }

    /// What the page says, from the numbers of its rows.
    fn light(&self, index: &RowIndex) -> Value {
        let run = &self.reader.run().run;
        let mut data = figures::page_data(index, run, self.reader.baseline(), self.planned);
        data.comparison = lock(&self.compared).clone().flatten();
        serde_json::to_value(data).unwrap_or(Value::Null)
    }

    #[cfg(test)]
    pub(crate) fn light_page(&self) -> Value {
        self.light(&self.index())
    }

    /// Asks the process of the run to stop.
    pub(crate) fn interrupt(&self) -> Result<u32, StoreError> {
        self.store.interrupt(&self.reader.run().run.run)
    }

    /// How many rows are in memory.
    pub(crate) fn n_rows(&self) -> usize {
        self.index().len()
    }

    pub(crate) fn note_interest(&self) {
        let now = self.opened.elapsed().as_secs();
        self.asked.store(now, Ordering::Relaxed);
    }

    pub(crate) fn index(&self) -> RwLockReadGuard<'_, RowIndex> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn index_mut(&self) -> RwLockWriteGuard<'_, RowIndex> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Seconds since 1970.
pub(crate) fn unix(time: SystemTime) -> f64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs_f64()
}
