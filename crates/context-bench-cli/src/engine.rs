//! Engines: who asks the systems of a run in other processes. The program itself has none; the one
//! of the Python package brings Ray along.

use context_bench::Stop;
use context_bench::plan::RunSpec;
use context_bench::planner::{PlannedRun, RayCluster, SettledUnits, Surroundings, Units};
use context_bench::store::Store;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::signals;

/// Asks systems in the processes of a cluster.
pub trait EngineHost: Sync {
    /// Hands the examples out that are missing in the store, and gives the units back when they
    /// are dealt with or `stop` says so.
    ///
    /// # Errors
    ///
    /// When the cluster cannot take the run, or is lost.
    fn ask(
        &self,
        cluster: &RayCluster,
        units: Units,
        stop: &Stop,
        shows_progress: bool,
    ) -> Result<Units, EngineError>;
}

/// Why an engine could not do a run.
#[derive(Debug)]
pub struct EngineError {
    /// What happened.
    pub what: String,
    /// What the user can do about it.
    pub hint: Option<String>,
    /// How the program ends.
    pub exit: Exit,
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self {
            what: error.what,
            hint: error.hint,
            exit: error.exit,
        }
    }
}

/// A program without an engine says where there is one.
pub(crate) fn check(planned: &PlannedRun, host: Option<&dyn EngineHost>) -> Result<(), Failure> {
    if planned.engine.is_none() || host.is_some() {
        return Ok(());
    }
    Err(
        Failure::bad_input("this program cannot run on Ray: it is the one without Python").hint(
            "`pip install 'context-bench-rs[ray]'` here and on all nodes, and use its \
             `context-bench` (or `python -m context_bench`); `make python` in a clone builds it",
        ),
    )
}

/// Where a run with an engine looks for answers, and how it is shown.
pub(crate) struct Asking<'a> {
    pub(crate) host: Option<&'a dyn EngineHost>,
    pub(crate) spec: &'a RunSpec,
    pub(crate) around: &'a Surroundings,
    pub(crate) stop: &'a Stop,
    pub(crate) shows_progress: bool,
}

/// Lets the engine of a run ask its systems; `None` for a run without one.
pub(crate) fn ask(
    planned: &mut PlannedRun,
    store: Option<&Store>,
    asking: &Asking<'_>,
) -> Result<Option<SettledUnits>, Failure> {
    let (Some(cluster), Some(host)) = (planned.engine.clone(), asking.host) else {
        return Ok(None);
    };
    let units = planned.hand_out(asking.spec, store.cloned(), asking.around)?;
    let signals = signals::stop_on_interrupt(
        asking.stop.clone(),
        "\ninterrupted: workers are ended; what they handed over is kept",
    );
    let asked = host.ask(&cluster, units, asking.stop, asking.shows_progress);
    signals.abort();
    Ok(Some(asked?.settle(planned, asking.stop.is_stopped())?))
}
