//! Checks before a run whether something listens at every endpoint.
//!
//! A typo should cost a second, not a run full of retries. But one dead endpoint must not keep
//! other systems, or answers in the store, from being used.

use std::sync::Arc;
use std::time::{Duration, Instant};

use context_bench::chat::{Endpoint, Unreachable};
use context_bench::store::{Store, SystemEntry};
use context_bench::{Evaluate, Evaluator, FailureKind, System};

use crate::env;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use context_bench::planner::Systems;

/// Pause between two looks at an endpoint that is awaited.
const AGAIN: Duration = Duration::from_secs(1);

/// The systems and evaluators of a run whose endpoint cannot be reached.
#[derive(Default)]
pub(crate) struct UnreachableEndpoints {
    systems: Vec<(Arc<dyn System>, Unreachable)>,
    evaluators: Vec<(Arc<dyn Evaluator>, Unreachable)>,
    /// Whether no system at all can be reached.
    all_systems: bool,
}

/// Checks whether every system can start. One that cannot is a mistake that should cost a
/// second; answers that are stored can be had without it.
pub(crate) async fn check_ready(systems: &Systems, has_store: bool) -> Result<(), Failure> {
    // Proxies take a while to start: side by side, and only when they are first asked if all
    // answers may be stored.
    let mut starting = Vec::new();
    for (system, planned) in systems.systems.iter().zip(&systems.planned) {
        if !(has_store && planned.arm.is_some()) {
            let asked = Arc::clone(system);
            let ready = tokio::spawn(async move { asked.ready().await });
            starting.push((system, ready));
        }
    }
    for (system, ready) in starting {
        // One that panics says so again when it is asked.
        let Ok(Err(error)) = ready.await else {
            continue;
        };
        let what = format!(
            "`{}` cannot start: {}",
            system.name(),
            error.failure.message
        );
        if has_store {
            output::warning(&what);
            continue;
        }
        let says = |text: &str| error.failure.message.contains(text);
        let failure = Failure::bad_input(what);
        return Err(match says("No module named 'context_bench'") {
            true => failure.hint(
                "install the Python package (`make python` in a clone builds it), or name an \
                 interpreter that has it with `--python PATH`",
            ),
            // What it says may be a hint already, such as which package to install.
            false if says("hint:") => failure,
            false => failure.hint("start it by hand to see what it says"),
        });
    }
    Ok(())
}

/// Checks whether something listens at every endpoint of a run.
pub(crate) async fn check(
    systems: &Systems,
    evaluators: &[Arc<dyn Evaluator>],
) -> UnreachableEndpoints {
    let mut probe = Probe::default();
    let mut unreachable_systems = Vec::new();
    for (endpoint, users) in systems.endpoints() {
        if let Some(problem) = probe.check(endpoint).await {
            let users = users.iter().map(|user| (Arc::clone(user), problem.clone()));
            unreachable_systems.extend(users);
        }
    }
    let mut unreachable_evaluators = Vec::new();
    for evaluator in evaluators {
        if let Some(url) = evaluator.endpoint()
            && let Ok(endpoint) = Endpoint::parse(&url)
            && let Some(problem) = probe.check(&endpoint).await
        {
            unreachable_evaluators.push((Arc::clone(evaluator), problem));
        }
    }
    UnreachableEndpoints {
        all_systems: unreachable_systems.len() == systems.systems.len(),
        systems: unreachable_systems,
        evaluators: unreachable_evaluators,
    }
}

/// Checks again and again until every endpoint can be reached, or the time is up.
pub(crate) async fn wait(
    systems: &Systems,
    evaluators: &[Arc<dyn Evaluator>],
    patience: Duration,
) -> UnreachableEndpoints {
    let started = Instant::now();
    let mut is_told = false;
    loop {
        let found = check(systems, evaluators).await;
        let left = patience.saturating_sub(started.elapsed());
        let first = found.systems.first().map(|(_, problem)| problem);
        let first = first.or(found.evaluators.first().map(|(_, problem)| problem));
        let Some(problem) = first.filter(|_| !left.is_zero()) else {
            return found;
        };
        if !is_told {
            let most = patience.as_secs_f64();
            output::note(&format!("{problem}; waiting up to {most} s for it"));
            is_told = true;
        }
        tokio::time::sleep(left.min(AGAIN)).await;
    }
}

/// An endpoint that is away may be back later: that is no mistake in the command.
fn not_now(problem: &Unreachable) -> Failure {
    Failure {
        exit: Exit::NotNow,
        ..Failure::from(problem.clone())
    }
}

/// Tries each address once and remembers the outcome.
#[derive(Default)]
struct Probe(Vec<(String, Option<Unreachable>)>);

impl Probe {
    async fn check(&mut self, endpoint: &Endpoint) -> Option<Unreachable> {
        // Behind an outgoing proxy the host itself need not be reachable.
        if env::has_http_proxy() && !endpoint.is_loopback() {
            return None;
        }
        let address = endpoint.to_string();
        if let Some((_, known)) = self.0.iter().find(|(known, _)| *known == address) {
            return known.clone();
        }
        let found = endpoint.check_reachable().await.err();
        self.0.push((address, found.clone()));
        found
    }
}

impl UnreachableEndpoints {
    /// Fails when the run could show nothing: no system or no judge can be reached, and there is
    /// no store. Call this before a store is created.
    pub(crate) fn require_some(&self, has_store: bool) -> Result<(), Failure> {
        match has_store {
            true => Ok(()),
            false => self.check_stored(|_| false),
        }
    }

    /// Fails when the run could show nothing; otherwise gives up on what cannot be reached, so
    /// that the rest goes on.
    pub(crate) fn give_up(
        self,
        mut plan: Evaluate,
        systems: &[Arc<dyn System>],
        store: Option<&Store>,
    ) -> Result<Evaluate, Failure> {
        let is_stored = |system: &dyn System| {
            let entry = system
                .identity()
                .map(|i| SystemEntry::new(system.name(), i));
            let stored = |(store, entry): (&Store, SystemEntry)| store.has_responses(&entry);
            store
                .zip(entry)
                .is_some_and(|found| stored(found).unwrap_or_default())
        };
        self.check_stored(|unreachable| match unreachable {
            Some(system) => is_stored(system),
            None => systems.iter().any(|system| is_stored(&**system)),
        })?;
        for (system, problem) in self.systems {
            let failure = context_bench::Failure::new(FailureKind::Connection, problem.to_string());
            plan = plan.give_up(system.name(), failure);
        }
        for (evaluator, problem) in self.evaluators {
            output::warning(&format!(
                "{problem}; answers that `{}` has not scored yet stay unscored",
                evaluator.name()
            ));
            plan = plan.give_up_evaluator(&evaluator, &problem.to_string());
        }
        Ok(plan)
    }

    /// `is_stored` says whether the store has answers of a system or, for `None`, of any system.
    fn check_stored(&self, is_stored: impl Fn(Option<&dyn System>) -> bool) -> Result<(), Failure> {
        let mut systems = self.systems.iter();
        if let Some((_, first)) = self.systems.first()
            && self.all_systems
            && !systems.any(|(system, _)| is_stored(Some(&**system)))
        {
            return Err(not_now(first));
        }
        match self.evaluators.first() {
            // There is no point in paying for answers that nobody can judge.
            Some((_, first)) if !is_stored(None) => Err(not_now(first)),
            _ => Ok(()),
        }
    }
}
