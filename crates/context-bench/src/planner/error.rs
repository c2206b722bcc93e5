//! Why a run cannot be planned, and what is noticed while it is.

use crate::error::Hint;

/// Why what was asked cannot be done. Nothing has been sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct PlanError {
    what: String,
    hint: Option<String>,
    notices: Vec<Notice>,
}

impl PlanError {
    /// An error in these words.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: None,
            notices: Vec::new(),
        }
    }

    /// What the user can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What was noticed before it came to this.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    pub(super) fn with_notices(mut self, notices: Vec<Notice>) -> Self {
        self.notices = notices;
        self
    }

    /// An error of another part.
    pub fn of(error: &(impl std::fmt::Display + Hint)) -> Self {
        Self {
            what: error.to_string(),
            hint: error.hint(),
            notices: Vec::new(),
        }
    }
}

impl Hint for PlanError {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

macro_rules! from_errors {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for PlanError {
            fn from(error: $error) -> Self {
                Self::of(&error)
            }
        }
    )*};
}

from_errors!(
    crate::chat::ClientError,
    crate::chat::EndpointError,
    crate::dataset::DatasetError,
    crate::plan::SpecError,
    crate::proxy::ProxyError,
    crate::registry::BuildError,
    crate::registry::ParamError,
    crate::registry::UnknownName,
    crate::bucket::BucketError,
    crate::shard::ShardError,
    crate::store::StoreError,
    crate::system::CommandError,
    crate::tokens::UnknownTokenizer,
    context_bench_tasks::Error,
);

/// Something that users should know although the run goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What was noticed.
    pub what: String,
    /// What can be done about it.
    pub hint: Option<String>,
}

impl Notice {
    /// A notice in these words.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: None,
        }
    }

    /// What the user can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
