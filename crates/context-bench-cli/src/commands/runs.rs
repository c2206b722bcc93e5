//! `runs`: lists, shows, queries and removes stored runs.

use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use context_bench::planner::{self, Overview, ReopenedPlan, SystemOverview};
use context_bench::store::{SqlTable, Store, StoredRun};
use serde_json::{Map, Value, json};

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
        Some(RunsCommand::Sql { query }) => sql(&store, query, args.store.output),
        Some(RunsCommand::Remove { run_id }) => remove(&store, run_id),
    }
}

fn list(store: &Store, format: ListFormat) -> Result<Exit, Failure> {
    let runs = store.runs()?;
    // A run that cannot be summed up is still listed.
    let runs: Vec<(StoredRun, Option<Overview>)> = runs
        .into_iter()
        .map(|run| {
            let overview = planner::overview(store, &run).ok();
            (run, overview)
        })
        .collect();
    match format {
        ListFormat::Json => {
            let runs = runs.iter().map(|(run, overview)| {
                let mut json = to_json(run);
                if let (Value::Object(json), Some(overview)) = (&mut json, overview) {
                    json.extend(numbers(overview));
                }
                json
            });
            output::json(&json!(runs.collect::<Vec<_>>()))?;
        }
        ListFormat::Table if runs.is_empty() => output::note("the store has no runs"),
        ListFormat::Table => {
            let width = usize::from(output::width());
            let texts = runs
                .iter()
                .map(|(run, overview)| listed(run, overview.as_ref(), width));
            output::stdout(&texts.collect::<Vec<_>>().join("\n"))?;
        }
    }
    Ok(Exit::Done)
}

/// A run as text: what and when, then a line for each system.
fn listed(run: &StoredRun, overview: Option<&Overview>, width: usize) -> String {
    let when = utc(run.created_at);
    let (day, time) = (&when[..10], &when[11..16]);
    let head = format!(
        "{}  {day} {time}  {:11}  ",
        run.run.id(),
        run.status.as_str()
    );
    let Some(overview) = overview else {
        return format!("{head}{} rows\n", run.n_rows);
    };
    let room = width.saturating_sub(head.chars().count()).max(12);
    let mut text = format!("{head}{}\n", named(&overview.benchmarks, room));
    let rows: Vec<[String; 4]> = overview
        .systems
        .iter()
        .map(|system| {
            let score = match (&overview.score_field, system.mean) {
                (Some(name), Some(mean)) => format!("{name} {mean:.3}"),
                _ => "no score".to_owned(),
            };
            let model = system.model.clone().unwrap_or_else(|| "–".to_owned());
            [system.name.clone(), model, score, counts(system)]
        })
        .collect();
    let widest = |at: usize| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.max().unwrap_or(0)
    };
    // Names are shortened to make room; scores and counts never are.
    let fixed = 2 + 2 * 3 + widest(2) + widest(3);
    let room = width.saturating_sub(fixed).max(16);
    let model = widest(1).min(room - (room / 2).min(widest(0)));
    let name = widest(0).min(room.saturating_sub(model).max(8));
    for [system, asked, score, counts] in &rows {
        text += &format!(
            "  {:name$}  {:model$}  {score:score_width$}  {counts}\n",
            cut(system, name),
            cut(asked, model),
            score_width = widest(2),
        );
    }
    text
}

/// `12 of 20 scored, 1 failed`.
fn counts(system: &SystemOverview) -> String {
    let mut text = match system.planned {
        Some(planned) => format!("{} of {planned} scored", system.scored),
        None => format!("{} scored so far", system.scored),
    };
    if system.failed > 0 {
        text += &format!(", {} failed", system.failed);
    }
    text
}

/// As many names as there is room for, and how many more there are.
fn named(names: &[String], room: usize) -> String {
    let mut text = String::new();
    for (at, name) in names.iter().enumerate() {
        let gap = if at == 0 { "" } else { ", " };
        let rest = names.len() - at - 1;
        let more = match rest {
            0 => 0,
            _ => format!(", {rest} more").chars().count(),
        };
        let needed = text.chars().count() + gap.len() + name.chars().count() + more;
        if needed > room {
            return match at {
                0 => {
                    let kept = cut(name, room.saturating_sub(more));
                    let rest = if rest > 0 {
                        format!(", {rest} more")
                    } else {
                        String::new()
                    };
                    kept + &rest
                }
                _ => format!("{text}, {} more", rest + 1),
            };
        }
        text += gap;
        text += name;
    }
    text
}

