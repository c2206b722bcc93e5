//! Tools of two requests, and the ids that tie their calls to results.

use super::canonical::canonical_json;
use super::defect::{Change, Defect};
use crate::wire::{PartKind, Tool, WireRequest};

/// Ids of tool calls in their order, and those of results.
fn tool_ids(request: &WireRequest) -> (Vec<&str>, Vec<&str>) {
    let parts = || request.messages.iter().flat_map(|message| &message.parts);
    let calls = parts().filter_map(|part| match &part.kind {
        PartKind::ToolCall { id, .. } => Some(id.as_str()),
        _ => None,
    });
    let results = parts().filter_map(|part| match &part.kind {
        PartKind::ToolResult { id, .. } => Some(id.as_str()),
        _ => None,
    });
    (calls.collect(), results.collect())
}

/// What happened to the ids of tool calls and results.
pub(super) fn id_changes(client: &WireRequest, upstream: &WireRequest) -> Vec<Change> {
    let (ours, theirs) = (tool_ids(client), tool_ids(upstream));
    let mut changes = Vec::new();
    let mut wrong = |what: String| changes.push(Change::new(Defect::ToolCallIds, what));
    for (name, one, two) in [
        ("calls", &ours.0, &theirs.0),
        ("results", &ours.1, &theirs.1),
    ] {
        let sorted = |ids: &[&str]| {
            let mut ids: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
            ids.sort();
            ids
        };
        if sorted(one) != sorted(two) {
            wrong(format!("ids of tool {name}: {one:?} became {two:?}"));
        } else if one != two {
            wrong(format!("tool {name} are in another order"));
        }
    }
    // Orphans that the client sent are its own.
    for id in theirs
        .1
        .iter()
        .filter(|id| !theirs.0.contains(id) && ours.0.contains(id))
    {
        wrong(format!("the result `{id}` has lost its call"));
    }
    changes
}

/// What happened to the tools themselves. The order of members counts: caches compare bytes.
pub(super) fn tool_changes(ours: &[Tool], theirs: &[Tool]) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut wrong = |what: String| changes.push(Change::new(Defect::Tools, what));
    let pairs = paired(ours, theirs);
    for (tool, other) in ours.iter().zip(&pairs) {
        let Some(other) = other.map(|at| &theirs[at]) else {
            wrong(format!("tool `{}` was removed", tool.name));
            continue;
        };
        if tool.definition == other.definition {
            continue;
        }
        let canonical = |tool: &Tool| canonical_json(tool.definition.as_bytes()).ok();
        match canonical(tool) == canonical(other) {
            true => wrong(format!(
                "tool `{}`: members are in another order",
                tool.name
            )),
            false => wrong(format!("tool `{}` was changed", tool.name)),
        }
    }
    for (at, tool) in theirs.iter().enumerate() {
        if !pairs.contains(&Some(at)) {
            wrong(format!("tool `{}` was added", tool.name));
        }
    }
    if !pairs.iter().flatten().is_sorted() {
        wrong("tools are in another order".to_owned());
    }
    changes
}

/// Which of their tools each of ours is. Names may repeat: what is equal is paired first.
fn paired(ours: &[Tool], theirs: &[Tool]) -> Vec<Option<usize>> {
    let mut pairs: Vec<Option<usize>> = vec![None; ours.len()];
    for wants_equal in [true, false] {
        for (at, tool) in ours.iter().enumerate() {
            if pairs[at].is_some() {
                continue;
            }
            let other = theirs.iter().enumerate().find(|(place, other)| {
                let is_same = other.name == tool.name
                    && (!wants_equal || other.definition == tool.definition);
                is_same && !pairs.contains(&Some(*place))
            });
            let other = other.map(|(place, _)| place);
            pairs[at] = other;
        }
    }
    pairs
}
