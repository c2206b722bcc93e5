//! Approximate values: complex floats for what rational arithmetic cannot decide.

use std::f64::consts::{E, PI};

use super::complex::Complex;
use super::expr::{Expr, Function};
use super::value::Setting;

/// A value and the largest term that went into it: cancellation between terms
/// costs digits, so differences are judged against that size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Approx {
    pub(super) value: Complex,
    pub(super) scale: f64,
}

impl Setting<'_> {
    /// The value at this point; `None` where it is undefined or beyond floats.
    pub(super) fn approx(&self, expr: &Expr) -> Option<Approx> {
        let mut scale = 0.0;
        let value = self.evaluate(expr, &mut scale, self.signs.degrees_turn)?;
        Some(Approx { value, scale })
    }

    fn evaluate(&self, expr: &Expr, scale: &mut f64, turn: bool) -> Option<Complex> {
        self.fuel.spend(1)?;
        let value = match expr {
            Expr::Number { value, .. } | Expr::Based { value, .. } => Complex::real(value.to_f64()),
            Expr::Symbol(name) => Complex::real(self.real_variable(name)),
            Expr::Pi => Complex::real(PI),
            Expr::Euler => Complex::real(E),
            Expr::Imaginary => Complex::I,
            Expr::Sum(terms) => {
                let mut sum = Complex::ZERO;
                for term in terms {
                    let term = self.evaluate(term, scale, turn)?;
                    *scale = scale.max(term.size());
                    sum = sum.add(term);
                }
                sum
            }
            Expr::Product(factors) => {
                let mut product = Complex::ONE;
                for factor in factors {
                    product = product.multiply(self.evaluate(factor, scale, turn)?);
                }
                product
            }
            Expr::Negative(of) => self.evaluate(of, scale, turn)?.negated(),
            Expr::Inverse(of) => self.evaluate(of, scale, turn)?.inverse(),
            Expr::Power(base, exponent) => self.power(base, exponent, scale, turn)?,
            Expr::Root { index, of } => {
                let index = self.evaluate(index, scale, turn)?;
                let of = self.evaluate(of, scale, turn)?;
                index.is_real().then(|| of.root(index.re))?
            }
            Expr::Call(function, of) => {
                let of = self.evaluate(of, scale, true)?;
                call(*function, of)?
            }
            Expr::Log { base, of } => {
                let base = self.evaluate(base, scale, turn)?;
                let of = self.evaluate(of, scale, turn)?;
                of.ln().divide(base.ln())
            }
            Expr::Factorial(of) => {
                let of = self.evaluate(of, scale, turn)?;
                let whole = of.is_real() && of.re.fract() == 0.0 && (0.0..=170.0).contains(&of.re);
                whole.then(|| Complex::real(factorial(of.re)))?
            }
            Expr::Percent(of) => {
                let of = self.evaluate(of, scale, turn)?;
                of.scale(if self.signs.percent_divides {
                    0.01
                } else {
                    1.0
                })
            }
            Expr::Degrees(of) => {
                let of = self.evaluate(of, scale, turn)?;
                of.scale(if turn { PI / 180.0 } else { 1.0 })
            }
            Expr::Binomial(..) => Complex::real(self.exact(expr)?.to_f64()),
            _ => return None,
        };
        value.is_finite().then_some(value)
    }

    fn power(&self, base: &Expr, exponent: &Expr, scale: &mut f64, turn: bool) -> Option<Complex> {
        let of = self.evaluate(base, scale, turn)?;
        if *base == Expr::Euler {
            return Some(self.evaluate(exponent, scale, turn)?.exp());
        }
        // Fractions with odd denominators are real roots of negative numbers.
        if of.im == 0.0
            && of.re < 0.0
            && let Some(ratio) = self.exact(exponent)
            && let Some((above, below)) = ratio.to_ratio()
            && below > 1
            && below % 2 == 1
        {
            return Some(
                of.root(f64::from(below))
                    .power(Complex::real(f64::from(above))),
            );
        }
        Some(of.power(self.evaluate(exponent, scale, turn)?))
    }
}

fn factorial(n: f64) -> f64 {
    let mut product = 1.0;
    let mut factor = 2.0;
    while factor <= n {
        product *= factor;
        factor += 1.0;
    }
    product
}

fn call(function: Function, of: Complex) -> Option<Complex> {
    let real = |apply: fn(f64) -> f64| of.is_real().then(|| Complex::real(apply(of.re)));
    Some(match function {
        Function::Sin => of.sin(),
        Function::Cos => of.cos(),
        Function::Tan => of.sin().divide(of.cos()),
        Function::Cot => of.cos().divide(of.sin()),
        Function::Sec => of.cos().inverse(),
        Function::Csc => of.sin().inverse(),
        Function::Arcsin => real(f64::asin)?,
        Function::Arccos => real(f64::acos)?,
        Function::Arctan => real(f64::atan)?,
        Function::Sinh => of.sinh(),
        Function::Cosh => of.cosh(),
        Function::Tanh => of.sinh().divide(of.cosh()),
        Function::Exp => of.exp(),
        Function::Ln => of.ln(),
        Function::Log10 => of.ln().scale(std::f64::consts::LOG10_E),
        Function::Absolute => Complex::real(of.size()),
        Function::Floor => real(|x| (x + 1e-9).floor())?,
        Function::Ceiling => real(|x| (x - 1e-9).ceil())?,
    })
}
