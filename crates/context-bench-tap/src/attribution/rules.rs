//! The rules, in their order, over any book of client calls: the whole of a run, or what is
//! going on at the moment.
//!
//! A credential names an example and a header names a call; where no call has both, neither
//! counts. What begins after the client had its answer is background work of the proxy: it
//! belongs to the arm, whatever it carries.

use smallvec::SmallVec;

use super::attribute::{AttributionRules, Method, Unattributed};
use super::client_call::{AnswerIdentity, ClientCall, Sign};
use super::fingerprint::Fingerprint;
use crate::record::CallRecord;

/// The client calls of one arm, by their numbers.
pub(super) trait Book {
    fn client(&self, number: usize) -> &ClientCall;

    /// Those with this credential; none where it is unknown.
    fn with_credential(&self, credential: &str) -> Option<&[usize]>;

    /// Those with this id.
    fn with_id(&self, id: &str) -> Option<&[usize]>;

    /// Those that were open at this moment, or had ended no longer ago than the grace.
    fn open(&self, at: u64, grace: u64) -> Candidates;

    /// How like the newest text of any other example's client call this one is, from 0 to 1, as
    /// far as they were sent before it. Those that have ended count too: proxies go on working,
    /// and give answers to the wrong client. `unknown` counts for those whose text nobody looked
    /// at.
    fn likeness_to_others(&self, call: &CallRecord, of: usize, unknown: f64) -> f64;

    /// Whether another call than this one, made while the client call was open, has the same
    /// answer. The same text may be the answer to many, and any of them may be in a cache, so
    /// that by the text it does not matter when.
    fn has_rival(&self, call: &CallRecord, answer: &AnswerIdentity, sign: Sign, of: usize) -> bool;
}

/// By so much more another text may be like a call's before its answer counts as mixed up. Less
/// than what chance may make: of two mistakes, to tell nothing is the smaller one.
const CLEARLY: f64 = 0.15;

/// The client call, what told it, and how surely.
pub(super) type Found = Result<(usize, Method, f64), Unattributed>;

/// Client calls that may have caused another; of a call that names its own there is one.
pub(super) type Candidates = SmallVec<[usize; 4]>;

/// The client calls that the carriers of a call name, and which carrier did; none where it
/// carries nothing that is known.
pub(super) type Named<'b> = Option<(&'b [usize], Method)>;

/// Which client call caused this one.
pub(super) fn attribute(book: &impl Book, rules: &AttributionRules, call: &CallRecord) -> Found {
    let named = named(book, call)?;
    let open_after = |grace: u64| candidates(book, named, call, grace);
    let open = open_after(0);
    if let Some((_, method)) = named {
        match open.as_slice() {
            [only] => return Ok((*only, method, 1.0)),
            // Its example is known and none of its calls was open: work after the answer.
            [] => return Err(Unattributed::Late),
            _ => {}
        }
    }
    let by_answer = by_answer(book, call, &open);
    // Which example it is for is known where it is named.
    let others = |client, unknown| match named {
        Some(_) => 0.0,
        None => book.likeness_to_others(call, client, unknown),
    };
    if let Some((client, ..)) = by_answer {
        let own = likeness(book, call, client) + CLEARLY;
        // Answers were mixed up, and nobody can tell what else was.
        if others(client, 0.0) >= rules.similarity.max(own) {
            return Err(Unattributed::Contradiction);
        }
    }
    by_answer
        .or_else(|| {
            let (client, likeness) = most_like(book, rules, call, &open)?;
            let is_own = Fingerprint::is_clearly_more(likeness, others(client, 1.0));
            is_own.then_some((client, Method::Fingerprint, likeness))
        })
        .or_else(|| by_single_flight(rules, &open, || open_after(rules.grace)))
        .ok_or(match open.is_empty() {
            true => Unattributed::Late,
            false => Unattributed::Unknown,
        })
}

