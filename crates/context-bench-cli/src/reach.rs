//! What to do about endpoints at which nothing listens.
//!
//! A typo costs a second and not a run full of retries. But a dead endpoint is no
//! reason to hold back what others can do, or what the store holds already.

use std::path::Path;
use std::sync::Arc;

use context_bench::chat::{Endpoint, Unreachable};
use context_bench::store::{Store, SystemEntry};
use context_bench::{Evaluate, Evaluator, FailureKind, System};

use crate::env;
use crate::failure::Failure;
use crate::output;
use context_bench::planner::Systems;

/// The systems and evaluators of a run whose endpoint cannot be reached.
pub(crate) struct Unreached {
    systems: Vec<(Arc<dyn System>, Unreachable)>,
    evaluators: Vec<(Arc<dyn Evaluator>, Unreachable)>,
    /// Whether all systems are among them.
    all: bool,
}

/// Looks whether something listens at every endpoint.
pub(crate) async fn knock(systems: &Systems, evaluators: &[Arc<dyn Evaluator>]) -> Unreached {
    let mut door = Door::default();
    let mut unreached = Vec::new();
    for (endpoint, users) in systems.endpoints() {
        if let Some(problem) = door.knock(endpoint).await {
            let users = users.iter().map(|user| (Arc::clone(user), problem.clone()));
            unreached.extend(users);
        }
    }
    let mut unreached_evaluators = Vec::new();
    for evaluator in evaluators {
        if let Some(endpoint) = evaluator.endpoint()
            && let Some(problem) = door.knock(endpoint).await
        {
            unreached_evaluators.push((Arc::clone(evaluator), problem));
        }
    }
    Unreached {
        all: unreached.len() == systems.systems.len(),
        systems: unreached,
        evaluators: unreached_evaluators,
    }
}

/// What knocking at each address gave; nobody knocks twice.
#[derive(Default)]
struct Door(Vec<(String, Option<Unreachable>)>);

impl Door {
    async fn knock(&mut self, endpoint: &Endpoint) -> Option<Unreachable> {
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

impl Unreached {
    /// Fails when there can be nothing to show: no system can be asked, or no
    /// judge, and there is no store. To be asked before a store is made.
    pub(crate) fn check(&self, cache_dir: Option<&Path>) -> Result<(), Failure> {
        match cache_dir.is_some_and(Store::exists) {
            true => Ok(()),
            false => self.check_stored(|_| false),
        }
    }

    /// Fails when there can be nothing to show; otherwise gives up what cannot be
    /// reached, so that the rest goes on.
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
        self.check_stored(|unreached| match unreached {
            Some(system) => is_stored(system),
            None => systems.iter().any(|system| is_stored(&**system)),
        })?;
        for (system, problem) in self.systems {
            let failure = context_bench::Failure::new(FailureKind::Connection, problem.to_string());
            plan = plan.give_up(system.name(), failure);
        }
        for (evaluator, problem) in self.evaluators {
            output::warning(&format!(
                "{problem}; what `{}` has not scored yet stays unscored",
                evaluator.name()
            ));
            plan = plan.give_up_evaluator(&evaluator, &problem.to_string());
        }
        Ok(plan)
    }

    /// `is_stored` tells whether there are answers of a system, or of any.
    fn check_stored(&self, is_stored: impl Fn(Option<&dyn System>) -> bool) -> Result<(), Failure> {
        let mut systems = self.systems.iter();
        if let Some((_, first)) = self.systems.first()
            && self.all
            && !systems.any(|(system, _)| is_stored(Some(&**system)))
        {
            return Err(first.clone().into());
        }
        match self.evaluators.first() {
            // Answers that nobody can judge would be paid for in vain.
            Some((_, first)) if !is_stored(None) => Err(first.clone().into()),
            _ => Ok(()),
        }
    }
}
