//! Exact fractions of bounded size.
//!
//! Answers are written by models, so any number may be absurd. Every operation
//! that would exceed `MAX_BITS` gives `None`; callers then fall back to floats
//! or to the text. Nothing here allocates more than a few kilobytes.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Numerators and denominators are at most this long: about 4900 decimal digits.
const MAX_BITS: u64 = 1 << 14;

/// A fraction in lowest terms with a positive denominator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rational {
    numerator: BigInt,
    denominator: BigInt,
}

impl Rational {
    pub(super) fn integer(value: i64) -> Self {
        Self {
            numerator: value.into(),
            denominator: BigInt::one(),
        }
    }

    /// A number as written: digits before and after the point, the digits of
    /// a period that repeats for ever, and a power of ten. ASCII digits only.
    pub(super) fn from_digits(
        whole: &str,
        fraction: &str,
        period: &str,
        exponent: i32,
    ) -> Option<Self> {
        const MAX_DIGITS: usize = 4800;
        let n_digits = whole.len() + fraction.len() + period.len();
        if n_digits + exponent.unsigned_abs() as usize > MAX_DIGITS {
            return None;
        }
        let parse = |digits: &str| -> Option<BigInt> {
            if digits.len() <= 18 {
                return Some(BigInt::from(
                    digits.bytes().try_fold(0_i64, |sum, digit| {
                        Some(sum * 10 + i64::from(char::from(digit).to_digit(10)?))
                    })?,
                ));
            }
            BigInt::parse_bytes(digits.as_bytes(), 10)
        };
        let ten = |power: usize| u32::try_from(power).ok().map(|p| BigInt::from(10).pow(p));
        let mut numerator = if fraction.is_empty() {
            parse(whole)?
        } else {
            parse(&[whole, fraction].concat())?
        };
        let mut denominator = ten(fraction.len())?;
        if !period.is_empty() {
            // a.b(c) = (abc - ab) / (10^|b| * (10^|c| - 1))
            let all = parse(&[whole, fraction, period].concat())?;
            numerator = all - numerator;
            denominator *= ten(period.len())? - 1;
        }
        let shift = ten(exponent.unsigned_abs() as usize)?;
        if exponent >= 0 {
            numerator *= shift;
        } else {
            denominator *= shift;
        }
        Self::new(numerator, denominator)
    }

    fn new(numerator: BigInt, denominator: BigInt) -> Option<Self> {
        if denominator.is_zero() || numerator.bits().max(denominator.bits()) > 2 * MAX_BITS {
            return None;
        }
        if denominator.is_one() {
            let fits = numerator.bits() <= MAX_BITS;
            return fits.then_some(Self {
                numerator,
                denominator,
            });
        }
        let common = numerator.gcd(&denominator);
        let common = if denominator.is_negative() {
            -common
        } else {
            common
        };
        let reduced = Self {
            numerator: numerator / &common,
            denominator: denominator / common,
        };
        (reduced.bits() <= MAX_BITS).then_some(reduced)
    }

    /// The length of the longer of numerator and denominator.
    pub(super) fn bits(&self) -> u64 {
        self.numerator.bits().max(self.denominator.bits())
    }

    pub(super) fn is_zero(&self) -> bool {
        self.numerator.is_zero()
    }

    pub(super) fn is_negative(&self) -> bool {
        self.numerator.is_negative()
    }

    /// The value when it is an integer of 64 bits.
    pub(super) fn to_i64(&self) -> Option<i64> {
        if self.denominator.is_one() {
            self.numerator.to_i64()
        } else {
            None
        }
    }

    /// Numerator and denominator when both fit 32 bits.
    pub(super) fn to_ratio(&self) -> Option<(i32, u32)> {
        Some((self.numerator.to_i32()?, self.denominator.to_u32()?))
    }

    /// The nearest float, up to rounding; infinite beyond the range of floats.
    pub(super) fn to_f64(&self) -> f64 {
        let plain = |value: &BigInt| value.to_f64().unwrap_or(f64::NAN);
        if self.bits() <= 1000 {
            return plain(&self.numerator) / plain(&self.denominator);
        }
        // Scale both to 1000 bits or less; the exponents are put back afterwards.
        let top = |value: &BigInt| {
            let excess = value.bits().saturating_sub(64);
            (plain(&(value >> excess)), excess)
        };
        let ((a, a_shift), (b, b_shift)) = (top(&self.numerator), top(&self.denominator));
        let shift = i64::try_from(a_shift).unwrap_or(0) - i64::try_from(b_shift).unwrap_or(0);
        match i32::try_from(shift) {
            Ok(shift) if shift.abs() < 900 => a / b * 2.0_f64.powi(shift),
            Ok(shift) if shift < 0 => 0.0,
            _ => a / b * f64::INFINITY,
        }
    }

