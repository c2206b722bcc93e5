//! Equality of values.
//!
//! Exact arithmetic decides where it can: numbers as fractions, polynomials and
//! rational functions at random points (a wrong verdict needs a difference that
//! vanishes at all of them; Schwartz 1980, Zippel 1979). Radicals, constants and
//! functions are compared as floats, again at several points. The points are the
//! same in every run.

use super::approx::Approx;
use super::expr::Expr;
use super::rational::Rational;
use super::value::{Fuel, Setting, Signs};

/// Relative tolerance when a side was written as a decimal and may be rounded.
const DECIMAL: f64 = 1e-6;
/// Relative tolerance when both sides are exact and only floats are inexact.
const FLOAT: f64 = 1e-9;
/// How many points must agree.
const N_AGREEING: usize = 4;
/// How many points are tried.
const N_POINTS: u64 = 24;

/// Whether two values are the same. Symmetric.
pub(super) fn equal(a: &Expr, b: &Expr, fuel: &Fuel) -> bool {
    if fuel.spend(8).is_none() {
        return false;
    }
    match (a, b) {
        (
            Expr::Number { value: x, decimal },
            Expr::Number {
                value: y,
                decimal: other,
            },
        ) => return x == y || ((*decimal || *other) && close(x, y)),
        (Expr::Symbol(x), Expr::Symbol(y)) => {
            return x == y || x.to_lowercase() == y.to_lowercase();
        }
        (Expr::Based { value: x, .. }, Expr::Based { value: y, .. }) => return x == y,
        // `10110_2` answers a question for base two; so does `10110`, but not 22.
        (Expr::Based { written, base, .. }, other) | (other, Expr::Based { written, base, .. })
            if *base != 10 =>
        {
            let value = written.clone();
            let decimal = false;
            return equal(&Expr::Number { value, decimal }, other, fuel);
        }
        _ => {}
    }
    if let (Some(x), Some(y)) = (a.infinite(), b.infinite()) {
        return x == y;
    }
    let pair = Pair::new(a, b, fuel);
    readings(a, b).into_iter().any(|signs| pair.equal(signs))
}

/// Whether `a = k b` at every point for one number `k` that is not zero, and
/// positive when asked: both say the same when compared with zero.
pub(super) fn proportional(a: &Expr, b: &Expr, positive: bool, fuel: &Fuel) -> bool {
    let pair = Pair::new(a, b, fuel);
    pair.exact_ratio(positive)
        .unwrap_or_else(|| pair.approx_ratio(positive))
}

/// `50%` equals 50, as official scorers drop the sign, and 0.5. When both sides
/// have the sign, it means the same on both.
fn readings(a: &Expr, b: &Expr) -> Vec<Signs> {
    let mut found = vec![Signs {
        percent_divides: false,
        degrees_turn: false,
    }];
    let has = |expr: &Expr, percent: bool| {
        expr.any(&mut |part| match part {
            Expr::Percent(_) => percent,
            Expr::Degrees(_) => !percent,
            _ => false,
        })
    };
    if has(a, true) != has(b, true) {
        found.push(Signs {
            percent_divides: true,
            degrees_turn: false,
        });
    }
    if has(a, false) != has(b, false) {
        found.push(Signs {
            percent_divides: false,
            degrees_turn: true,
        });
    }
    found
}

/// The numeric test of the original tool, made symmetric: relative to the
/// larger side, absolute below 1e-12.
fn close(x: &Rational, y: &Rational) -> bool {
    let (x, y) = (x.to_f64(), y.to_f64());
    let size = x.abs().max(y.abs());
    let distance = (x - y).abs();
    if size > 1e-12 {
        distance < DECIMAL * size
    } else {
        distance < 1e-12
    }
}

struct Pair<'a> {
    a: &'a Expr,
    b: &'a Expr,
    fuel: &'a Fuel,
    has_symbol: bool,
    has_decimal: bool,
    has_imaginary: bool,
    fold: bool,
}

impl<'a> Pair<'a> {
    fn new(a: &'a Expr, b: &'a Expr, fuel: &'a Fuel) -> Self {
        let either = |asked: fn(&Expr) -> bool| asked(a) || asked(b);
        let imaginary = |expr: &Expr| expr.any(&mut |part| matches!(part, Expr::Imaginary));
        let has_symbol = either(Expr::has_symbol);
        Self {
            a,
            b,
            fuel,
            has_symbol,
            has_decimal: either(Expr::has_decimal),
            has_imaginary: imaginary(a) || imaginary(b),
            fold: has_symbol && !(mixes_cases(a) || mixes_cases(b)),
        }
    }

