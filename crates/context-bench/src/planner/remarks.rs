//! What users must know of a run that is over although it went on: in the same words
//! whoever asked, for a number that only one front end doubts is believed by the other.

use std::collections::HashSet;

use super::{BASELINE_READER, Notice, Systems};
use crate::benchmark::TaskReport;
use crate::dataset::{RepeatedIds, Skipped};
use crate::mask::Mask;
use crate::model::{Counts, EvalRow};
use crate::plan::{PlannedSystem, RunPlan, RunSpec};
use crate::report::odd_answers;
use crate::result::{EvalResult, StoreSummary};
use crate::store::{Cause, Store};

/// What is said when the time of a run is over.
pub const OUT_OF_TIME: &str = "the time of `--max-time` is over: finishing what is in flight";
/// How many remarks about one thing are shown.
const SHOWN: usize = 10;

impl Notice {
    /// Notices once each, and not too many of them.
    pub fn shown(notices: &[Self]) -> Vec<Self> {
        let mut seen = HashSet::new();
        let once = notices.iter().filter(|notice| seen.insert(&notice.what));
        let mut shown: Vec<Self> = once.cloned().collect();
        if let Some(more) = shown.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            shown.truncate(SHOWN);
            shown.push(Self::new(format!("{more} more remarks of this kind")));
        }
        shown
    }
}

/// From this many answers of an endpoint on, asking one after the other is worth a notice.
const MANY: usize = 200;

/// Prompts are data and are kept as they were asked, whatever a setting put into them.
pub(super) fn key_in_prompts(spec: &RunSpec) -> Option<Notice> {
    let own = spec.systems.iter().map(|system| &system.system_prompt);
    let texts = own.chain([
        &spec.requests.system_prompt,
        &spec.prompts.system_instruction,
    ]);
    let mut texts = texts.flatten();
    let has_key = texts.any(|text| Mask::Dots.text(text) != *text);
    has_key.then(|| {
        Notice::new("the system prompt holds what looks like a key: it is sent to the model")
            .with_hint("prompts are kept as they were asked; leave the key out of them")
    })
}

/// That a seed is not sent to an endpoint whose API has none: answers may then differ from run
/// to run.
pub(super) fn seed_without_api(spec: &RunSpec) -> Option<Notice> {
    let in_memory = spec.memory.as_ref().and_then(|memory| memory.seed);
    let is_asked = in_memory.is_some() || spec.prompts.generation.contains_key("seed");
    let own = spec.systems.iter().filter(|system| system.proxy.is_some());
    let own = own.map(|system| system.requests_over(&spec.requests).api);
    let relay = spec.relay.as_ref().map(|_| spec.requests.api);
    let apis = own.chain(relay).map(Option::unwrap_or_default);
    let api = apis
        .filter(|api| !api.has_setting("seed"))
        .find(|_| is_asked)?;
    let what = format!("the seed is not sent with `api: {api}`, which has no such setting");
    Some(Notice::new(what).with_hint("ask for a temperature of 0 where answers must be the same"))
}

/// That a run asks an endpoint many times, one after the other, where nobody said how
/// many calls may be in flight.
pub(super) fn one_by_one(plan: &RunPlan, systems: &Systems, spec: &RunSpec) -> Option<Notice> {
    let endpoints: usize = systems.endpoints().map(|(_, users)| users.len()).sum();
    let documents = plan.benchmarks.iter();
    let documents: usize = documents
        .map(|one| {
            one.documents
                .unwrap_or(0)
                .saturating_mul(one.repeats.max(1))
        })
        .sum();
    let calls = documents.saturating_mul(endpoints);
    (spec.limits.max_workers.is_none() && calls >= MANY).then(|| {
        let what = format!("up to {calls} answers are asked for one after the other");
        Notice::new(what).with_hint(
            "`--max-workers auto` (`max_workers=\"auto\"` in Python) asks for as many at once as \
             the endpoint bears",
        )
    })
}

