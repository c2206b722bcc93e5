//! The setting in which expressions get values: variables, the reading of
//! percent and degree signs, and the work that may still be spent.

use std::cell::Cell;

use super::rational::Rational;

/// Work for one comparison. A step is about the cost of one small operation;
/// this much takes well below a tenth of a second.
const FUEL: u64 = 400_000;

/// What evaluation may use. Once it is spent, nothing has a value any more and
/// answers count as different.
pub(super) struct Fuel(Cell<u64>);

impl Fuel {
    pub(super) fn new() -> Self {
        Self(Cell::new(FUEL))
    }

    /// Spends some; `None` when there is not enough left.
    pub(super) fn spend(&self, steps: u64) -> Option<()> {
        let left = self.0.get().checked_sub(steps);
        self.0.set(left.unwrap_or(0));
        left.map(|_| ())
    }

    /// The cost of arithmetic on numbers of that size; it grows with the square.
    pub(super) fn spend_on(&self, value: &Rational) -> Option<()> {
        let words = value.bits() / 64;
        self.spend(1 + words * words / 8)
    }
}

/// How signs are read that are both a unit and a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Signs {
    /// `50%` is one half, not 50.
    pub(super) percent_divides: bool,
    /// `30°` is π/6, not 30. Inside functions it always is.
    pub(super) degrees_turn: bool,
}

/// A setting: a point for the variables, and how to read signs.
pub(super) struct Setting<'a> {
    pub(super) fuel: &'a Fuel,
    pub(super) signs: Signs,
    /// Whether variables that differ in case only are the same.
    pub(super) fold: bool,
    /// The number of the point; each variable has its own value at each point.
    pub(super) point: u64,
}

impl Setting<'_> {
    /// An integer for exact evaluation, of both signs and at most 12 bits.
    pub(super) fn exact_variable(&self, name: &str) -> Rational {
        let random = self.random(name);
        let size = i64::try_from(random >> 52).unwrap_or(0) + 2;
        Rational::integer(if self.point % 2 == 1 { -size } else { size })
    }

    /// A real number. The range changes from point to point, so that domains
    /// such as `x > 2` or `|x| < 1` are met by some of them.
    pub(super) fn real_variable(&self, name: &str) -> f64 {
        let random = self.random(name);
        #[expect(clippy::cast_precision_loss, reason = "a random fraction")]
        let unit = (random >> 12) as f64 / (1_u64 << 52) as f64;
        let (low, high) = match self.point % 6 {
            0 => (0.5, 2.0),
            1 => (2.0, 9.0),
            2 => (-2.0, -0.3),
            3 => (0.02, 0.98),
            4 => (9.0, 60.0),
            _ => (-40.0, -2.0),
        };
        low + unit * (high - low)
    }

    /// The same bits for the same name and point, in every run.
    fn random(&self, name: &str) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ self.point.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut mix = |c: char| {
            hash = (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3);
        };
        if self.fold {
            name.chars().flat_map(char::to_lowercase).for_each(&mut mix);
        } else {
            name.chars().for_each(&mut mix);
        }
        // The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ (hash >> 31)
    }
}
