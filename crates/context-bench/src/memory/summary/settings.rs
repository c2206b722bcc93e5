//! `SummarySettings`: how a rolling summary is kept, also written as `summary:turns=4`.

use std::fmt;
use std::str::FromStr;

use context_bench_error::suggest;
use serde::Serialize;

use crate::error::Hint;

/// The name of the memory.
const NAME: &str = "summary";

/// How a rolling summary is kept and used.
///
/// ```
/// use context_bench::memory::SummarySettings;
///
/// let settings: SummarySettings = "summary:summary_tokens=300".parse()?;
/// assert_eq!(settings.summary_tokens, 300);
/// assert_eq!(settings.to_string(), "summary:summary_tokens=300");
/// # Ok::<(), context_bench::memory::SummaryError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SummarySettings {
    /// The most tokens of the summary; 600 unless set.
    pub summary_tokens: u64,
    /// The model is asked after every session, and within one after so many tokens of
    /// turns; 2,000 unless set.
    pub chunk_tokens: u64,
    /// How many of the last turns stand beside the summary; 6 unless set.
    pub turns: u64,
    /// The most tokens that answers rest on; no bound without one.
    pub budget_tokens: Option<u64>,
}

impl Default for SummarySettings {
    fn default() -> Self {
        Self {
            summary_tokens: 600,
            chunk_tokens: 2000,
            turns: 6,
            budget_tokens: None,
        }
    }
}

impl SummarySettings {
    /// What parameters are called.
    pub const PARAMETERS: [&str; 4] = ["summary_tokens", "chunk_tokens", "turns", "budget_tokens"];

    fn set(&mut self, key: &str, value: &str) -> Result<(), SummaryError> {
        let least = u64::from(key != "turns");
        let count: Option<u64> = value.parse().ok().filter(|count| *count >= least);
        let count = count.ok_or_else(|| SummaryError::BadValue {
            key: key.to_owned(),
            value: value.to_owned(),
            least,
        })?;
        match key {
            "summary_tokens" => self.summary_tokens = count,
            "chunk_tokens" => self.chunk_tokens = count,
            "turns" => self.turns = count,
            _ => self.budget_tokens = Some(count),
        }
        Ok(())
    }

    fn get(&self, key: &str) -> Option<u64> {
        match key {
            "summary_tokens" => Some(self.summary_tokens),
            "chunk_tokens" => Some(self.chunk_tokens),
            "turns" => Some(self.turns),
            _ => self.budget_tokens,
        }
    }
}

/// `summary`, or `summary:key=value,key=value`.
impl FromStr for SummarySettings {
    type Err = SummaryError;

    fn from_str(text: &str) -> Result<Self, SummaryError> {
        let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
        if name.trim() != NAME {
            return Err(SummaryError::AnotherMemory {
                name: name.trim().to_owned(),
            });
        }
        let mut settings = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        let parts = parameters.split(',').map(str::trim);
        for part in parts.filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let (key, value) = (key.trim(), value.trim());
            if !Self::PARAMETERS.contains(&key) {
                let key = key.to_owned();
                return Err(SummaryError::UnknownParameter { key });
            }
            if seen.contains(&key) {
                let key = key.to_owned();
                return Err(SummaryError::Repeated { key });
            }
            seen.push(key);
            settings.set(key, value)?;
        }
        Ok(settings)
    }
}

/// The name and the parameters that are not the defaults; reads back as the same settings.
impl fmt::Display for SummarySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAME)?;
        let default = Self::default();
        let mut separator = ':';
        for key in Self::PARAMETERS {
            let value = self.get(key).filter(|_| self.get(key) != default.get(key));
            let Some(value) = value else { continue };
            write!(f, "{separator}{key}={value}")?;
            separator = ',';
        }
        Ok(())
    }
}

/// Why there can be no summary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// Nobody can write it.
    #[error("`summary` needs a model")]
    NoModel,
    /// Another memory was asked for.
    #[error("`{name}` is not `summary`")]
    AnotherMemory {
        /// Its name.
        name: String,
    },
    /// There is no such parameter.
    #[error("`summary` has no parameter `{key}`")]
    UnknownParameter {
        /// The parameter as typed.
        key: String,
    },
    /// A parameter is given twice.
    #[error("the parameter `{key}` is given twice")]
    Repeated {
        /// The parameter.
        key: String,
    },
    /// A parameter has a value that it cannot have.
    #[error("`{key}` cannot be `{value}`: it is a whole number from {least}")]
    BadValue {
        /// The parameter.
        key: String,
        /// The value as typed.
        value: String,
        /// The least that it may be.
        least: u64,
    },
}

impl Hint for SummaryError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoModel => Some("give its endpoint with `--relay URL`".into()),
            Self::UnknownParameter { key } => {
                let known = SummarySettings::PARAMETERS;
                let near = suggest::did_you_mean(key, known);
                let all = || format!("it takes {}", suggest::quoted_list(&known, "and"));
                Some(near.unwrap_or_else(all))
            }
            Self::AnotherMemory { .. } | Self::Repeated { .. } | Self::BadValue { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_read_back_as_written() {
        for (text, shown) in [
            ("summary", "summary"),
            ("summary:turns=6", "summary"),
            (" summary : turns = 0 ,", "summary:turns=0"),
            (
                "summary:budget_tokens=90,chunk_tokens=5",
                "summary:chunk_tokens=5,budget_tokens=90",
            ),
        ] {
            let settings: SummarySettings = text.parse().expect(text);
            assert_eq!(settings.to_string(), shown);
            assert_eq!(shown.parse(), Ok(settings));
        }
    }

    #[test]
    fn mistakes_are_errors_with_hints() {
        for (text, message, hint) in [
            ("bm25", "`bm25` is not `summary`", None),
            (
                "summary:turn=3",
                "`summary` has no parameter `turn`",
                Some("did you mean `turns`?"),
            ),
            (
                "summary:turns=3,turns=4",
                "the parameter `turns` is given twice",
                None,
            ),
            (
                "summary:summary_tokens=0",
                "`summary_tokens` cannot be `0`: it is a whole number from 1",
                None,
            ),
            (
                "summary:turns",
                "`turns` cannot be ``: it is a whole number from 0",
                None,
            ),
        ] {
            let error = text.parse::<SummarySettings>().expect_err(text);
            assert_eq!(error.to_string(), message);
            assert_eq!(error.hint().as_deref(), hint, "{text}");
        }
        let hint = SummaryError::NoModel.hint().expect("a hint");
        assert!(hint.contains("--relay URL"));
    }
}