/// A text shortened to a width in characters.
fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text
            .chars()
            .take(width.saturating_sub(1))
            .chain(['…'])
            .collect(),
        false => text.to_owned(),
    }
}

fn numbers(overview: &Overview) -> Map<String, Value> {
    let systems = overview.systems.iter().map(|system| {
        json!({
            "name": system.name,
            "model": system.model,
            "planned": system.planned,
            "rows": system.rows,
            "scored": system.scored,
            "failed": system.failed,
            "mean": system.mean,
        })
    });
    let mut models: Vec<&str> = Vec::new();
    for model in overview
        .systems
        .iter()
        .filter_map(|one| one.model.as_deref())
    {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    let mut numbers = Map::new();
    numbers.insert("models".into(), json!(models));
    numbers.insert("benchmarks".into(), json!(overview.benchmarks));
    numbers.insert("score_field".into(), json!(overview.score_field));
    numbers.insert("results".into(), systems.collect());
    numbers
}

fn sql(store: &Store, query: &str, format: ListFormat) -> Result<Exit, Failure> {
    let SqlTable { columns, rows } = store.sql(query)?;
    match format {
        ListFormat::Json => {
            let rows = rows.into_iter().map(|row| -> Value {
                let members = columns.iter().cloned().zip(row);
                Value::Object(members.collect())
            });
            output::json(&rows.collect::<Value>())?;
        }
        ListFormat::Table => {
            // One line per row, so that other programs can split it at tabs.
            let cell = |value: &Value| match value {
                Value::Null => String::new(),
                Value::String(text) => {
                    let text = text.replace('\\', "\\\\").replace('\t', "\\t");
                    text.replace('\r', "\\r").replace('\n', "\\n")
                }
                other => other.to_string(),
            };
            let lines = rows.iter().map(|row| {
                let cells: Vec<String> = row.iter().map(cell).collect();
                cells.join("\t") + "\n"
            });
            let lines: String = lines.collect();
            output::data(&format!("{}\n{lines}", columns.join("\t")))?;
        }
    }
    Ok(Exit::Done)
}

fn show(store: &Store, typed: &str, format: ListFormat) -> Result<Exit, Failure> {
    let reopened = ReopenedPlan::open(store, typed)?;
    let (run, plan) = (&reopened.stored.run, &reopened.manifest.plan);
    let json = to_json(run);
    if format == ListFormat::Json {
        output::json(&json)?;
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
            field.map_or_else(|| "no main score".to_owned(), |f| format!("by {f}"))
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
    let run = ReopenedPlan::open(store, typed)?.stored.run;
    let removed = store.remove_run(&run.run)?;
    output::note(&format!(
        "removed run {}: {} rows, {} responses that no other run uses, {} bytes",
        run.run.id(),
        removed.rows,
        removed.responses,
        removed.bytes
    ));
    Ok(Exit::Done)
}

fn to_json(run: &StoredRun) -> Value {
    let system = |s: &context_bench::store::SystemEntry| json!({"name": s.name, "kind": s.kind, "settings": s.settings});
    let scorer = |s: &context_bench::store::EvaluatorEntry| json!({"name": s.name, "version": s.version, "settings": s.settings});
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

/// `2026-11-15T20:40:12Z`.
fn utc(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn names_fit_the_room() {
        let names = ["hotpotqa", "gsm8k", "a very long name"].map(str::to_owned);
        for (room, expected) in [
            (80, "hotpotqa, gsm8k, a very long name"),
            (24, "hotpotqa, gsm8k, 1 more"),
            (18, "hotpotqa, 2 more"),
            (12, "hot…, 2 more"),
        ] {
            assert_eq!(named(&names, room), expected);
            assert!(named(&names, room).chars().count() <= room);
        }
        assert_eq!(named(&names[2..], 8), "a very …");
    }

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