/// The client calls that may have caused this one: those that it names, else all of the arm,
/// as far as they were open when it began, or had ended no longer ago than the grace.
pub(super) fn candidates(
    book: &impl Book,
    named: Named<'_>,
    call: &CallRecord,
    grace: u64,
) -> Candidates {
    let accepted = call.timeline.accepted;
    match named {
        Some((named, _)) => {
            let is_open = |client: &&usize| book.client(**client).was_open(accepted, grace);
            named.iter().filter(is_open).copied().collect()
        }
        None => book.open(accepted, grace),
    }
}

/// The client calls that its carriers name.
pub(super) fn named<'b>(book: &'b impl Book, call: &CallRecord) -> Result<Named<'b>, Unattributed> {
    let carriers = &call.carriers;
    let credential = carriers.credential.as_deref();
    let by_credential = credential.and_then(|credential| book.with_credential(credential));
    let by_header = carriers.call_id().and_then(|id| book.with_id(id));
    named_by(by_credential, by_header)
}

/// The client calls that are named by the one, the other, or both.
pub(super) fn named_by<'b>(
    by_credential: Option<&'b [usize]>,
    by_header: Option<&'b [usize]>,
) -> Result<Named<'b>, Unattributed> {
    match (by_credential, by_header) {
        (Some(credential), Some(header)) => {
            // The header is the closer one: a credential serves a whole conversation, or
            // even a whole arm.
            let is_of_both = header.iter().any(|client| credential.contains(client));
            match is_of_both {
                true if credential.len() > 1 => Ok(Some((header, Method::Header))),
                true => Ok(Some((credential, Method::Credential))),
                false => Err(Unattributed::Contradiction),
            }
        }
        (Some(named), None) => Ok(Some((named, Method::Credential))),
        (None, Some(named)) => Ok(Some((named, Method::Header))),
        (None, None) => Ok(None),
    }
}

/// The one open call whose client got this very answer, if no other answer is the same.
fn by_answer(book: &impl Book, call: &CallRecord, open: &[usize]) -> Option<(usize, Method, f64)> {
    let answer = AnswerIdentity::of_call(call);
    for sign in Sign::ALL {
        let is_same = |client: &&usize| book.client(**client).answer.agrees(&answer, sign);
        let same: Vec<usize> = open.iter().filter(is_same).copied().collect();
        let client = match same.as_slice() {
            [] => continue,
            [client] => *client,
            _ => return None,
        };
        let found = (client, Method::AnswerIdentity, sign.confidence());
        return (!book.has_rival(call, &answer, sign, client)).then_some(found);
    }
    None
}

/// The open call whose newest text is like this one's, and clearly more so than any other.
fn most_like(
    book: &impl Book,
    rules: &AttributionRules,
    call: &CallRecord,
    open: &[usize],
) -> Option<(usize, f64)> {
    let mut ranked: Vec<(f64, usize)> = open
        .iter()
        .map(|client| (likeness(book, call, *client), *client))
        .collect();
    ranked.sort_by(|one, two| two.0.total_cmp(&one.0));
    let (best, client) = *ranked.first()?;
    let second = ranked.get(1).map_or(0.0, |(second, _)| *second);
    let is_clear = best >= rules.similarity && best >= rules.lead * second;
    is_clear.then_some((client, best))
}

fn likeness(book: &impl Book, call: &CallRecord, client: usize) -> f64 {
    likeness_of(call, &book.client(client).fingerprint)
}

/// How like a call's newest text is, from 0 to 1.
pub(super) fn likeness_of(call: &CallRecord, fingerprint: &Fingerprint) -> f64 {
    let asked = call.asked.as_ref().map(|asked| &asked.fingerprint);
    asked.map_or(0.0, |asked| asked.similarity(fingerprint))
}

/// The only call that was open, or else had just ended, where the client made one at a time.
fn by_single_flight(
    rules: &AttributionRules,
    open: &[usize],
    just_ended: impl FnOnce() -> Candidates,
) -> Option<(usize, Method, f64)> {
    if !rules.is_exclusive {
        return None;
    }
    let only = match open {
        [only] => *only,
        [] => match just_ended().as_slice() {
            [only] => *only,
            _ => return None,
        },
        _ => return None,
    };
    Some((only, Method::SingleFlight, 0.8))
}
