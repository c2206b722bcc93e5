//! The defaults of runs that no other module has, in one place.

use serde_json::{Map, Value};

/// The model that systems and judges ask for when none is named.
pub use crate::chat::DEFAULT_MODEL;

/// What decides the order of shuffled options.
pub const OPTION_SEED: i64 = crate::dataset::catalog::OPTION_SEED.cast_signed();
/// Further attempts after a failed one.
pub(super) const MAX_RETRIES: u32 = 3;
/// Resamples for standard errors that are not analytic.
pub(super) const BOOTSTRAP_ITERS: usize = 100_000;

/// Settings of generation as lm-evaluation-harness writes them: `key=value,…`.
pub(super) fn written(settings: &Map<String, Value>) -> Option<String> {
    let pair = |(key, value): (&String, &Value)| match value {
        Value::String(text) => format!("{key}={text}"),
        other => format!("{key}={other}"),
    };
    let pairs: Vec<String> = settings.iter().map(pair).collect();
    (!pairs.is_empty()).then(|| pairs.join(","))
}
