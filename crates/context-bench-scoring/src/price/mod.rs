//! Price books: what tokens cost, in exact amounts of money.
//!
//! Prices are data (`docs/reference/prices.md`): a [`PriceBook`] is read from files, finds the entry
//! of a model by its name and gives the [`Cost`] of calls. A model that is not in it has no price,
//! which is not a price of zero. Nothing here reads files or knows the time.

mod book;
mod cost;
mod entry;
mod error;
mod matching;
mod money;
mod read;
mod row_prices;
mod window;
#[cfg(test)]
mod worked_examples;

pub use book::{BookFile, PriceBook};
pub use cost::Cost;
pub use entry::{PriceEntry, PriceTier, TokenPrices};
pub use error::PriceError;
pub use money::Money;
pub use row_prices::{RowPrices, UsedPrice};
pub use window::{PriceWindow, UtcTime};
