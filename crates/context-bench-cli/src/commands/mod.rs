//! One file per command. A command takes its arguments and the registry and returns how the
//! program ends.

pub(crate) mod check_proxy;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demo;
mod dry_run;
pub(crate) mod emit;
mod emit_k8s;
mod emit_slurm;
pub(crate) mod export;
pub(crate) mod fetch;
mod finish;
pub(crate) mod ls;
mod ls_tasks;
pub(crate) mod memory;
mod memory_check;
pub(crate) mod merge;
pub(crate) mod plan;
pub(crate) mod render;
pub(crate) mod report;
pub(crate) mod rescore;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod score;
pub(crate) mod show;
mod show_run;
mod show_task;
pub(crate) mod tap;
mod tap_text;
pub(crate) mod validate;
pub(crate) mod view;
