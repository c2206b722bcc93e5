//! [`Cost`]: what calls cost, as far as it is known.

use std::iter::Sum;
use std::ops::AddAssign;

use super::Money;

/// What calls cost: at least, and at most where that is known. Where both are the same it is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// What is known to have been spent.
    pub least: Money,
    /// The most that it can be; `None` when something has no price or does not say its tokens.
    pub most: Option<Money>,
    /// Whether a price book knows some of it.
    pub is_priced: bool,
}

impl Cost {
    /// Nothing was asked, or what was asked is not billed.
    pub const NOTHING: Self = Self {
        least: Money::ZERO,
        most: Some(Money::ZERO),
        is_priced: false,
    };
    /// Nothing is known.
    pub const UNKNOWN: Self = Self {
        least: Money::ZERO,
        most: None,
        is_priced: false,
    };

    /// The amount, if it is exact.
    pub fn exact(&self) -> Option<Money> {
        self.most.filter(|most| *most == self.least)
    }

    /// The same, with no end upwards.
    #[must_use]
    pub fn at_least(self) -> Self {
        Self { most: None, ..self }
    }

    /// The same, where it may as well be nothing.
    #[must_use]
    pub fn at_most(self) -> Self {
        Self {
            least: Money::ZERO,
            ..self
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.least += other.least;
        self.most = self.most.zip(other.most).map(|(a, b)| a + b);
        self.is_priced |= other.is_priced;
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::NOTHING, |mut sum, one| {
            sum += one;
            sum
        })
    }
}
