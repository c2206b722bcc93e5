//! Messages of two requests, paired by what they say: dropped and added ones, changed order,
//! changed roles, lost parts.

use std::collections::BTreeMap;

use super::defect::{Change, Defect};
use crate::attribution::Fingerprint;
use crate::wire::{Message, PartKind, WireRequest};

/// The least likeness at which texts are taken for the same message.
const ALIKE: f64 = 0.3;

/// Pairs of messages of the client and of what went out, by place; each at most once.
///
/// Equal beginnings and ends are paired first, then what is most alike, then what is left over
/// between the same neighbours, in order: a text may be compressed beyond all likeness.
pub fn aligned(client: &[Message], upstream: &[Message]) -> Vec<(usize, usize)> {
    let equal = |one: &Message, two: &Message| one.text() == two.text() && one.role == two.role;
    let shorter = client.len().min(upstream.len());
    let head = (0..shorter)
        .take_while(|at| equal(&client[*at], &upstream[*at]))
        .count();
    let tail = (0..shorter - head)
        .take_while(|at| {
            equal(
                &client[client.len() - 1 - at],
                &upstream[upstream.len() - 1 - at],
            )
        })
        .count();
    let mut pairs: Vec<(usize, usize)> = (0..head).map(|at| (at, at)).collect();
    pairs.extend((1..=tail).map(|at| (client.len() - at, upstream.len() - at)));
    let ours: Vec<usize> = (head..client.len() - tail).collect();
    let theirs: Vec<usize> = (head..upstream.len() - tail).collect();
    pairs.extend(by_likeness(client, upstream, &ours, &theirs));
    pairs.sort_unstable();
    fill_gaps(&mut pairs, client.len(), upstream.len());
    pairs
}

fn by_likeness(
    client: &[Message],
    upstream: &[Message],
    ours: &[usize],
    theirs: &[usize],
) -> Vec<(usize, usize)> {
    let read = |messages: &[Message], places: &[usize]| -> Vec<(String, Fingerprint)> {
        let texts = places.iter().map(|at| messages[*at].text());
        texts
            .map(|text| (text.clone(), Fingerprint::of(&text)))
            .collect()
    };
    let (our_texts, their_texts) = (read(client, ours), read(upstream, theirs));
    let mut ranked: Vec<(f64, usize, usize, usize)> = Vec::new();
    for (at, (text, fingerprint)) in our_texts.iter().enumerate() {
        for (other, (other_text, other_fingerprint)) in their_texts.iter().enumerate() {
            let likeness = match text == other_text {
                true => 1.0,
                false => fingerprint.similarity(other_fingerprint),
            };
            if likeness >= ALIKE {
                let same_role = client[ours[at]].role == upstream[theirs[other]].role;
                let score = likeness + if same_role { 0.1 } else { 0.0 };
                ranked.push((
                    score,
                    ours[at].abs_diff(theirs[other]),
                    ours[at],
                    theirs[other],
                ));
            }
        }
    }
    ranked.sort_by(|one, two| {
        two.0
            .total_cmp(&one.0)
            .then(one.1.cmp(&two.1))
            .then(one.2.cmp(&two.2))
    });
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (_, _, at, other) in ranked {
        if !pairs.iter().any(|pair| pair.0 == at || pair.1 == other) {
            pairs.push((at, other));
        }
    }
    pairs
}

/// Pairs what is left over between neighbours that are paired.
fn fill_gaps(pairs: &mut Vec<(usize, usize)>, ours: usize, theirs: usize) {
    // Only neighbours that are in order on both sides enclose a gap.
    let mut fences: Vec<(isize, isize)> = vec![(-1, -1)];
    for pair in pairs.iter() {
        let pair = (pair.0 as isize, pair.1 as isize);
        if fences.last().is_some_and(|last| pair.1 > last.1) {
            fences.push(pair);
        }
    }
    fences.push((ours as isize, theirs as isize));
    let mut found = Vec::new();
    for fence in fences.windows(2) {
        let free_ours = (fence[0].0 + 1..fence[1].0).map(|at| at as usize);
        let free_theirs = (fence[0].1 + 1..fence[1].1).map(|at| at as usize);
        let free_ours: Vec<usize> = free_ours
            .filter(|at| !pairs.iter().any(|pair| pair.0 == *at))
            .collect();
        let free_theirs: Vec<usize> = free_theirs
            .filter(|at| !pairs.iter().any(|pair| pair.1 == *at))
            .collect();
        // As many on both sides: which is which is clear only then.
        if free_ours.len() == free_theirs.len() {
            found.extend(free_ours.into_iter().zip(free_theirs));
        }
    }
    pairs.extend(found);
    pairs.sort_unstable();
}

/// What happened to the messages of a request.
pub(super) fn message_changes(client: &WireRequest, upstream: &WireRequest) -> Vec<Change> {
    let (ours, theirs) = (&client.messages, &upstream.messages);
    let pairs = aligned(ours, theirs);
    let mut changes = Vec::new();
    for (at, message) in ours.iter().enumerate() {
        if !pairs.iter().any(|pair| pair.0 == at) {
            let what = format!("message {at} (`{}`) was dropped", message.role);
            changes.push(Change::new(Defect::Messages, what));
        }
    }
    for (at, message) in theirs.iter().enumerate() {
        if !pairs.iter().any(|pair| pair.1 == at) {
            let what = format!("message {at} (`{}`) was added", message.role);
            changes.push(Change::new(Defect::Messages, what));
        }
    }
    for pair in pairs.windows(2).filter(|pair| pair[0].1 > pair[1].1) {
        let what = format!(
            "message {} now comes after message {}",
            pair[0].0, pair[1].0
        );
        changes.push(Change::new(Defect::Messages, what));
    }
    for (at, other) in pairs {
        let (one, two) = (&ours[at], &theirs[other]);
        if one.role != two.role {
            let what = format!("message {at}: `{}` became `{}`", one.role, two.role);
            changes.push(Change::new(Defect::Role, what));
        }
        if one.is_system() && one.text() != two.text() {
            let what = format!(
                "message {at}: {} bytes became {}",
                one.text().len(),
                two.text().len()
            );
            changes.push(Change::new(Defect::SystemText, what));
        }
        let lost = lost_parts(one, two);
        if !lost.is_empty() {
            let what = format!("message {at} lost {}", lost.join(", "));
            changes.push(Change::new(Defect::Parts, what));
        }
    }
    changes
}

/// What one message has and the other has less of, texts aside.
fn lost_parts(one: &Message, two: &Message) -> Vec<String> {
    let count = |message: &Message| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for part in &message.parts {
            let name = match &part.kind {
                // Tool calls and results have a defect of their own.
                PartKind::Text | PartKind::ToolCall { .. } => continue,
                PartKind::ToolResult { is_error: true, .. } => "is_error",
                PartKind::ToolResult { .. } => continue,
                kind => kind.name(),
            };
            *counts.entry(name.to_owned()).or_default() += 1;
        }
        if message.name.is_some() {
            counts.insert("name".to_owned(), 1);
        }
        counts
    };
    let (before, after) = (count(one), count(two));
    let lost = before
        .into_iter()
        .filter(|(name, count)| after.get(name).unwrap_or(&0) < count);
    lost.map(|(name, _)| format!("`{name}`")).collect()
}
