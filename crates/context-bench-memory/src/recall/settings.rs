//! `MemorySettings`: a kind of memory with its parameters, also written as `bm25:top_k=5`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::bm25::Bm25;
use super::embedding::Embedding;
use super::hybrid::Hybrid;
use super::keyword::Keyword;
use super::naive::Naive;
use super::none::Nothing;
use super::oracle::Oracle;
use super::ranked::RankedMemory;
use super::ranker::Ranker;
use super::window::Window;
use super::{Memory, MemoryError, MemoryKind, SettingsError, Tools};

/// A kind of memory with its parameters.
///
/// ```
/// use context_bench_memory::{MemorySettings, Query, Tools, Turn};
///
/// let settings: MemorySettings = "bm25:top_k=1".parse()?;
/// let mut memory = settings.build(&Tools::default())?;
/// memory.ingest(&[
///     Turn::new("1", "user", "I adopted a dog called Rex."),
///     Turn::new("2", "user", "Work is fine."),
/// ])?;
/// let recalled = memory.recall(&Query::new("What is the name of the dog?"))?;
/// assert_eq!(recalled.text, "user: I adopted a dog called Rex.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemorySettings {
    /// The kind.
    pub kind: MemoryKind,
    /// The most turns that a ranking memory recalls.
    pub top_k: usize,
    /// How many turns a window holds.
    pub turns: usize,
    /// The most tokens that it recalls; no bound without one.
    pub budget_tokens: Option<u64>,
    /// How much the recency of a turn counts beside its nearness, from 0 to 1.
    pub recency_weight: f64,
    /// How much the turns beside a turn count for it, from 0 to 1.
    pub neighbor_weight: f64,
    /// The constant of reciprocal rank fusion: the larger, the less the first ranks stand out.
    pub rrf_k: u32,
}

impl MemorySettings {
    /// A kind with the defaults: the best 10 turns, a window of 20, no budget, no weight
    /// of recency, 60 in fusion (Cormack et al., 2009). Neighbours count 0.3 in `hybrid` and
    /// nothing elsewhere, so that `bm25` and `embedding` are what others mean by these names.
    pub fn new(kind: MemoryKind) -> Self {
        Self {
            kind,
            top_k: 10,
            turns: 20,
            budget_tokens: None,
            recency_weight: 0.0,
            neighbor_weight: match kind {
                MemoryKind::Hybrid => 0.3,
                _ => 0.0,
            },
            rrf_k: 60,
        }
    }

    /// A memory with these settings, empty.
    ///
    /// # Errors
    ///
    /// When the kind needs an embedder and there is none.
    pub fn build(&self, tools: &Tools) -> Result<Box<dyn Memory>, MemoryError> {
        let embedder = || {
            let embedder = tools.embedder.clone();
            embedder.ok_or(MemoryError::NoEmbedder { kind: self.kind })
        };
        let ranker: Box<dyn Ranker> = match self.kind {
            MemoryKind::Naive => Box::new(Naive),
            MemoryKind::Window => Box::new(Window { turns: self.turns }),
            MemoryKind::Bm25 => Box::new(Bm25::new(self.neighbor_weight)),
            MemoryKind::Keyword => Box::new(Keyword::default()),
            MemoryKind::Embedding => Box::new(Embedding::new(embedder()?, self)),
            MemoryKind::Hybrid => Box::new(Hybrid::new(
                Bm25::new(self.neighbor_weight),
                Embedding::new(embedder()?, self),
                self.rrf_k,
            )),
            MemoryKind::Oracle => Box::new(Oracle),
            MemoryKind::None => Box::new(Nothing),
        };
        Ok(Box::new(RankedMemory::new(self.clone(), ranker, tools)))
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), SettingsError> {
        let bad = |expected| SettingsError::BadValue {
            key: key.to_owned(),
            value: value.to_owned(),
            expected,
        };
        let count = || {
            let count = value.parse().ok().filter(|count| *count > 0);
            count.ok_or_else(|| bad("a whole number from 1"))
        };
        let share = || {
            let share = value.parse().ok().filter(|w| (0.0..=1.0).contains(w));
            share.ok_or_else(|| bad("a number from 0 to 1"))
        };
        match key {
            "top_k" => self.top_k = count()?,
            "turns" => self.turns = count()?,
            "budget_tokens" => {
                let budget = value.parse().ok().filter(|budget| *budget > 0);
                self.budget_tokens = Some(budget.ok_or_else(|| bad("a whole number from 1"))?);
            }
            "recency_weight" => self.recency_weight = share()?,
            "neighbor_weight" => self.neighbor_weight = share()?,
            "rrf_k" => self.rrf_k = value.parse().map_err(|_| bad("a whole number from 0"))?,
            _ => {
                return Err(SettingsError::UnknownParameter {
                    kind: self.kind,
                    key: key.to_owned(),
                });
            }
        }
        Ok(())
    }

