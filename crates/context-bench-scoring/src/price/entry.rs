//! [`PriceEntry`]: the prices of one model, and what calls of it cost.

use std::fmt::Write as _;

use super::cost::Cost;
use super::money::Money;
use super::window::{PriceWindow, UtcTime};
use crate::model::{ModelUse, WireUsage};

/// Prices of a token of each kind, and of a request. What is not given is `None`, never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenPrices {
    /// Input that no cache served or kept.
    pub input: Option<Money>,
    /// Output.
    pub output: Option<Money>,
    /// Input from a cache.
    pub cache_read: Option<Money>,
    /// Input that is written to a cache for minutes.
    pub cache_write_5m: Option<Money>,
    /// Input that is written to a cache for an hour.
    pub cache_write_1h: Option<Money>,
    /// Each request.
    pub per_request: Option<Money>,
}

impl TokenPrices {
    /// The members that are given here, then those of another.
    fn over(self, other: Self) -> Self {
        Self {
            input: self.input.or(other.input),
            output: self.output.or(other.output),
            cache_read: self.cache_read.or(other.cache_read),
            cache_write_5m: self.cache_write_5m.or(other.cache_write_5m),
            cache_write_1h: self.cache_write_1h.or(other.cache_write_1h),
            per_request: self.per_request.or(other.per_request),
        }
    }

    /// With the price of input for what has no price of its own.
    fn cache_as_input(self) -> Self {
        Self {
            cache_read: self.cache_read.or(self.input),
            cache_write_5m: self.cache_write_5m.or(self.input),
            cache_write_1h: self.cache_write_1h.or(self.input),
            ..self
        }
    }

    /// What these tokens cost; `None` when one of them has no price.
    fn of(&self, usage: &WireUsage, calls: u64) -> Option<Money> {
        let parts = [
            (usage.uncached, self.input),
            (usage.cache_read, self.cache_read),
            (usage.cache_write_short, self.cache_write_5m),
            (usage.cache_write_long, self.cache_write_1h),
            (usage.output, self.output),
        ];
        let mut sum = self.per_request.unwrap_or_default().times(calls);
        for (count, price) in parts {
            sum += match count {
                0 => Money::ZERO,
                _ => price?.times(count),
            };
        }
        Some(sum)
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Other prices for long requests, or for a service of the provider. They hold for the whole
/// request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriceTier {
    /// Input tokens from which on it holds; 0 for every request.
    pub(super) above: u64,
    /// Whether it holds for exactly so many.
    pub(super) is_inclusive: bool,
    pub(super) service: Option<String>,
    pub(super) prices: TokenPrices,
}

impl PriceTier {
    fn holds(&self, input: u64) -> bool {
        match self.is_inclusive || self.above == 0 {
            true => input >= self.above,
            false => input > self.above,
        }
    }
}

/// The prices of one model from a day on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriceEntry {
    /// Whose model it is.
    pub provider: String,
    /// Its name.
    pub id: String,
    /// Other names of it.
    pub aliases: Vec<String>,
    /// Whether a name with a date behind it means the same prices.
    pub is_dated: bool,
    /// The day from which they hold, as `2025-09-29`.
    pub valid_from: Option<String>,
    /// Where they are from.
    pub source: Option<String>,
    /// Whether nothing is billed.
    pub is_free: bool,
    pub(super) caches_as_input: bool,
    pub(super) prices: TokenPrices,
    pub(super) tiers: Vec<PriceTier>,
    pub(super) windows: Vec<PriceWindow>,
}

impl PriceEntry {
    /// What these calls cost.
    pub fn cost(&self, used: &ModelUse) -> Cost {
        if self.is_free {
            return Cost {
                is_priced: true,
                ..Cost::NOTHING
            };
        }
        let usage = &used.usage;
        let calls = used.calls.max(1);
        let Some(prices) = self.possible(used) else {
            return Cost::UNKNOWN;
        };
        let costs: Option<Vec<Money>> = prices.iter().map(|one| one.of(usage, calls)).collect();
        let Some(costs) = costs else {
            return Cost::UNKNOWN;
        };
        let least = costs.iter().min().copied().unwrap_or_default();
        let is_whole = usage.unknown == 0 && usage.inconsistent == 0;
        Cost {
            least,
            most: costs.into_iter().max().filter(|_| is_whole),
            // Of calls that do not say their tokens nothing is known.
            is_priced: is_whole || least > Money::ZERO,
        }
    }

    /// All prices that may hold for these calls: several where their time is not known, or where
    /// calls of different lengths are summed up. `None` if a service has no prices.
    fn possible(&self, used: &ModelUse) -> Option<Vec<TokenPrices>> {
        let service = used.service.as_deref();
        let longest = used.longest_input();
        let own = |tier: &&PriceTier| tier.service.as_deref() == service && tier.holds(longest);
        let mut tiers: Vec<&PriceTier> = self.tiers.iter().filter(own).collect();
        tiers.sort_by_key(|tier| tier.above);
        let mut found: Vec<TokenPrices> = match service {
            None => vec![self.prices],
            Some(_) => Vec::new(),
        };
        found.extend(tiers.iter().map(|tier| tier.prices.over(self.prices)));
        if used.calls <= 1 {
            // All of one request has the prices of the highest tier.
            found.drain(..found.len().saturating_sub(1));
        }
        if found.is_empty() {
            return None;
        }
        if !self.windows.is_empty() {
            found = found
                .into_iter()
                .flat_map(|usual| self.at_times(usual, used.at))
                .collect();
        }
        Some(match self.caches_as_input {
            true => found.into_iter().map(TokenPrices::cache_as_input).collect(),
            false => found,
        })
    }

    /// Prices at a time, or at all times.
    fn at_times(&self, usual: TokenPrices, at: Option<u64>) -> Vec<TokenPrices> {
        let Some(at) = at.map(UtcTime::of_unix) else {
            let windows = self.windows.iter().map(|one| one.prices.over(usual));
            return std::iter::once(usual).chain(windows).collect();
        };
        let window = self.windows.iter().find(|one| one.holds(at));
        vec![window.map_or(usual, |one| one.prices.over(usual))]
    }

    /// Everything that decides about amounts, for a digest.
    pub(super) fn canonical(&self) -> String {
        let mut text = format!(
            "{}\n{}\n{:?}\n{} {}\n",
            self.provider, self.id, self.valid_from, self.is_free, self.caches_as_input
        );
        let mut put = |what: &str, prices: &TokenPrices| {
            let members = [
                prices.input,
                prices.output,
                prices.cache_read,
                prices.cache_write_5m,
                prices.cache_write_1h,
                prices.per_request,
            ];
            let members = members.map(|one| one.map_or("-".to_owned(), |one| one.to_string()));
            // A `String` takes everything.
            let _ = writeln!(text, "{what} {}", members.join(" "));
        };
        put("usual", &self.prices);
        for tier in &self.tiers {
            let what = format!("{} {} {:?}", tier.above, tier.is_inclusive, tier.service);
            put(&what, &tier.prices);
        }
        for window in &self.windows {
            let what = format!("{:?} {:?}", window.minutes, window.weekdays);
            put(&what, &window.prices);
        }
        text
    }
}
