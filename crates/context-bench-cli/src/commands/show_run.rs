//! `show RUN ID`: one example of a stored run, with the answers of all its systems.

use context_bench::planner::{ReopenedPlan, Sent, ShownRow};
use context_bench::registry::Registry;
use context_bench_scoring::text::reasoning;
use serde_json::{Map, Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::list_args::{ListFormat, ShowArgs};
use crate::{output, stores, surroundings, words};

/// How much of a text is shown without `--full`, in characters.
const MAX_CHARS: usize = 1500;
/// Members of an answer that are not listed with the others.
const OWN_LINES: [&str; 3] = ["response", "api_reply", "api_usage"];

pub(crate) fn main(args: &ShowArgs, id: &str, registry: &Registry) -> Result<Exit, Failure> {
    let folder = stores::folder(args.cache_dir.as_deref());
    let store = stores::open(folder.as_deref())?;
    let reopened = ReopenedPlan::open(&store, &args.name)?;
    let mut rows = reopened.example(id, &surroundings::of(registry, true))?;
    // The answers of all systems to one example belong together.
    rows.sort_by(|a, b| (&a.dataset, a.repeat).cmp(&(&b.dataset, b.repeat)));
    let run = reopened.stored.run.run.id().as_str();
    match args.output {
        ListFormat::Json => {
            let rows: Vec<Value> = rows.iter().map(to_json).collect();
            output::json(&json!({"run": run, "rows": rows}))?;
        }
        ListFormat::Table => {
            let most = if args.full { usize::MAX } else { MAX_CHARS };
            let mut text = format!("run {run}\n");
            let mut last = None;
            for row in &rows {
                let example = (&row.dataset, row.repeat);
                if last != Some(example) {
                    last = Some(example);
                    text += &heading(row, most);
                }
                text += &answered(row, most);
            }
            output::data(&text)?;
        }
    }
    Ok(Exit::Done)
}

/// Whether a name can only be that of a run: `last`, or a date and a time.
pub(crate) fn is_run(name: &str) -> bool {
    let is_number =
        |part: &str, n: usize| part.len() == n && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = name.splitn(3, '-');
    let (day, time) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    matches!(name, "last" | "latest") || (is_number(day, 8) && is_number(time, 6))
}

/// An example: the question and the reference answer.
fn heading(row: &ShownRow, most: usize) -> String {
    let mut text = format!("\n=== {} {}", row.dataset, row.id);
    if row.repeat > 0 {
        text += &format!(", repeat {}", row.repeat);
    }
    text += "\n";
    let Some(example) = &row.example else {
        return text + "the stored example is damaged or missing\n";
    };
    // For tasks, the record holds question and answer.
    for field in [
        "question",
        "answer",
        "answers",
        "choices",
        "correct_letter",
        "record",
    ] {
        if let Some(value) = example.get(field).filter(|value| !value.is_null()) {
            text += &line(field, value, most);
        }
    }
    text
}

/// What one system was sent, and what it answered.
fn answered(row: &ShownRow, most: usize) -> String {
    let mut text = format!("\n--- {}", row.system);
    if let Some(model) = row.model.as_deref().filter(|model| !model.is_empty()) {
        text += &format!(" ({model})");
    }
    text += "\nsent\n";
    text += &sent(row, most);
    if let Some(failure) = &row.failure {
        text += &format!("failed: {}: {}\n", failure.kind.as_str(), failure.message);
        if let Some(hint) = failure.kind.hint() {
            text += &format!("hint: {hint}\n");
        }
    }
    if let Some(answer) = &row.answer {
        let response = answer.get("response").unwrap_or(&Value::Null);
        match response.as_str().and_then(reasoning::split) {
            Some((thought, answer)) => {
                text += &line("response", &json!(answer), most);
                text += &line("reasoning", &json!(thought), most);
            }
            None => text += &line("response", response, most),
        }
        // Why it ended, the model's reasoning, its tool calls.
        let remarks = answer.get("api_reply").and_then(Value::as_object);
        for (name, value) in remarks.into_iter().flatten() {
            text += &line(name, value, most);
        }
        for (name, value) in answer {
            // A context that a layer changed is already shown as sent.
            if !OWN_LINES.contains(&name.as_str()) && name != "context" {
                text += &line(name, value, most);
            }
        }
    }
    for (evaluator, scores) in &row.scores {
        text += &format!("scores of {evaluator}\n");
        for (name, score) in scores.iter() {
            let value = match score.get() {
                Some(value) => format!("{value}"),
                None if score.as_evidence().is_some() => "scored over all rows".to_owned(),
                None => "unscored".to_owned(),
            };
            text += &format!("  {}: {value}", name.as_str());
            if let Some(reason) = score.reason() {
                text += &format!(" ({reason})");
            }
            text += "\n";
        }
    }
    let mut cost: Vec<String> = Vec::new();
    if let Some(latency) = row.latency {
        cost.push(format!("{latency:.3} s"));
    }
    if let Some(call) = row.call.filter(|call| call.attempts > 0) {
        cost.push(words::counted(call.attempts as usize, "request"));
        if !call.retry_wait.is_zero() {
            cost.push(format!(
                "{:.3} s waiting between them",
                call.retry_wait.as_secs_f64()
            ));
        }
        if let Some(first) = call.first_token {
            cost.push(format!("first token after {:.3} s", first.as_secs_f64()));
        }
    }
    if row.cached {
        cost.push("answer from an earlier run".to_owned());
    }
    if !cost.is_empty() {
        text += &format!("took {}\n", cost.join(", "));
    }
    if let Some(usage) = &row.usage {
        text += &format!("usage {}\n", Value::Object(usage.clone()));
    }
    text
}

fn sent(row: &ShownRow, most: usize) -> String {
    let mut text = String::new();
    match &row.sent {
        Sent::Requests(requests) => {
            for request in requests {
                text += &format!("  POST {}\n", request.url);
                let body: Map<String, Value> =
                    serde_json::from_str(&request.body).unwrap_or_default();
                for (name, value) in &body {
                    match (name.as_str(), value) {
                        ("messages" | "input", Value::Array(messages)) => {
                            for message in messages {
                                text += &message_line(message, most);
                            }
                        }
                        _ => text += &format!("  {}", line(name, value, most)),
                    }
                }
            }
            let turns = row
                .example
                .as_ref()
                .and_then(|one| one.conversation().ok()?);
            if let Some(more) = turns.map(|turns| turns.len()).filter(|n| *n > 1) {
                text += &format!("  ({} more turns, each after the reply)\n", more - 1);
            }
        }
        Sent::Texts(texts) => {
            for one in texts {
                text += &format!("  {}\n", shortened(one, most));
            }
        }
        Sent::Unknown => {
            let changed = row.answer.as_ref().and_then(|answer| answer.get("context"));
            let context = changed.or_else(|| row.example.as_ref()?.get("context"));
            text += "  the example; anything else is known only to the system\n";
            if let Some(context) = context {
                text += &format!("  {}", line("context", context, most));
            }
        }
    }
    text
}

/// A message of a request.
fn message_line(message: &Value, most: usize) -> String {
    // What stands among the messages of Responses has a type and no role.
    let role = message["role"].as_str().or(message["type"].as_str());
    let role = role.unwrap_or("?");
    let content = match &message["content"] {
        Value::Null if message.get("tool_calls").is_none() => message.to_string(),
        Value::Null => message["tool_calls"].to_string(),
        content => words::plain(content),
    };
    format!("  [{role}] {}\n", shortened(&content, most))
}

fn line(name: &str, value: &Value, most: usize) -> String {
    format!("{name}: {}\n", shortened(&words::plain(value), most))
}

/// A text, shortened if it is long.
fn shortened(text: &str, most: usize) -> String {
    words::shortened(text, most, "; `--full` shows all")
}

fn to_json(row: &ShownRow) -> Value {
    let sent = match &row.sent {
        Sent::Requests(requests) => {
            let request = |one: &context_bench::system::Posting| {
                let body: Value = serde_json::from_str(&one.body).unwrap_or_default();
                json!({"url": one.url, "body": body})
            };
            json!({"requests": requests.iter().map(request).collect::<Vec<_>>()})
        }
        Sent::Texts(texts) => json!({"texts": texts}),
        Sent::Unknown => Value::Null,
    };
    let scores: Vec<Value> = row
        .scores
        .iter()
        .flat_map(|(evaluator, scores)| {
            scores.iter().map(move |(name, score)| {
                json!({
                    "evaluator": evaluator,
                    "score": name.as_str(),
                    "value": score.get(),
                    "reason": score.reason(),
                    "evidence": score.as_evidence(),
                })
            })
        })
        .collect();
    let failure = row.failure.as_ref();
    let answer = row.answer.as_ref();
    json!({
        "dataset": row.dataset,
        "id": words::id_json(&row.id),
        "repeat": row.repeat,
        "system": row.system,
        "model": row.model,
        "example": row.example.as_ref().map(context_bench::Example::fields),
        "sent": sent,
        "response": answer.and_then(|answer| answer.get("response")),
        "output": answer,
        "failure": failure.map(|one| json!({"kind": one.kind.as_str(), "message": one.message})),
        "scores": scores,
        "latency_s": row.latency,
        "attempts": row.call.map(|call| call.attempts),
        "retry_wait_s": row.call.map(|call| call.retry_wait.as_secs_f64()),
        "first_token_s": row.call.and_then(|call| call.first_token).map(|t| t.as_secs_f64()),
        "usage": row.usage,
        "cached": row.cached,
    })
}