    /// The value of a parameter as text; `None` for one that is not set.
    fn get(&self, key: &str) -> Option<String> {
        match key {
            "top_k" => Some(self.top_k.to_string()),
            "turns" => Some(self.turns.to_string()),
            "recency_weight" => Some(self.recency_weight.to_string()),
            "neighbor_weight" => Some(self.neighbor_weight.to_string()),
            "rrf_k" => Some(self.rrf_k.to_string()),
            _ => self.budget_tokens.map(|budget| budget.to_string()),
        }
    }
}

/// `name`, or `name:key=value,key=value`.
impl FromStr for MemorySettings {
    type Err = SettingsError;

    fn from_str(text: &str) -> Result<Self, SettingsError> {
        let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
        let mut kinds = MemoryKind::ALL.into_iter();
        let kind = kinds.find(|kind| kind.name() == name.trim());
        let kind = kind.ok_or_else(|| SettingsError::UnknownMemory {
            name: name.trim().to_owned(),
        })?;
        let mut settings = Self::new(kind);
        let mut seen: Vec<&str> = Vec::new();
        let parts = parameters.split(',').map(str::trim);
        for part in parts.filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let (key, value) = (key.trim(), value.trim());
            if !kind.parameters().contains(&key) {
                let key = key.to_owned();
                return Err(SettingsError::UnknownParameter { kind, key });
            }
            if seen.contains(&key) {
                let key = key.to_owned();
                return Err(SettingsError::Repeated { key });
            }
            seen.push(key);
            settings.set(key, value)?;
        }
        Ok(settings)
    }
}

/// The name and the parameters that are not the defaults; reads back as the same settings.
impl fmt::Display for MemorySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        let default = Self::new(self.kind);
        let mut separator = ':';
        for key in self.kind.parameters() {
            let Some(value) = self.get(key).filter(|_| self.get(key) != default.get(key)) else {
                continue;
            };
            write!(f, "{separator}{key}={value}")?;
            separator = ',';
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use context_bench_error::Hint as _;

    use super::*;

    #[test]
    fn settings_read_back_as_written() {
        for (text, shown) in [
            ("naive", "naive"),
            ("bm25:top_k=10", "bm25"),
            (" bm25 : top_k = 5 ,", "bm25:top_k=5"),
            (
                "window:budget_tokens=90,turns=3",
                "window:turns=3,budget_tokens=90",
            ),
            (
                "hybrid:rrf_k=1,recency_weight=0.25",
                "hybrid:recency_weight=0.25,rrf_k=1",
            ),
            ("none:", "none"),
        ] {
            let settings: MemorySettings = text.parse().unwrap();
            assert_eq!(settings.to_string(), shown);
            assert_eq!(shown.parse(), Ok(settings));
        }
    }

    #[test]
    fn errors_say_what_was_meant() {
        for (text, message, hint) in [
            (
                "bm52",
                "no memory is called `bm52`",
                Some("did you mean `bm25`?"),
            ),
            (
                "bm25:topk=3",
                "`bm25` has no parameter `topk`",
                Some("did you mean `top_k`?"),
            ),
            (
                "none:top_k=3",
                "`none` has no parameter `top_k`",
                Some("it takes no parameters"),
            ),
            (
                "bm25:top_k=0",
                "`top_k` cannot be `0`: it is a whole number from 1",
                None,
            ),
            (
                "embedding:recency_weight=1.5",
                "`recency_weight` cannot be `1.5`: it is a number from 0 to 1",
                None,
            ),
            (
                "embedding:recency_weight=nan",
                "`recency_weight` cannot be `nan`: it is a number from 0 to 1",
                None,
            ),
            (
                "bm25:top_k=1,top_k=2",
                "the parameter `top_k` is given twice",
                None,
            ),
        ] {
            let error = text.parse::<MemorySettings>().unwrap_err();
            assert_eq!(error.to_string(), message);
            assert_eq!(error.hint().as_deref(), hint, "{text}");
        }
    }

    #[test]
    fn vectors_need_an_embedder() {
        for kind in MemoryKind::ALL {
            let built = MemorySettings::new(kind).build(&Tools::default());
            assert_eq!(built.is_err(), kind.needs_embedder(), "{kind}");
        }
    }
}
