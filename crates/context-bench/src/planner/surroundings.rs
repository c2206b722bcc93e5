//! What a plan may use of the world, and what a program brings along itself.
//!
//! The library reads no variables and knows no terminals: front ends say here
//! how variables, the hub and Python are reached.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use context_bench_sandbox::Launcher;
use context_bench_tasks::Host;
use context_bench_tasks::prompt::Dataset as Records;
use indexmap::IndexMap;

use super::{Listing, PlanError};
use crate::chat::{Endpoint, Pace};
use crate::dataset::Dataset;
use crate::dataset::catalog::HubAccess;
use crate::evaluator::Evaluator;
use crate::memory::MemoryProvider;
use crate::plan::PythonSpec;
use crate::registry::Registry;
use crate::system::System;
use crate::task::TaskIndexSettings;
use crate::tokens::TokenCounter;

/// Gives the value of a variable.
pub type Variable = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;
/// Gives the way to the hub.
pub type HubSource = Arc<dyn Fn() -> Result<HubAccess, PlanError> + Send + Sync>;
/// Gives who runs the Python functions of tasks.
pub type HostSource = Arc<dyn Fn(&PythonSpec) -> Arc<dyn Host> + Send + Sync>;
/// Says where the index of these task files is kept.
pub type TaskIndexSource = Arc<dyn Fn(&[PathBuf]) -> TaskIndexSettings + Send + Sync>;

/// What a plan may use of the world.
#[derive(Clone)]
pub struct Surroundings {
    /// What has a name.
    pub registry: Registry,
    /// Variables of the environment.
    pub variable: Variable,
    /// The way to the hub; asked for only when something is to come from there.
    pub hub: HubSource,
    /// Who runs the Python functions of tasks.
    pub host: HostSource,
    /// Which task files are indexed, and where the index is kept.
    pub task_index: TaskIndexSource,
    /// The program that contains generated code and guards proxies, when it is not this one.
    pub launcher: Option<Launcher>,
    /// What the program brings along itself.
    pub given: Given,
}

impl Surroundings {
    /// A registry alone: no variables, no hub, no Python.
    pub fn new(registry: Registry) -> Self {
        Self {
            registry,
            variable: Arc::new(|_| None),
            hub: Arc::new(|| Err(PlanError::new("the hub is not available here"))),
            host: Arc::new(|_| super::no_host()),
            task_index: Arc::new(|include| TaskIndexSettings {
                include: include.to_vec(),
                ..TaskIndexSettings::default()
            }),
            launcher: None,
            given: Given::default(),
        }
    }
}

/// What a program brings along itself, by the names that its spec has for it.
#[derive(Clone, Default)]
pub struct Given {
    /// Systems.
    pub systems: IndexMap<String, GivenSystem>,
    /// Memories.
    pub memories: IndexMap<String, Arc<dyn MemoryProvider>>,
    /// Examples.
    pub examples: IndexMap<String, GivenExamples>,
    /// Evaluators.
    pub evaluators: IndexMap<String, Arc<dyn Evaluator>>,
    /// Records of tasks by task and split, in place of those that tasks name.
    pub records: IndexMap<String, Arc<Records>>,
    /// How fast endpoints are asked, when something outside decides that.
    pub pace: Option<Arc<Pace>>,
    /// What counts tokens.
    pub counter: Option<Arc<dyn TokenCounter>>,
}

/// A system that a program brings along.
#[derive(Clone)]
pub struct GivenSystem {
    /// The system.
    pub system: Arc<dyn System>,
    /// Its endpoint, when it has one.
    pub endpoint: Option<Endpoint>,
    /// Who answers: the model that it asks for, when that is known.
    pub model: Option<String>,
    /// Who knows whether that model is there.
    pub listing: Option<Listing>,
    /// Whether its endpoint may be asked for likelihoods.
    pub gives_likelihoods: bool,
    /// Whether it was said where the context of examples is to stand.
    pub has_layout: bool,
}

/// Examples that a program brings along; they can be taken once.
#[derive(Clone)]
pub struct GivenExamples(pub Arc<Mutex<Option<Dataset>>>);

impl GivenExamples {
    /// These examples.
    pub fn new(dataset: Dataset) -> Self {
        Self(Arc::new(Mutex::new(Some(dataset))))
    }
}
