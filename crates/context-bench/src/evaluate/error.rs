//! Why a run could not be done, or not to its end.

use context_bench_error::suggest;

use crate::dataset::DatasetError;
use crate::error::Hint;
use crate::result::EvalResult;

/// A metric reads a score that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no evaluator of this run yields the score `{field}` that `{metric}` reads")]
#[non_exhaustive]
pub struct UnknownScore {
    /// The metric.
    pub metric: String,
    /// The score it reads.
    pub field: String,
    /// The scores that exist.
    pub known: Vec<String>,
}

/// Why a run could not be done, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two systems share a name, so their rows could not be told apart.
    #[error("two systems are called `{name}`")]
    DuplicateSystem {
        /// The name.
        name: String,
    },
    /// A system has an empty name, so reports could not show it.
    #[error("a system has no name")]
    UnnamedSystem,
    /// A metric reads a score that no evaluator of the run yields.
    #[error("{unknown}")]
    UnknownScoreField {
        /// Which one.
        unknown: UnknownScore,
        /// What was found, when it showed only after the run.
        partial: Option<Box<EvalResult>>,
    },
    /// The dataset broke off; the rows so far are kept.
    #[error("{source}")]
    Dataset {
        /// What went wrong.
        source: DatasetError,
        /// What was found until then.
        partial: Box<EvalResult>,
    },
    /// Threads for the run could not be started.
    #[error("cannot start the run: {0}")]
    Start(#[source] std::io::Error),
}

impl Error {
    /// Takes the result out of an error that has one: rows that were paid for.
    pub fn take_partial(&mut self) -> Option<EvalResult> {
        match self {
            Self::Dataset { partial, .. } => Some(std::mem::take(&mut **partial)),
            Self::UnknownScoreField { partial, .. } => partial.take().map(|partial| *partial),
            Self::DuplicateSystem { .. } | Self::UnnamedSystem | Self::Start(_) => None,
        }
    }
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        match self {
            Self::DuplicateSystem { .. } | Self::UnnamedSystem => Some(
                "give each system its own name: `--name NAME` for a proxy or command, \
                 `--system LABEL=NAME` for a built-in system"
                    .into(),
            ),
            Self::UnknownScoreField {
                unknown: UnknownScore { field, known, .. },
                ..
            } => {
                let all = format!("scores in this run: {}", suggest::quoted_list(known, "and"));
                let near = suggest::did_you_mean(field, known.iter().map(String::as_str));
                Some(match near {
                    _ if known.is_empty() => "add an evaluator".to_owned(),
                    Some(near) => format!("{near} {all}"),
                    None => all,
                })
            }
            Self::Dataset { source, .. } => source.hint(),
            Self::Start(_) => None,
        }
    }
}
