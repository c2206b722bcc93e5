//! Pure functions over text, shared by evaluators, systems and datasets.
//!
//! No I/O, no async: given bytes, they give the same answer. Where a rule must
//! equal what the Python tools of our users compute, it says so.

pub mod bm25;
pub(crate) mod chinese;
pub mod choice;
pub(crate) mod lcs;
pub(crate) mod lexicon;
pub mod nli;
pub mod normalize;
pub mod overlap;
pub mod porter;
pub mod reasoning;
pub mod rouge;
pub mod sentence;
pub mod spreadsheet;
pub mod stem;
pub mod stringify;
pub mod terms;
pub mod thousands;
pub mod verdict;
pub mod visible;
pub mod words;
