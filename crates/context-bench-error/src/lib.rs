//! What the errors of every context-bench crate share.
//!
//! Each module that meets the outside world has its own error type beside its code.
//! An error says what happened and where ([`Place`]); what to do about it is kept
//! apart, as its [`Hint`]. [`suggest`] finds the names that a user may have meant.
//!
//! ```
//! use context_bench_error::{Hint, Place, suggest};
//!
//! #[derive(Debug)]
//! struct UnknownKey {
//!     key: String,
//!     place: Place,
//! }
//!
//! impl Hint for UnknownKey {
//!     fn hint(&self) -> Option<String> {
//!         suggest::did_you_mean(&self.key, ["metric", "repeats"])
//!     }
//! }
//!
//! let error = UnknownKey {
//!     key: "metrik".into(),
//!     place: Place::file("task.yaml").line(3).column(1),
//! };
//! assert_eq!(error.place.to_string(), "task.yaml:3:1");
//! assert_eq!(error.hint().as_deref(), Some("did you mean `metric`?"));
//! ```

mod hint;
mod place;
pub mod suggest;

pub use hint::Hint;
pub use place::{Place, Position};
