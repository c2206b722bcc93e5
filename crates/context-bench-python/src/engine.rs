//! Ray as the engine of runs: the program's `--engine ray`, and `engine` of specs. The engine itself
//! is `context_bench.distributed.Ray`.

use context_bench::Stop;
use context_bench::planner::{RayCluster, Units};
use context_bench_cli::{EngineError, EngineHost, Exit};
use pyo3::prelude::*;

use crate::units::NativeUnits;

/// The object that asks systems on a cluster.
pub(crate) fn of<'py>(py: Python<'py>, cluster: &RayCluster) -> PyResult<Bound<'py, PyAny>> {
    let module = py.import("context_bench.distributed")?;
    module.getattr("Ray")?.call1((cluster.address.as_deref(),))
}

/// A text that no other run has.
pub(crate) fn salt(py: Python<'_>) -> PyResult<String> {
    let made = py.import("uuid")?.call_method0("uuid4")?;
    made.getattr("hex")?.extract()
}

/// Ray for the program.
pub(crate) struct Ray;

impl EngineHost for Ray {
    fn ask(
        &self,
        cluster: &RayCluster,
        units: Units,
        stop: &Stop,
        shows_progress: bool,
    ) -> Result<Units, EngineError> {
        let asked = || {
            Python::attach(|py| -> PyResult<Units> {
                let units = Bound::new(py, NativeUnits::new(units, stop.clone(), salt(py)?))?;
                let objects = (Vec::<Py<PyAny>>::new(), py.None(), py.None());
                of(py, cluster)?.call_method1("_ask", (&units, objects, shows_progress))?;
                units.get().take()
            })
        };
        // Ray takes over the signals of the thread that Python calls the main one, and the program
        // has its own way with them.
        let asked = std::thread::scope(|scope| scope.spawn(asked).join());
        let asked = asked.map_err(|_| EngineError {
            what: "the engine panicked; see the message above".into(),
            hint: Some("this is a bug; please report it together with your command line".into()),
            exit: Exit::Bug,
        })?;
        asked.map_err(|error| Python::attach(|py| failure(py, &error)))
    }
}

/// What an exception of the engine means for the program.
fn failure(py: Python<'_>, error: &PyErr) -> EngineError {
    let kind = |name: &str| {
        let module = py.import("context_bench.distributed").ok()?;
        let kind = module.getattr(name).ok()?;
        Some(error.is_instance(py, &kind))
    };
    let text = error.value(py).to_string();
    let (what, hint) = match text.split_once("\nhint: ") {
        Some((what, hint)) => (what.to_owned(), Some(hint.to_owned())),
        None => (text, None),
    };
    let said = error.is_instance_of::<pyo3::exceptions::PyValueError>(py)
        || error.is_instance_of::<pyo3::exceptions::PyImportError>(py);
    match kind("ClusterLost") {
        Some(true) => EngineError {
            what,
            hint,
            exit: Exit::NotNow,
        },
        _ if said => EngineError {
            what,
            hint,
            exit: Exit::BadInput,
        },
        _ => EngineError {
            what: format!(
                "Ray: {}",
                error
                    .value(py)
                    .get_type()
                    .name()
                    .map_or_else(|_| what.clone(), |name| format!("{name}: {what}"),)
            ),
            hint: hint.or_else(|| {
                Some("what was handed over is stored: the same command goes on".into())
            }),
            exit: Exit::BadInput,
        },
    }
}
