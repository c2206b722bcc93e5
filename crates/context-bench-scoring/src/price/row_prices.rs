//! [`RowPrices`]: what rows cost, from the tokens that they keep.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use super::book::PriceBook;
use super::cost::Cost;
use super::entry::PriceEntry;
use crate::digest;
use crate::model::{ArmWire, EvalRow, FailureKind, ModelUse, WireUsage};

/// What rows of memories that ask a model while they take in a conversation say of it.
const INGEST_USAGE: &str = "ingest_usage";

/// The price books of a run. Rows keep tokens and no money, so other books give other amounts for
/// the same rows.
#[derive(Debug, Default)]
pub struct RowPrices {
    book: PriceBook,
    /// The books that the user gave, for systems whose model nobody named.
    own: PriceBook,
    /// Systems that are asked for a model that nobody named: an endpoint on this machine may say
    /// that name back, whatever it serves.
    unnamed: BTreeSet<String>,
    /// Systems whose calls pass a tap, which says more of them than their answers do.
    tapped: BTreeSet<String>,
    /// Entries that were looked up, by name.
    known: RwLock<HashMap<String, Option<Arc<PriceEntry>>>>,
}

/// A price that a run used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedPrice {
    /// The model as calls name it.
    pub model: String,
    /// The file that has its price.
    pub book: String,
    /// The price.
    pub entry: PriceEntry,
}

impl RowPrices {
    /// Prices of `book`; those of `own` alone for systems whose model nobody named.
    pub fn new(book: PriceBook, own: PriceBook) -> Self {
        Self {
            book,
            own,
            ..Self::default()
        }
    }

    /// Systems that are asked for a model that nobody named.
    #[must_use]
    pub fn unnamed(mut self, systems: impl IntoIterator<Item = String>) -> Self {
        self.unnamed.extend(systems);
        self
    }

    /// Systems whose calls pass a tap.
    #[must_use]
    pub fn tapped(mut self, systems: impl IntoIterator<Item = String>) -> Self {
        self.tapped.extend(systems);
        self
    }

    /// The currency of all amounts.
    pub fn currency(&self) -> Option<&str> {
        self.book.currency()
    }

    /// The book, with all its files.
    pub fn book(&self) -> &PriceBook {
        &self.book
    }

    /// What asking about a row cost, wherever and whenever it was asked. Judges are not in it.
    pub fn cost(&self, row: &EvalRow) -> Cost {
        if let Some(facts) = row.wire.as_deref() {
            let calls = facts.calls.total();
            let known: u64 = facts.uses.iter().map(|one| one.calls.max(1)).sum();
            return match known < facts.billable() {
                // A run from before calls were kept with their models.
                true => Cost::UNKNOWN,
                false if calls == 0 => Cost::NOTHING,
                false => self.sum(&row.system, &facts.uses),
            };
        }
        if self.tapped.contains(&*row.system) {
            return Cost::UNKNOWN;
        }
        if let Some(failure) = &row.failure {
            return without_answer(row, failure.kind);
        }
        let Some(reply) = row.reply.as_deref() else {
            return Cost::UNKNOWN;
        };
        let mut cost = match reply.uses() {
            uses if uses.is_empty() => return Cost::UNKNOWN,
            uses => self.sum(&row.system, &uses),
        };
        if reply.from_cache.is_some() {
            // Something in between had the answer: it may not have been billed again.
            cost = cost.at_most();
        }
        if row.call.as_deref().is_some_and(|call| call.timeouts > 0) {
            // What came too late may be billed as well.
            cost = cost.at_least();
        }
        let added = row.added.as_deref();
        if added.is_some_and(|added| added.contains_key(INGEST_USAGE)) {
            // Taking in a conversation is not part of any one question about it.
            cost = cost.at_least();
        }
        cost
    }

    /// What an arm cost as a whole: all calls that its tap saw, whosever they are, and those of rows
    /// from earlier runs.
    pub fn arm_cost(&self, system: &str, arm: &ArmWire) -> Cost {
        let earlier = arm.earlier.as_ref();
        let uses = arm
            .uses
            .iter()
            .chain(earlier.iter().flat_map(|one| &one.uses));
        let known: u64 = uses.clone().map(|one| one.calls.max(1)).sum();
        let cost: Cost = uses.map(|one| self.of(system, one)).sum();
        let usage = arm.billed();
        // A run from before calls were kept with their models has tokens and no calls.
        match known == 0 && (usage.tokens() > 0 || usage.unknown > 0) {
            true => Cost::UNKNOWN,
            false => cost,
        }
    }

    /// What calls that belong to no row cost.
    pub fn unattributed_cost(&self, system: &str, arm: &ArmWire) -> Cost {
        self.sum(system, &arm.unattributed.uses)
    }

    /// What these calls of a system cost.
    pub fn sum(&self, system: &str, uses: &[ModelUse]) -> Cost {
        uses.iter().map(|one| self.of(system, one)).sum()
    }

    fn of(&self, system: &str, used: &ModelUse) -> Cost {
        if used.usage == WireUsage::default() {
            // A call that was refused; one that may be billed says that it is not known.
            return Cost::NOTHING;
        }
        let Some(model) = used.model.as_deref() else {
            return Cost::UNKNOWN;
        };
        if used.at.is_some() || self.unnamed.contains(system) {
            return self.book_of(system).cost(used);
        }
        // A million rows have a handful of names.
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = known.get(model) {
            return entry
                .as_ref()
                .map_or(Cost::UNKNOWN, |entry| entry.cost(used));
        }
        drop(known);
        let found = self.book.find(model, None);
        let found = found.map(|(_, entry)| Arc::new(entry.clone()));
        let cost = found
            .as_ref()
            .map_or(Cost::UNKNOWN, |entry| entry.cost(used));
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(model.to_owned(), found);
        cost
    }

    fn book_of(&self, system: &str) -> &PriceBook {
        match self.unnamed.contains(system) {
            true => &self.own,
            false => &self.book,
        }
    }

    /// The prices of the models that calls of systems name, by model.
    pub fn used<'a>(&self, calls: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<UsedPrice> {
        let mut found = BTreeMap::new();
        for (system, model) in calls {
            if found.contains_key(model) {
                continue;
            }
            if let Some((file, entry)) = self.book_of(system).find(model, None) {
                let used = UsedPrice {
                    model: model.to_owned(),
                    book: file.name.clone(),
                    entry: entry.clone(),
                };
                found.insert(model, used);
            }
        }
        found.into_values().collect()
    }
}

impl UsedPrice {
    /// A digest of everything that decides about amounts.
    pub fn digest(all: &[Self]) -> String {
        let texts: BTreeSet<String> = all.iter().map(|one| one.entry.canonical()).collect();
        let texts: Vec<String> = texts.into_iter().collect();
        digest::hex(texts.join("\n").as_bytes())
    }
}

/// What asking cost when there is no answer: nothing where the one request was refused, else nobody
/// knows.
fn without_answer(row: &EvalRow, kind: FailureKind) -> Cost {
    let requests = row.call.as_deref().map_or(0, |call| call.attempts);
    let is_refused = matches!(
        kind,
        FailureKind::BadExample
            | FailureKind::Unauthorized
            | FailureKind::NotFound
            | FailureKind::BadRequest
            | FailureKind::RateLimited
            | FailureKind::ServerError
            | FailureKind::Connection
            | FailureKind::Unsupported
            | FailureKind::Store
    );
    match is_refused && requests <= 1 {
        true => Cost::NOTHING,
        false => Cost::UNKNOWN,
    }
}

#[cfg(test)]
mod tests;
