//! How good a memory is: what it recalls against marked evidence, and what is answered from it.

mod answer;
mod by_kind;
mod ranking;

pub use self::answer::official_f1;
pub use self::by_kind::{ByKind, KindFigures};
pub use self::ranking::{Retrieval, ndcg_at, recall_at, reciprocal_rank};
