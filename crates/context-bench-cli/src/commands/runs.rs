//! `runs`: what the store holds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use context_bench::planner::Reopened;
use context_bench::store::{Store, StoredRun};
use serde_json::{Value, json};

use crate::args::{RunsArgs, RunsCommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::list_args::ListFormat;
use crate::{output, stores};

pub(crate) fn main(args: &RunsArgs) -> Result<Exit, Failure> {
    let store = stores::open(args.store.cache_dir.as_deref())?;
    match &args.command {
        None | Some(RunsCommand::List) => list(&store, args.store.output),
        Some(RunsCommand::Show { run_id }) => show(&store, run_id, args.store.output),
        Some(RunsCommand::Remove { run_id }) => remove(&store, run_id),
    }
}

fn list(store: &Store, format: ListFormat) -> Result<Exit, Failure> {
    let runs = store.runs()?;
    match format {
        ListFormat::Json => {
            let runs: Vec<Value> = runs.iter().map(to_json).collect();
            output::stdout(&format!("{:#}\n", json!(runs)))?;
        }
        ListFormat::Table if runs.is_empty() => output::note("the store has no runs"),
        ListFormat::Table => {
            let mut text = String::new();
            for run in &runs {
                let systems: Vec<&str> = run.systems.iter().map(|s| s.name.as_str()).collect();
                text += &format!(
                    "{}  {:11}  {:>8} rows  {}\n",
                    run.run.id(),
                    run.status.as_str(),
                    run.n_rows,
                    systems.join(", ")
                );
            }
            output::stdout(&text)?;
        }
    }
    Ok(Exit::Done)
}

fn show(store: &Store, typed: &str, format: ListFormat) -> Result<Exit, Failure> {
    let reopened = Reopened::open(store, typed)?;
    let (run, plan) = (&reopened.replay.run, &reopened.record.plan);
    let json = to_json(run);
    if format == ListFormat::Json {
        output::stdout(&format!("{json:#}\n"))?;
        return Ok(Exit::Done);
    }
    let mut text = format!("run       {}\n", run.run.id());
    text += &format!("status    {}, {} rows\n", run.status.as_str(), run.n_rows);
    text += &format!("began     {}\n", utc(run.created_at));
    if let Some(finished_at) = run.finished_at {
        text += &format!("ended     {}\n", utc(finished_at));
    }
    text += &format!("command   {}\n", run.command);
    for system in &run.systems {
        text += &format!(
            "system    {} ({}) {}\n",
            system.name, system.kind, system.settings
        );
    }
    for planned in &plan.systems {
        if let Some(endpoint) = &planned.endpoint {
            let model = planned.model.as_deref().unwrap_or("no model");
            text += &format!("asked     {} at {endpoint}, {model}\n", planned.name);
        }
    }
    for benchmark in &plan.benchmarks {
        let documents = benchmark.documents.map(|n| format!("{n} documents, "));
        let field = benchmark.score_field.as_deref();
        text += &format!(
            "benchmark {} ({}{})\n",
            benchmark.key,
            documents.unwrap_or_default(),
            field.map_or_else(|| "no score of its own".to_owned(), |f| format!("by {f}"))
        );
    }
    for scorer in &run.scorers {
        text += &format!(
            "scorer    {} v{} {}\n",
            scorer.name, scorer.version, scorer.settings
        );
    }
    output::stdout(&text)?;
    Ok(Exit::Done)
}

fn remove(store: &Store, typed: &str) -> Result<Exit, Failure> {
    let run = Reopened::open(store, typed)?.replay.run;
    let removed = store.remove_run(&run.run)?;
    output::note(&format!(
        "removed run {}: {} rows, {} responses that no other run refers to, {} bytes",
        run.run.id(),
        removed.rows,
        removed.responses,
        removed.bytes
    ));
    Ok(Exit::Done)
}

fn to_json(run: &StoredRun) -> Value {
    let system = |s: &context_bench::store::SystemEntry| json!({"name": s.name, "kind": s.kind, "settings": s.settings});
    let scorer = |s: &context_bench::store::ScorerEntry| json!({"name": s.name, "version": s.version, "settings": s.settings});
    json!({
        "id": run.run.id().as_str(),
        "status": run.status.as_str(),
        "rows": run.n_rows,
        "created_at": utc(run.created_at),
        "finished_at": run.finished_at.map(utc),
        "command": run.command,
        "systems": run.systems.iter().map(system).collect::<Vec<_>>(),
        "scorers": run.scorers.iter().map(scorer).collect::<Vec<_>>(),
        "config": run.config,
    })
}

/// `2026-11-15T20:40:12Z` (days to civil date after Howard Hinnant).
fn utc(time: SystemTime) -> String {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_794_773_412, "2026-11-15T20:10:12Z"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
