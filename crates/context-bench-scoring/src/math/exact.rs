//! Exact values: what rational arithmetic can decide about an expression.
//!
//! `None` when a value is irrational, undefined, too large, or no value at all.

use super::expr::{Expr, Function};
use super::rational::Rational;
use super::value::Setting;

impl Setting<'_> {
    /// The exact value at this point.
    pub(super) fn exact(&self, expr: &Expr) -> Option<Rational> {
        self.fuel.spend(1)?;
        let value = match expr {
            Expr::Number { value, .. } | Expr::Based { value, .. } => return Some(value.clone()),
            Expr::Symbol(name) => return Some(self.exact_variable(name)),
            Expr::Sum(terms) => {
                let mut sum = Rational::integer(0);
                for term in terms {
                    sum = sum.add(&self.exact(term)?)?;
                    self.fuel.spend_on(&sum)?;
                }
                sum
            }
            Expr::Product(factors) => {
                let mut product = Rational::integer(1);
                for factor in factors {
                    product = product.multiply(&self.exact(factor)?)?;
                    self.fuel.spend_on(&product)?;
                }
                product
            }
            Expr::Negative(of) => self.exact(of)?.negated(),
            Expr::Inverse(of) => self.exact(of)?.inverse()?,
            Expr::Power(base, exponent) => self.exact_power(base, exponent)?,
            Expr::Root { index, of } => {
                let index = u32::try_from(self.exact(index)?.to_i64()?).ok()?;
                self.exact_root(&self.exact(of)?, index)?
            }
            Expr::Call(function, of) => {
                let of = self.exact(of)?;
                match function {
                    Function::Absolute => of.absolute(),
                    Function::Floor => of.floor(),
                    Function::Ceiling => of.negated().floor().negated(),
                    _ => return None,
                }
            }
            Expr::Factorial(of) => self.falling(self.exact(of)?.to_i64()?, None)?,
            Expr::Binomial(above, below) => {
                let below = self.exact(below)?.to_i64()?;
                let above = self.exact(above)?.to_i64()?;
                let falling = self.falling(above, Some(below))?;
                falling.multiply(&self.falling(below, None)?.inverse()?)?
            }
            Expr::Percent(of) if self.signs.percent_divides => self
                .exact(of)?
                .multiply(&Rational::integer(100).inverse()?)?,
            Expr::Percent(of) => self.exact(of)?,
            Expr::Degrees(of) if !self.signs.degrees_turn => self.exact(of)?,
            _ => return None,
        };
        self.fuel.spend_on(&value)?;
        Some(value)
    }

    fn exact_power(&self, base: &Expr, exponent: &Expr) -> Option<Rational> {
        let exponent = self.exact(exponent)?;
        let base = self.exact(base)?;
        if let Some(exponent) = exponent.to_i64() {
            let power = base.power(exponent)?;
            self.fuel.spend_on(&power)?;
            return Some(power);
        }
        let (above, below) = exponent.to_ratio()?;
        let root = self.exact_root(&base, below)?;
        root.power(i64::from(above))
    }

    fn exact_root(&self, of: &Rational, index: u32) -> Option<Rational> {
        self.fuel.spend_on(of)?;
        self.fuel.spend(u64::from(index))?;
        of.root(index)
    }

    /// `n (n-1) … (n-k+1)`, or `n!`.
    fn falling(&self, n: i64, k: Option<i64>) -> Option<Rational> {
        let k = k.unwrap_or(n);
        if n < 0 || !(0..=2000).contains(&k) {
            return None;
        }
        let mut product = Rational::integer(1);
        for i in 0..k {
            product = product.multiply(&Rational::integer(n - i))?;
            self.fuel.spend(1 + product.bits() / 64)?;
        }
        Some(product)
    }
}
