//! Two systems on the same examples: differences, and how sure one can be of them.

mod differences;
mod discordance;
mod holm;
mod scores;

pub use differences::PairedDifferences;
pub use discordance::{Discordance, McNemarTest};
pub use holm::holm;
pub use scores::PairedScores;