/// Notices about the examples of a run, once they are read.
pub fn examples_read(skipped: &Skipped, repeated: &RepeatedIds) -> Vec<Notice> {
    let mut notices = Vec::new();
    let total = skipped.total();
    if total > 0 {
        let plural = if total == 1 { "" } else { "s" };
        let mut what = format!("left out {total} bad record{plural}");
        for record in skipped.first() {
            what += &format!("\n  at {}: {}", record.at, record.problem);
        }
        notices.push(Notice::new(what));
    }
    if let Some(first) = repeated.first() {
        let total = repeated.total();
        let (plural, have) = match total {
            1 => ("", "has"),
            _ => ("s", "have"),
        };
        notices.push(Notice::new(format!(
            "{total} example{plural} {have} an id that another one has; the second `{first}` is \
             called `{first}#2`"
        )));
    }
    notices
}

/// Writes down in a result how many records were left out, where there are any.
pub fn note_skipped(result: &mut EvalResult, skipped: &Skipped) {
    if skipped.total() > 0 {
        let total = skipped.total().into();
        result.config.insert("skipped_records".into(), total);
    }
}

/// Notices about the result of a run: what was noticed when it was summed up,
/// what is missing and why, and what could not be stored.
pub fn remarks(plan: &RunPlan, result: &EvalResult) -> Vec<Notice> {
    let noticed = shown_tasks(result).flat_map(|(_, report)| &report.warnings);
    let mut notices = Notice::shown(&noticed.map(Notice::new).collect::<Vec<_>>());
    notices.extend(super::wire::remarks(result));
    let nothing_ran = result.rows.iter().all(|row| !row.is_completed());
    // Why a system was given up explains everything.
    if !nothing_ran || result.gave_up.is_empty() {
        notices.extend(lost(result));
    }
    // A misspelt name of a field would otherwise look like a layer that saves nothing.
    let no_tokens = result.rows.iter().all(|row| row.input_tokens == 0);
    if no_tokens && plan.scoring.text_fields.is_some() && !result.rows.is_empty() {
        notices.push(Notice::new(
            "no example has text in the fields that `--text-field` names",
        ));
    }
    notices.extend(result.store.iter().flat_map(keeping));
    for (system, counts) in &result.counts {
        notices.extend(incomplete(plan, result, system, counts));
        notices.extend(odd(system, counts));
    }
    notices.extend(strict_scores(plan, result));
    notices.extend(reader(plan));
    notices.extend(without_values(result));
    notices.extend(nothing_scored(result));
    notices
}

/// That systems answered and no answer could be scored: such a run measured nothing.
pub fn nothing_scored(result: &EvalResult) -> Option<Notice> {
    let answered = || result.rows.iter().filter(|row| row.is_completed());
    let is_scored = |row: &EvalRow| !row.scores.is_empty() || row.not_applicable == 0;
    if answered().next().is_none() || answered().any(is_scored) {
        return None;
    }
    let what = "no answer could be scored: no example has what the evaluators compare with";
    Some(Notice::new(what).with_hint(
        "give the examples an `answer` (`--map answer=KEY` for a file that calls it otherwise), or \
         name an evaluator that needs none, such as a judge",
    ))
}

/// Which tasks and metrics have no value, and why.
pub fn without_values(result: &EvalResult) -> Vec<Notice> {
    let mut seen = HashSet::new();
    let failed = shown_tasks(result).flat_map(|(_, report)| &report.failed);
    let failed = failed.filter(|(what, _)| seen.insert(what));
    failed
        .map(|(what, hint)| Notice {
            what: what.clone(),
            hint: hint.clone(),
        })
        .collect()
}

/// Whether a system has more rows without a complete score than the user allows.
pub fn has_failed(plan: &RunPlan, counts: &Counts) -> bool {
    let errors = counts.errors() + counts.not_run();
    errors as f64 > plan.limits.max_error_rate * counts.planned as f64
}

fn shown_tasks(result: &EvalResult) -> impl Iterator<Item = (&String, &TaskReport)> {
    result.tasks.iter().filter(|(_, report)| report.is_shown)
}

