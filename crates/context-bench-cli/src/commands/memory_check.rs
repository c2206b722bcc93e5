//! `memory --check`: whether memories forget, remember and keep conversations apart.

use std::sync::Arc;
use std::time::Duration;

use context_bench::memory::check::{CheckReport, CheckSettings, check_memory};
use context_bench::plan::RunSpec;
use context_bench::planner;
use context_bench::registry::Registry;
use serde_json::{Value, json};

use super::run::runtime;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::surroundings;

pub(crate) fn main(spec: &RunSpec, registry: &Registry, quiet: bool) -> Result<Exit, Failure> {
    let format = spec.output.format.as_deref().unwrap_or("table");
    if !["table", "json"].contains(&format) {
        return Err(Failure::bad_input(format!(
            "`memory --check` has no output format `{format}`"
        ))
        .hint("use `table` or `json`"));
    }
    let runtime = runtime()?;
    let checked = runtime.block_on(async {
        let around = surroundings::of(registry, quiet);
        let providers = planner::memory_providers(spec, &around)?;
        let mut settings = CheckSettings::default();
        if let Some(seed) = spec.memory.as_ref().and_then(|memory| memory.seed) {
            settings.seed = seed.cast_unsigned();
        }
        let mut reports = Vec::new();
        for provider in providers {
            let name = provider.name().to_owned();
            let on_progress = Arc::new(move |at: context_bench::memory::check::CheckProgress| {
                if !quiet && at.asked.is_multiple_of(50) {
                    output::note(&format!("{name}: {} of {} questions", at.asked, at.planned));
                }
            });
            let checking = check_memory(provider, settings.clone(), on_progress);
            tokio::select! {
                report = checking => reports.push(report),
                _ = tokio::signal::ctrl_c() => return Ok(Checked::Interrupted),
            }
        }
        Ok::<Checked, Failure>(Checked::Done(reports))
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    let reports = match checked? {
        Checked::Done(reports) => reports,
        Checked::Interrupted => return Ok(Exit::Interrupted),
    };
    let passed = reports.iter().all(CheckReport::passed);
    match format {
        "json" => {
            let reports: Vec<Value> = reports.iter().map(CheckReport::to_json).collect();
            output::json(&json!({"passed": passed, "memories": reports}))?;
        }
        _ => {
            let texts: Vec<String> = reports.iter().map(CheckReport::to_text).collect();
            output::stdout(&texts.join("\n"))?;
        }
    }
    Ok(match passed {
        true => Exit::Done,
        false => Exit::ThresholdMissed,
    })
}

enum Checked {
    Done(Vec<CheckReport>),
    Interrupted,
}
