//! The sign-flip permutation test: were the two systems exchangeable, every difference would
//! have come out with the other sign as often.

use super::Resampling;
use super::cells::{Population, Unit};

/// Up to so many units that are not zero, all of their 2ⁿ signs are tried.
const EXACT_UNITS: usize = 18;

/// How unlikely a mean difference as far from 0 as this one is when nothing but chance made it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignFlipTest {
    /// Two-sided. Of random flips (1 + as far) / (1 + flips), which is never 0 and keeps its level
    /// (Phipson & Smyth 2010).
    pub p_value: f64,
    /// Whether all signs were tried, not random ones.
    pub is_exact: bool,
    /// How many differences, or clusters of them, are not zero: the others say nothing.
    pub nonzero: usize,
}

/// Flips whole units.
pub(in crate::stats) fn sign_flip(units: &[Unit], resampling: &Resampling) -> SignFlipTest {
    let nonzero: Vec<Unit> = units
        .iter()
        .filter(|unit| unit.sum != 0.0)
        .copied()
        .collect();
    let observed = nonzero.iter().map(|unit| unit.sum).sum::<f64>().abs();
    // Equal sums that were added up in another order are equal.
    let total: f64 = nonzero.iter().map(|unit| unit.sum.abs()).sum();
    let is_as_far = |sum: f64| sum.abs() >= observed - 1e-12 * total;
    let n = nonzero.len();
    if n <= EXACT_UNITS {
        let flips = 1_u32 << n;
        let far = (0..flips).filter(|signs| {
            let each = nonzero
                .iter()
                .enumerate()
                .map(|(at, unit)| match signs >> at & 1 {
                    0 => unit.sum,
                    _ => -unit.sum,
                });
            is_as_far(each.sum())
        });
        return SignFlipTest {
            p_value: far.count() as f64 / f64::from(flips),
            is_exact: true,
            nonzero: n,
        };
    }
    // Only the size of a difference matters, not which sign it happens to have.
    let sizes: Vec<Unit> = nonzero
        .iter()
        .map(|unit| Unit {
            sum: unit.sum.abs(),
            size: 1.0,
        })
        .collect();
    let population = Population::of(&sizes);
    let far = resampling.each(|stream| is_as_far(population.flipped_sum(stream)));
    let flips = far.len();
    let far = far.into_iter().filter(|far| *far).count();
    SignFlipTest {
        p_value: (1 + far) as f64 / (1 + flips) as f64,
        is_exact: false,
        nonzero: n,
    }
}