/// Which tasks are missing documents, and why the first of them is missing.
fn lost(result: &EvalResult) -> Vec<Notice> {
    let lost = shown_tasks(result).flat_map(|(system, report)| {
        let counts = report.counts.iter();
        let lost = counts.filter(|(_, counts)| !counts.is_complete());
        lost.map(move |(key, counts)| (system, key, counts))
    });
    let mut notices: Vec<Notice> = lost
        .map(|(system, key, counts)| {
            let parts = [
                (counts.failed, "failed"),
                (counts.unscored, "could not be scored"),
                (counts.not_run, "were not asked"),
            ];
            let parts = parts.iter().filter(|(n, _)| *n > 0);
            let parts: Vec<String> = parts.map(|(n, what)| format!("{n} {what}")).collect();
            let mut what = format!(
                "task `{key}` of `{system}`: {} of {} documents are in the scores; {}",
                counts.scored,
                counts.planned,
                parts.join(", ")
            );
            if let Some((document, why)) = &counts.first {
                what += &format!("\n  document {document}: {why}");
            }
            Notice::new(what)
        })
        .collect();
    if let Some(more) = notices.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        notices.truncate(SHOWN);
        notices.push(Notice::new(format!(
            "{more} more tasks are missing documents; `counts` in the JSON has all of them"
        )));
    }
    notices
}

/// That nothing new is kept, because a store can be read and not written. To be said
/// before anything is paid for.
pub fn nothing_kept(store: &Store) -> Option<Notice> {
    let reason = store.read_only()?;
    let what = format!(
        "the store `{}` can only be read ({reason}): what it holds is used, and nothing new is kept",
        store.path().display()
    );
    Some(Notice::new(what).with_hint(Cause::ReadOnly.hint()))
}

/// That a result is made of a stored run that did not finish.
pub fn unfinished(result: &EvalResult) -> Option<Notice> {
    let part_of = result.part_of()?;
    let what = format!("these numbers are not those of a whole run: {part_of}");
    Some(Notice::new(what).with_hint("run the same command again to complete it"))
}

/// What the store has to say.
fn keeping(kept: &StoreSummary) -> Vec<Notice> {
    let mut notices = Vec::new();
    let path = kept.path.display();
    if kept.damaged > 0 {
        notices.push(Notice::new(format!(
            "{} stored entries are damaged and were not used; what they held was done again",
            kept.damaged
        )));
    }
    if kept.unread > 0 {
        notices.push(Notice::new(format!(
            "the store `{path}` could not be read for {} of the examples ({}); it may hold their \
             answers, so nothing was asked about them",
            kept.unread,
            kept.unread_reason.as_deref().unwrap_or("no reason given")
        )));
    }
    if let Some(failure) = &kept.failure {
        let complete = match kept.unread {
            0 => "; the results are complete",
            _ => "",
        };
        let notice = Notice::new(format!(
            "{failure}; the run went on in memory, {} entries are not kept in `{path}`",
            kept.dropped
        ));
        let hint = kept.failure_hint.as_deref();
        let hint = hint.unwrap_or("choose another `--cache-dir`");
        notices.push(notice.with_hint(format!("{hint}{complete}")));
    } else if kept.dropped > 0 && kept.read_only.is_none() {
        let notice = Notice::new(format!(
            "{} entries are not kept in `{path}`: they are too long, or another process removed \
             what they refer to",
            kept.dropped
        ));
        notices
            .push(notice.with_hint("the results are complete; the same command keeps them again"));
    }
    notices
}

/// How many rows of a system have no complete score, when they are more than the user
/// allows, and why the first has none.
fn incomplete(plan: &RunPlan, result: &EvalResult, system: &str, counts: &Counts) -> Vec<Notice> {
    if !has_failed(plan, counts) {
        return Vec::new();
    }
    let rows = result.rows_of(system);
    let failures = || rows.iter().filter_map(|row| row.failure.as_deref());
    let failed = failures().next().map(|failure| failure.message.clone());
    let unscored = rows.iter().flat_map(|row| row.scores.unscored());
    let unscored = unscored.map(|(_, reason)| told_last(reason)).next();
    let mut notices = Vec::new();
    for (n, what, why) in [
        (counts.failed, "failed", failed),
        (counts.unscored, "unscored", unscored),
        (counts.not_run(), "not begun", None),
    ] {
        if n > 0 {
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            let planned = counts.planned;
            let told = format!("system `{system}`: {n} of {planned} rows {what}{why}");
            notices.push(Notice::new(told));
        }
    }
    let hint = failures().find_map(|failure| failure.kind.hint());
    if let Some(first) = notices.first_mut() {
        first.hint = hint.map(str::to_owned);
    }
    notices
}

