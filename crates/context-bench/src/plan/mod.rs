//! What a run is: what was asked ([`RunSpec`]) and what was decided ([`RunPlan`]).
//!
//! Both are plain data. Flags, files and programs are translated into a spec and
//! decide nothing; `planner` makes the plan of it; a store keeps both with the run.

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

pub use manifest::RunManifest;
pub use prompt_style::{PromptStyle, UnknownPromptStyle};
pub use run_plan::{
    BenchmarkKind, PLAN_VERSION, PlannedBenchmark, PlannedChat, PlannedLimits, PlannedMemory,
    PlannedPrompts, PlannedScoring, PlannedSeeds, PlannedSystem, RunPlan,
};
pub use schema::{reference, schema};
pub use spec::{
    BenchmarkSpec, DataSpec, HarnessSpec, LikelihoodSpec, LimitSpec, MemorySpec, OutputSpec,
    PromptSpec, PythonSpec, RequestSpec, RunSpec, SPEC_VERSION, ScoringSpec, SeedSpec, SystemSpec,
};
pub use spec_error::SpecError;
pub use workers::Workers;
