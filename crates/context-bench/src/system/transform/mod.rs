//! `Transform`: what a context layer does to the context.
//!
//! A transform is plain computing: text in, text out, no waiting and no I/O. It
//! sees the question but changes only the context; who answers is the business
//! of [`ContextLayer`](super::ContextLayer).

mod budget;
mod dedup;
mod extractive;
mod fit;
mod passthrough;
mod truncate;

pub(crate) use fit::{End, fit, without_middle};

pub use budget::{Budget, BudgetError};
pub use dedup::Dedup;
pub use extractive::Extractive;
pub use passthrough::Passthrough;
pub use truncate::{Keep, Truncate};

use crate::model::Identity;

/// Makes a (usually shorter) context out of a context.
pub trait Transform: Send + Sync {
    /// The name that reports show.
    fn name(&self) -> &str;

    /// Every setting that can change the new context; see
    /// [`System::identity`](crate::System::identity). `None` means that answers
    /// behind this transform are never reused.
    fn identity(&self) -> Option<Identity> {
        None
    }

    /// Whether the new context is always the old one.
    fn keeps_all(&self) -> bool {
        false
    }

    /// The new context. `question` is empty when the example has none; equal
    /// input gives equal output.
    fn transform(&self, context: &str, question: &str) -> String;
}