    fn setting(&self, signs: Signs, point: u64) -> Setting<'a> {
        Setting {
            fuel: self.fuel,
            signs,
            fold: self.fold,
            point,
        }
    }

    fn equal(&self, signs: Signs) -> bool {
        match self.exact_equal(signs) {
            Some(verdict) => verdict,
            None => self.approx_equal(signs),
        }
    }

    /// The verdict of exact arithmetic, when it has one.
    fn exact_equal(&self, signs: Signs) -> Option<bool> {
        if !self.has_symbol {
            let setting = self.setting(signs, 0);
            let (x, y) = (setting.exact(self.a)?, setting.exact(self.b)?);
            return Some(x == y || (self.has_decimal && close(&x, &y)));
        }
        let mut agreeing = 0;
        for point in 0..2 * N_AGREEING as u64 {
            let setting = self.setting(signs, point);
            match (setting.exact(self.a), setting.exact(self.b)) {
                (Some(x), Some(y)) if x == y => agreeing += 1,
                (Some(_), Some(_)) if self.has_decimal => return None,
                (Some(_), Some(_)) => return Some(false),
                // Irrational here; so it will be elsewhere.
                _ if point > 1 && agreeing == 0 => return None,
                _ => {}
            }
            if agreeing == N_AGREEING {
                return Some(true);
            }
        }
        None
    }

    fn approx_equal(&self, signs: Signs) -> bool {
        let tolerance = if self.has_decimal { DECIMAL } else { FLOAT };
        let same = |x: Approx, y: Approx| {
            let distance = x.value.subtract(y.value).size();
            let size = x.value.size().max(y.value.size());
            let noise = x.scale.max(y.scale) * 1e-13;
            let absolute = if self.has_decimal && size <= 1e-12 {
                1e-12
            } else {
                0.0
            };
            distance <= (tolerance * size).max(noise).max(absolute)
        };
        let n_points = if self.has_symbol { N_POINTS } else { 1 };
        let needed = if self.has_symbol { N_AGREEING } else { 1 };
        // First where both are real; where that is nowhere, in complex numbers.
        for complex in [false, true] {
            let mut agreeing = 0;
            for point in 0..n_points {
                let setting = self.setting(signs, point);
                let (Some(x), Some(y)) = (setting.approx(self.a), setting.approx(self.b)) else {
                    continue;
                };
                let real = x.value.is_real() && y.value.is_real();
                if !real && !complex && !self.has_imaginary {
                    continue;
                }
                if !same(x, y) {
                    return false;
                }
                agreeing += 1;
                if agreeing == needed {
                    return true;
                }
            }
            if agreeing > 0 && self.has_symbol && !complex {
                // Few points lie in the domain; all of them agree.
                return agreeing >= 2;
            }
        }
        false
    }

    fn exact_ratio(&self, positive: bool) -> Option<bool> {
        let signs = Signs {
            percent_divides: false,
            degrees_turn: false,
        };
        let mut first: Option<Rational> = None;
        let mut agreeing = 0;
        for point in 0..2 * N_AGREEING as u64 {
            let setting = self.setting(signs, point);
            let (x, y) = (setting.exact(self.a)?, setting.exact(self.b)?);
            if x.is_zero() != y.is_zero() {
                return Some(false);
            }
            if x.is_zero() {
                continue;
            }
            let ratio = x.multiply(&y.inverse()?)?;
            match &first {
                None if positive && ratio.is_negative() => return Some(false),
                None => first = Some(ratio),
                Some(first) if *first == ratio => agreeing += 1,
                Some(_) if self.has_decimal => return None,
                Some(_) => return Some(false),
            }
        }
        Some(agreeing + 1 >= N_AGREEING)
    }

    fn approx_ratio(&self, positive: bool) -> bool {
        let signs = Signs {
            percent_divides: false,
            degrees_turn: false,
        };
        let tolerance = if self.has_decimal { DECIMAL } else { FLOAT };
        let mut first = None;
        let mut agreeing = 0;
        for point in 0..N_POINTS {
            let setting = self.setting(signs, point);
            let (Some(x), Some(y)) = (setting.approx(self.a), setting.approx(self.b)) else {
                continue;
            };
            let ratio = x.value.divide(y.value);
            if !ratio.is_real() || !ratio.is_finite() || ratio.re == 0.0 {
                continue;
            }
            match first {
                None if positive && ratio.re < 0.0 => return false,
                None => first = Some(ratio.re),
                Some(first) => {
                    let distance: f64 = ratio.re - first;
                    if distance.abs() > tolerance * first.abs() {
                        return false;
                    }
                    agreeing += 1;
                }
            }
            if agreeing == N_AGREEING {
                return true;
            }
        }
        false
    }
}

/// Whether an expression has a variable in both cases, so that case matters.
fn mixes_cases(expr: &Expr) -> bool {
    /// With more variables than this the search would take long.
    const MAX_NAMES: usize = 52;
    let mut names: Vec<Box<str>> = Vec::new();
    expr.any(&mut |part| {
        if names.len() > MAX_NAMES {
            return true;
        }
        if let Expr::Symbol(name) = part {
            let known = names
                .iter()
                .find(|known| known.to_lowercase() == name.to_lowercase());
            match known {
                Some(known) => return known != name,
                None => names.push(name.clone()),
            }
        }
        false
    })
}