    pub(super) fn add(&self, other: &Self) -> Option<Self> {
        Self::new(
            &self.numerator * &other.denominator + &other.numerator * &self.denominator,
            &self.denominator * &other.denominator,
        )
    }

    pub(super) fn negated(&self) -> Self {
        Self {
            numerator: -&self.numerator,
            denominator: self.denominator.clone(),
        }
    }

    pub(super) fn multiply(&self, other: &Self) -> Option<Self> {
        Self::new(
            &self.numerator * &other.numerator,
            &self.denominator * &other.denominator,
        )
    }

    /// `None` for zero.
    pub(super) fn inverse(&self) -> Option<Self> {
        Self::new(self.denominator.clone(), self.numerator.clone())
    }

    pub(super) fn absolute(&self) -> Self {
        Self {
            numerator: self.numerator.abs(),
            denominator: self.denominator.clone(),
        }
    }

    pub(super) fn floor(&self) -> Self {
        Self {
            numerator: self.numerator.div_floor(&self.denominator),
            denominator: BigInt::one(),
        }
    }

    /// A power; `None` for zero to a power that is not positive.
    pub(super) fn power(&self, exponent: i64) -> Option<Self> {
        if exponent == 0 {
            return (!self.is_zero()).then(|| Self::integer(1));
        }
        let size = exponent.unsigned_abs();
        let trivial = self.bits() <= 1;
        if !trivial && (self.bits() - 1).checked_mul(size)? > MAX_BITS {
            return None;
        }
        let size = if trivial {
            // 0, 1 and -1: only the parity matters.
            2 - u32::from(size % 2 == 1)
        } else {
            u32::try_from(size).ok()?
        };
        let power = Self {
            numerator: self.numerator.pow(size),
            denominator: self.denominator.pow(size),
        };
        if exponent < 0 {
            power.inverse()
        } else {
            Some(power)
        }
    }

    /// The real root of that index when it is rational.
    pub(super) fn root(&self, index: u32) -> Option<Self> {
        if index == 0 || index > 64 || (index.is_multiple_of(2) && self.is_negative()) {
            return None;
        }
        let exact = |value: &BigInt| {
            let root = value.nth_root(index);
            (root.pow(index) == *value).then_some(root)
        };
        Some(Self {
            numerator: exact(&self.numerator)?,
            denominator: exact(&self.denominator)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(a: i64, b: i64) -> Rational {
        Rational::new(a.into(), b.into()).expect("small")
    }

    #[test]
    fn numbers_as_written() {
        let read = |whole, fraction, period, exponent| {
            Rational::from_digits(whole, fraction, period, exponent)
        };
        assert_eq!(read("12", "50", "", 0), Some(ratio(25, 2)));
        assert_eq!(read("", "5", "", 0), Some(ratio(1, 2)));
        assert_eq!(read("0", "", "3", 0), Some(ratio(1, 3)));
        assert_eq!(read("0", "1", "6", 0), Some(ratio(1, 6)));
        assert_eq!(read("1", "2", "", 5), Some(ratio(120_000, 1)));
        assert_eq!(read("1", "", "", -2), Some(ratio(1, 100)));
        assert_eq!(read("1", "", "", 999_999), None);
    }

    #[test]
    fn powers_and_roots_are_exact_or_absent() {
        assert_eq!(ratio(2, 3).power(-3), Some(ratio(27, 8)));
        assert_eq!(ratio(0, 1).power(-1), None);
        assert_eq!(ratio(-1, 1).power(i64::MAX), Some(ratio(-1, 1)));
        assert_eq!(ratio(9, 1).power(387_420_489), None);
        assert_eq!(ratio(-8, 27).root(3), Some(ratio(-2, 3)));
        assert_eq!(ratio(2, 1).root(2), None);
        assert_eq!(ratio(-4, 1).root(2), None);
    }

    #[test]
    fn huge_fractions_become_floats() {
        let huge = ratio(10, 1).power(2000).expect("fits");
        assert_eq!(huge.to_f64(), f64::INFINITY);
        assert_eq!(huge.inverse().map(|tiny| tiny.to_f64()), Some(0.0));
        let close = huge.add(&ratio(1, 1)).expect("fits");
        let quotient = close.multiply(&huge.inverse().expect("nonzero"));
        let quotient = quotient.expect("fits").to_f64();
        assert!((quotient - 1.0).abs() < 1e-12);
    }
}
