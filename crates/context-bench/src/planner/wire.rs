//! What users must know about figures of the wire: arms that do not do what they are for,
//! calls that are nobody's, measures that disagree.

use super::Notice;
use crate::model::{ArmRole, ArmWire};
use crate::report::percent;
use crate::result::{ArmVerdict, EvalResult};

/// By how much two measures of the same saving may differ.
const AGREES: f64 = 0.02;
/// By how much the tokens of a provider may differ from ours, between rows.
const SPREAD: f64 = 0.1;

/// Notices about what a tap saw.
pub(super) fn remarks(result: &EvalResult) -> Vec<Notice> {
    let mut notices = Vec::new();
    for (name, arm) in &result.wire {
        notices.extend(verdict(result, name));
        notices.extend(never_called(result, name, arm));
        notices.extend(unattributed(name, arm));
        notices.extend(doubtful(result, name));
    }
    let tap = result.provenance.get("tap");
    let lost = tap.and_then(|tap| tap.get("not_kept")?.as_u64());
    if let Some(lost) = lost.filter(|lost| *lost > 0) {
        let reason = tap.and_then(|tap| tap.get("not_kept_reason")?.as_str());
        notices.push(Notice::new(format!(
            "{lost} calls of the tap could not be recorded: {}",
            reason.unwrap_or("the reason is not known")
        )));
    }
    let held = tap.and_then(|tap| tap.get("held_back")?.as_u64());
    if let Some(held) = held.filter(|held| *held > 0) {
        let what = format!("{held} calls had to wait for the tap: their times are too long");
        notices.push(Notice::new(what).with_hint("lower `--max-workers`"));
    }
    notices
}

fn verdict(result: &EvalResult, name: &str) -> Option<Notice> {
    let engagement = result.summary.get(name)?.value("engagement");
    Some(match result.arm_verdict(name)? {
        ArmVerdict::NotEngaged => Notice::new(format!(
            "`{name}` is not engaged: it changed no request, so its figures are those of no proxy"
        ))
        .with_hint("look at its log and its settings; some proxies leave short prompts alone"),
        ArmVerdict::NotTransparent => Notice::new(format!(
            "`{name}` fails transparency: {} of its rows went out changed, and it is to change \
             none",
            percent(engagement)
        ))
        .with_hint("`wire.defects` of its rows in JSON says what was changed"),
        ArmVerdict::Engaged | ArmVerdict::Transparent => return None,
    })
}

fn never_called(result: &EvalResult, name: &str, arm: &ArmWire) -> Option<Notice> {
    let is_proxy = arm.role != ArmRole::Direct;
    let rows = result.rows_of(name);
    let has_answers = rows.iter().any(|row| row.is_completed() && !row.cached);
    (is_proxy && arm.client_calls > 0 && arm.calls == 0 && has_answers).then(|| {
        Notice::new(format!(
            "`{name}` answered {} calls and made none to the tap: nothing is known of what it \
             sends",
            arm.client_calls
        ))
        .with_hint("point it at the tap: its provider must be the address that the run names")
    })
}

fn unattributed(name: &str, arm: &ArmWire) -> Option<Notice> {
    let calls = arm.unattributed.calls;
    let share = percent(Some(arm.unattributed_share()));
    arm.withheld.then(|| {
        Notice::new(format!(
            "{calls} of {} calls of `{name}` ({share}) could not be attributed to a row: figures \
             of single rows are withheld, and only the totals of the arm are shown",
            arm.calls
        ))
        .with_hint(
            "`--tap-exclusive` makes one call at a time, so that each is known by its time; \
             `--tap-unattributed SHARE` allows more",
        )
    })
}

fn doubtful(result: &EvalResult, name: &str) -> Option<Notice> {
    let summary = result.summary.get(name)?;
    let (local, usage) = (
        summary.value("wire_saved"),
        summary.value("wire_saved_usage"),
    );
    let differ = local
        .zip(usage)
        .filter(|(local, usage)| (local - usage).abs() > AGREES);
    let spread = summary.value("wire_calibration_spread");
    let why = match (differ, spread.filter(|spread| *spread > SPREAD)) {
        (Some(_), _) => format!(
            "by our tokenizer `{name}` saved {}, by the provider's count {}",
            percent(local),
            percent(usage)
        ),
        (None, Some(spread)) => format!(
            "the provider's tokens for one of ours differ by {} between rows of `{name}`",
            percent(Some(spread))
        ),
        (None, None) => return None,
    };
    Some(Notice::new(why).with_hint(
        "pictures, schemas of tools, hidden text or another tokenizer; `--tokenizer` chooses ours",
    ))
}
