//! Gates: rules that say when a run is not good enough, such as `f1 < baseline - 0.02`.
//!
//! Texts into rules ([`GateRule`], [`GatePolicy`]), and rules with figures into outcomes. Where
//! figures come from, and what a failed gate leads to, is for others to say ([`GateFigures`]).
//!
//! ```
//! use context_bench_scoring::gate::GateRule;
//!
//! let rule = GateRule::parse("upper(f1 - baseline) < -0.02 on hotpotqa")?;
//! assert_eq!(rule.benchmarks(), ["hotpotqa"]);
//!
//! let error = GateRule::parse("f1 < baseline - 2%").unwrap_err();
//! assert_eq!(error.position.column, 17);
//! # Ok::<(), context_bench_scoring::gate::GateError>(())
//! ```

mod error;
mod expression;
mod figures;
mod outcome;
mod parser;
mod policy;
mod rule;
mod token;

pub use error::{GateError, GateProblem};
pub use figures::{FigureOf, GateFigure, GateFigures};
pub use outcome::{GateOutcome, GateState};
pub use policy::GatePolicy;
pub use rule::GateRule;
