//! [`Money`]: an amount in millionths of a millionth, so that sums are exact.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// An amount of money in pico-units of the currency of its price book. A price of 1 per million
/// tokens is 1,000,000 of them for each token, so every price with up to six decimals is a whole
/// number and nothing is rounded before it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Money(u128);

/// Pico-units of one unit.
const UNIT: u128 = 1_000_000_000_000;

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// So many pico-units.
    pub fn from_pico(pico: u128) -> Self {
        Self(pico)
    }

    /// How many pico-units.
    pub fn pico(self) -> u128 {
        self.0
    }

    /// The amount as a number, for statistics and reports.
    pub fn to_f64(self) -> f64 {
        // Whole units first: an `f64` holds them exactly far beyond any bill.
        (self.0 / UNIT) as f64 + (self.0 % UNIT) as f64 / UNIT as f64
    }

    /// That price for each of so many.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(u128::from(count)))
    }

    /// Reads a decimal number such as `0.075` as so many units; `decimals` is how many digits may
    /// follow the point. `None` if it is no such number.
    pub(super) fn parse(text: &str, decimals: usize) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_number =
            is_digits(whole) && is_digits(part) && !(whole.is_empty() && part.is_empty());
        let part = part.trim_end_matches('0');
        // No price has more than twelve digits before the point.
        if !is_number || part.len() > decimals || whole.len() > 12 {
            return None;
        }
        let number = |text: &str| match text {
            "" => Some(0),
            digits => digits.parse::<u128>().ok(),
        };
        let scale = 10_u128.pow(u32::try_from(12 - part.len()).ok()?);
        Some(Self(number(whole)? * UNIT + number(part)? * scale))
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        // An endpoint may report any number.
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

/// All decimals, without zeros at the end.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = format!("{:012}", self.0 % UNIT);
        match part.trim_end_matches('0') {
            "" => write!(f, "{}", self.0 / UNIT),
            part => write!(f, "{}.{part}", self.0 / UNIT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_and_written_exactly() {
        for (text, expected) in [
            ("3.00", Some("3")),
            ("0.075", Some("0.075")),
            (".5", Some("0.5")),
            ("7.", Some("7")),
            ("0", Some("0")),
            ("0.000001", Some("0.000001")),
            ("0.0000010", Some("0.000001")),
            ("0.0000001", None),
            ("", None),
            (".", None),
            ("-1", None),
            ("1e3", None),
            ("1,5", None),
            ("9999999999999", None),
        ] {
            let read = Money::parse(text, 6).map(|money| money.to_string());
            assert_eq!(read.as_deref(), expected, "{text:?}");
        }
        assert_eq!(
            Money::from_pico(u128::MAX) + Money::from_pico(1),
            Money::from_pico(u128::MAX)
        );
        assert_eq!(Money::from_pico(13_200_000).to_f64(), 0.000_013_2);
    }
}
