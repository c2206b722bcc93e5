//! `run --dry-run`: the plan, how much would be asked, and what is already stored.

use context_bench::plan::{RunPlan, RunSpec};
use context_bench::planner::{PlannedRun, Preview};
use context_bench::store::Store;
use serde_json::json;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::words::counted;

/// Shows what a run would do.
pub(crate) fn show(planned: PlannedRun, spec: &RunSpec) -> Result<Exit, Failure> {
    let plan = planned.manifest.plan.clone();
    // A dry run reads a store but does not create one.
    let store = match spec.cache_dir.as_deref().filter(|dir| Store::exists(dir)) {
        Some(dir) => Some(Store::open(dir)?.store),
        None => None,
    };
    let preview = planned.preview(store.as_ref())?;
    let text = match spec.output.format.as_deref() {
        Some("json") => {
            let systems = preview.systems.iter().map(|system| {
                json!({
                    "name": system.name,
                    "stored": system.stored,
                    "to_ask": system.to_ask,
                    "prompt_tokens": system.prompt_tokens,
                    "prompt_tokens_to_ask": system.tokens_to_ask,
                })
            });
            let shown = json!({
                "plan": plan,
                "examples": preview.examples,
                "examples_by_dataset": preview.by_tag,
                "systems": systems.collect::<Vec<_>>(),
            });
            format!("{shown:#}\n")
        }
        _ => text(&plan, &preview),
    };
    output::stdout(&text)?;
    Ok(Exit::Done)
}

fn text(plan: &RunPlan, preview: &Preview) -> String {
    let mut text = String::from("Systems\n");
    let unknown = || "—".to_owned();
    for (planned, system) in plan.systems.iter().zip(&preview.systems) {
        let mut who = planned.kind.clone();
        if let Some(endpoint) = &planned.endpoint {
            who += &format!(" at {endpoint}");
        } else if planned.is_answered_by_reader() {
            who += ", answered by the baseline reader";
        }
        if let Some(model) = planned.model.as_ref().filter(|model| !model.is_empty()) {
            who += &format!(", model {model}");
        }
        text += &format!("  {}: {who}\n", system.name);
        text += &format!(
            "    {} of {} answers are stored; would ask about {}, {} prompt tokens (of {} in all)\n",
            system.stored,
            preview.examples,
            counted(system.to_ask, "example"),
            system.tokens_to_ask.map_or_else(unknown, |n| n.to_string()),
            system.prompt_tokens.map_or_else(unknown, |n| n.to_string()),
        );
    }
    text += "\nBenchmarks\n";
    for benchmark in &plan.benchmarks {
        let own = preview.by_tag.get(&benchmark.tag).copied();
        let documents = match (own, benchmark.is_open) {
            (Some(n), _) => n,
            // Its examples themselves say which dataset they belong to.
            (None, true) => benchmark.documents.unwrap_or(0),
            (None, false) => 0,
        };
        let scored = match benchmark.evaluators.is_empty() {
            true => "its own metrics".to_owned(),
            false => benchmark.evaluators.join(", "),
        };
        text += &format!(
            "  {}: {}, scored by {scored}",
            benchmark.key,
            counted(documents, "example")
        );
        if let Some(shots) = benchmark.num_fewshot.filter(|shots| *shots > 0) {
            text += &format!(", {shots} examples per prompt");
        }
        if let Some(field) = &benchmark.context_field {
            text += &format!(", layers change `{field}`");
        }
        text += "\n";
    }
    let requests: usize = preview.systems.iter().map(|system| system.to_ask).sum();
    text += &format!(
        "\n{}, {}, at least {requests} requests; nothing was sent\n",
        counted(preview.examples, "example"),
        counted(preview.systems.len(), "system")
    );
    text
}