/// How many answers were scored although something is wrong with them.
fn odd(system: &str, counts: &Counts) -> Vec<Notice> {
    let hint = |what: &str| match what {
        what if what.contains("cut") => Some("raise `--max-tokens` (`max_tokens` in Python)"),
        what if what.contains("empty") => Some(
            "the rows say which: `finish_reason` and `reasoning` show whether the model had no \
             tokens left to answer",
        ),
        what if what.contains("tools") => Some("the model waits for a tool; ask it without any"),
        _ => None,
    };
    let all = counts.planned;
    let odd = odd_answers(counts).into_iter();
    odd.map(|(n, what)| Notice {
        what: format!("system `{system}`: {n} of {all} answers {what}"),
        hint: hint(what).map(str::to_owned),
    })
    .collect()
}

/// Says that no language model answered for built-in systems without a relay.
fn reader(plan: &RunPlan) -> Option<Notice> {
    let is_read = PlannedSystem::is_answered_by_reader;
    let notice = Notice::new(format!(
        "`{BASELINE_READER}` answered for the built-in systems: it picks sentences and is not a \
         language model"
    ));
    plan.systems.iter().any(is_read).then(|| {
        notice.with_hint("name an endpoint with `--relay URL` (`relay` in a spec) to ask a model")
    })
}

/// How far containment or recall must be above F1 to say so.
const FAR_ABOVE: f64 = 0.25;

/// Whether answers hold the gold text far more often than F1 tells: models that chat
/// write sentences, and F1 counts every further word against them.
fn strict_scores(plan: &RunPlan, result: &EvalResult) -> Vec<Notice> {
    if plan.scoring.score_field.as_deref() != Some("f1") {
        return Vec::new();
    }
    let mean = |system: &str, field: &str| {
        let values = result.rows_of(system).iter();
        let values: Vec<f64> = values.filter_map(|row| row.score(field)).collect();
        crate::stats::mean(&values).map(|mean| mean.value)
    };
    let far = result.counts.keys().filter_map(|system| {
        let f1 = mean(system, "f1")?;
        let contains = mean(system, "contains").unwrap_or(0.0);
        let recall = mean(system, "recall").unwrap_or(0.0);
        let (field, value) = match contains >= recall - FAR_ABOVE {
            true => ("contains", contains),
            false => ("recall", recall),
        };
        (value - f1 > FAR_ABOVE).then_some((system, f1, field, value))
    });
    let notice = |(system, f1, field, value): (&String, f64, &str, f64)| {
        let what = format!(
            "system `{system}`: `f1` is {f1:.2} while `{field}` is {value:.2}: its answers hold \
             the right text among other words, each of which F1 counts against them"
        );
        Notice::new(what).with_hint(format!(
            "score by `--score-field {field}` (`score_field` of metrics in Python), or ask for \
             short answers with `--system-prompt`"
        ))
    };
    far.map(notice).collect()
}

/// Of a traceback the line that says what is wrong.
fn told_last(reason: &str) -> String {
    let lines = reason.trim().lines();
    lines.last().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_shown_once_each_and_not_without_end() {
        let said = |texts: Vec<String>| -> Vec<String> {
            let notices: Vec<Notice> = texts.into_iter().map(Notice::new).collect();
            let shown = Notice::shown(&notices).into_iter();
            shown.map(|notice| notice.what).collect()
        };
        let numbered = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
        assert_eq!(said(vec!["a".into(), "b".into(), "a".into()]), ["a", "b"]);
        assert_eq!(said(numbered(10)), numbered(10));
        let twelve = said(numbered(12));
        assert_eq!(twelve.len(), 11);
        assert_eq!(twelve[10], "2 more remarks of this kind");
    }
}
