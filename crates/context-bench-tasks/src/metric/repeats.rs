//! pass@k of tasks: several responses to one document, and the chance that one of `k` is right.

use context_bench_scoring::stats::pass_at_k;
use serde_json::Value;

use crate::error::{Error, Result};

/// What becomes of the values of several tries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Reduction {
    /// pass@k for the usual values of `k`.
    #[default]
    Usual,
    /// pass@k for these.
    PassAt(Vec<usize>),
    /// The first try alone.
    First,
}

impl Reduction {
    /// Reads `reduction` (`pass@k`, `pass@5`, `take_first`) and `k` (a number or a list).
    pub fn parse(reduction: Option<&Value>, k: Option<&Value>) -> Result<Self> {
        let wrong = |value: &Value| {
            Error::new(format!(
                "`k` must be whole numbers from 1 on, found `{value}`"
            ))
            .with_hint("write `k: [1, 5]`")
        };
        let number = |value: &Value| {
            let k = value.as_u64().and_then(|k| usize::try_from(k).ok());
            k.filter(|k| *k > 0).ok_or_else(|| wrong(value))
        };
        let asked = match k {
            None | Some(Value::Null) => None,
            Some(Value::Array(ks)) => Some(ks.iter().map(number).collect::<Result<Vec<_>>>()?),
            Some(one) => Some(vec![number(one)?]),
        };
        let name = match reduction {
            None | Some(Value::Null) => "pass@k",
            Some(Value::String(name)) => name.as_str(),
            Some(Value::Object(map)) if map.get("k").is_some() && k.is_none() => {
                return Self::parse(map.get("type").or_else(|| map.get("name")), map.get("k"));
            }
            Some(other) => {
                return Err(Error::new(format!(
                    "`reduction` must be a name, found `{other}`"
                )));
            }
        };
        match (name, asked) {
            ("take_first", _) => Ok(Self::First),
            ("pass@k", None) => Ok(Self::Usual),
            ("pass@k", Some(ks)) => Ok(Self::PassAt(ks)),
            (name, _) => {
                let k = name.strip_prefix("pass@").and_then(|k| k.parse().ok());
                let k = k.filter(|k: &usize| *k > 0);
                k.map(|k| Self::PassAt(vec![k])).ok_or_else(|| {
                    Error::new(format!("unknown reduction `{name}`"))
                        .with_hint("there are `pass@k`, `pass@5` and the like, and `take_first`")
                })
            }
        }
    }

    /// pass@k of `n` tries of which `right` were right, by name of the score.
    pub(crate) fn scores(
        &self,
        metric: &str,
        n: usize,
        right: usize,
    ) -> Result<Vec<(String, f64)>> {
        let score = |k: usize| {
            let value = pass_at_k(n as u64, right as u64, k as u64).ok_or_else(|| {
                Error::new(format!("`pass@{k}` needs {k} answers, there are {n}"))
                    .with_hint("set `repeats` to at least `k`")
            })?;
            Ok((name(k, metric), value))
        };
        self.ks(n).into_iter().map(score).collect()
    }

    /// The values of `k` that are reported for `n` tries.
    pub(crate) fn ks(&self, n: usize) -> Vec<usize> {
        match self {
            Self::Usual | Self::First => default_ks(n),
            Self::PassAt(ks) => ks.clone(),
        }
    }
}

/// The name of a metric's pass@k in results.
pub fn name(k: usize, metric: &str) -> String {
    format!("pass@{k}({metric})")
}

/// The usual values of `k` for `n` tries.
pub fn default_ks(n: usize) -> Vec<usize> {
    let mut ks: Vec<usize> = [1, 3, 5, 10, 20, 50, 100]
        .into_iter()
        .filter(|k| *k <= n)
        .collect();
    // About three points per decade above a hundred.
    let mut step = 1;
    loop {
        let k = 100.0 * 10_f64.powf(f64::from(step) / 3.0);
        if k >= n as f64 {
            break;
        }
        ks.push(k.round() as usize);
        step += 1;
    }
    ks.push(n);
    ks.sort_unstable();
    ks.dedup();
    ks.retain(|k| *k > 0);
    ks
}
