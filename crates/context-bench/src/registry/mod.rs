//! The registry: names → factories for everything that can be chosen by name.
//!
//! It is a value, not a global: programs make one, add their own entries and
//! pass it on. Factories are called only when a name is used, so listing names
//! costs nothing.

mod builtin;
#[cfg(feature = "sandbox")]
mod code_execution;
mod judge;
mod names;
mod open;
mod params;
mod swebench;

use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "sandbox")]
pub use code_execution::code_execution;
pub use judge::{judge_settings, llm_judge, needs_more, official_judge, official_judge_settings};
pub use names::{Names, UnknownName};
pub use open::OpenedDataset;
pub(crate) use params::split_label;
pub use params::{ParamError, Params, SystemRef};

use crate::dataset::catalog::{DatasetCatalog, HubAccess};
use crate::dataset::{Dataset, DatasetError, Shape};
use crate::error::Hint;
use crate::evaluator::Evaluator;
use crate::metric::Metric;
use crate::report::Reporter;
use crate::system::System;
use crate::tokens::TokenCounter;

impl Default for DatasetRequest {
    fn default() -> Self {
        Self {
            config: None,
            split: None,
            path: None,
            max_examples: None,
            skip_bad_lines: false,
            seed: crate::dataset::catalog::OPTION_SEED,
            keep_order: false,
            hub: None,
            tag: None,
            shape: Shape::default(),
        }
    }
}

/// What a dataset factory is asked for.
#[derive(Debug, Clone)]
pub struct DatasetRequest {
    /// The part after the colon of `name:config`.
    pub config: Option<String>,
    /// The part after the `@` of `name@split`.
    pub split: Option<String>,
    /// The part after the `=` of `name=path`: a local copy.
    pub path: Option<PathBuf>,
    /// How many raw records to look at, at most.
    pub max_examples: Option<usize>,
    /// Leaves out records that cannot be used, and counts them.
    pub skip_bad_lines: bool,
    /// Decides the order of shuffled options.
    pub seed: u64,
    /// Leaves options in the order of the source.
    pub keep_order: bool,
    /// The way to the hub.
    pub hub: Option<HubAccess>,
    /// The tag of the examples, where one dataset is opened; without it, what was typed.
    pub tag: Option<String>,
    /// How the records of a plain file become examples.
    pub shape: Shape,
}

/// What a system factory may use besides its parameters.
#[derive(Clone)]
pub struct SystemContext {
    /// The name that reports show.
    pub name: String,
    /// Answers questions from the context that a context layer leaves.
    pub answerer: Arc<dyn System>,
    /// Counts tokens, for budgets.
    pub counter: Arc<dyn TokenCounter>,
}

/// Makes a dataset.
pub type DatasetFactory = Arc<dyn Fn(&DatasetRequest) -> Result<Dataset, BuildError> + Send + Sync>;
/// Makes a system.
pub type SystemFactory =
    Arc<dyn Fn(Params, SystemContext) -> Result<Arc<dyn System>, BuildError> + Send + Sync>;
/// Makes an evaluator.
pub type EvaluatorFactory =
    Arc<dyn Fn(Params) -> Result<Arc<dyn Evaluator>, BuildError> + Send + Sync>;
/// Makes a metric.
pub type MetricFactory = Arc<dyn Fn(Params) -> Result<Arc<dyn Metric>, BuildError> + Send + Sync>;

/// Everything that can be chosen by name.
#[derive(Clone)]
pub struct Registry {
    /// Datasets that code makes, by name; local files need none.
    pub datasets: Names<DatasetFactory>,
    /// Datasets that YAML files describe.
    pub catalog: DatasetCatalog,
    /// Systems by name; endpoints and commands need none.
    pub systems: Names<SystemFactory>,
    /// Evaluators by name.
    pub evaluators: Names<EvaluatorFactory>,
    /// Metrics by name.
    pub metrics: Names<MetricFactory>,
    /// Output formats by name.
    pub reporters: Names<Arc<dyn Reporter>>,
}

impl Registry {
    /// A registry without entries.
    pub fn empty() -> Self {
        Self {
            datasets: Names::of("dataset"),
            catalog: DatasetCatalog::empty(),
            systems: Names::of("system"),
            evaluators: Names::of("evaluator"),
            metrics: Names::of("metric"),
            reporters: Names::of("output format"),
        }
    }

    /// A registry with everything that comes with the library.
    pub fn builtin() -> Self {
        builtin::registry()
    }
}

/// Why something could not be made from its name and parameters.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No entry has that name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// A parameter is wrong.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The dataset cannot be read.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// Any other error of a factory.
    #[error("{what}")]
    Other {
        /// What is wrong.
        what: String,
        /// What to do about it.
        hint: Option<String>,
    },
}

impl BuildError {
    /// An error in the words of a factory.
    pub fn other(error: &(impl std::fmt::Display + Hint)) -> Self {
        Self::Other {
            what: error.to_string(),
            hint: error.hint(),
        }
    }
}

impl Hint for BuildError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown(error) => error.hint(),
            Self::Param(error) => error.hint(),
            Self::Dataset(error) => error.hint(),
            Self::Other { hint, .. } => hint.clone(),
        }
    }
}
