//! What a run is: what was asked ([`RunSpec`]) and what was decided ([`RunPlan`]).
//!
//! Both are plain data. Flags, files and programs are translated into a spec and
//! decide nothing; `planner` makes the plan of it; a store keeps both with the run.

mod arm_spec;
mod file;
mod manifest;
mod masked;
mod prompt_style;
mod run_plan;
mod schema;
mod shape;
mod spec;
mod spec_error;
mod workers;

pub use crate::noise::PlannedControl;
pub use crate::sweep::{PlannedSweep, PlannedSweepArm};
pub use arm_spec::{ArmSpec, UnknownArm};
pub(crate) use file::read_keys;
pub use manifest::RunManifest;
pub use prompt_style::{PromptStyle, UnknownPromptStyle};
pub use run_plan::{
    BenchmarkKind, PLAN_VERSION, PlannedArm, PlannedBenchmark, PlannedChat, PlannedLimits,
    PlannedMemory, PlannedPrices, PlannedPrompts, PlannedScoring, PlannedSeeds, PlannedSystem,
    RecallLimits, RunPlan,
};
pub(crate) use schema::reference_page;
pub use schema::{reference, schema};
pub use spec::{
    BenchmarkSpec, DataSpec, HarnessSpec, LikelihoodSpec, LimitSpec, MemorySpec, OutputSpec,
    OutputTarget, PromptSpec, PythonSpec, RequestSpec, RunSpec, SPEC_VERSION, ScoringSpec,
    SeedSpec, SystemSpec, TapSpec,
};
pub use spec_error::SpecError;
pub(crate) use spec_error::{FileKind, Places, Step};
pub use workers::Workers;
