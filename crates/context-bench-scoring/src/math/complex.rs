//! Complex floats: just what approximate evaluation needs, with principal values.

/// A complex number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Complex {
    pub(super) re: f64,
    pub(super) im: f64,
}

impl Complex {
    pub(super) const ZERO: Self = Self::real(0.0);
    pub(super) const ONE: Self = Self::real(1.0);
    pub(super) const I: Self = Self { re: 0.0, im: 1.0 };

    pub(super) const fn real(re: f64) -> Self {
        Self { re, im: 0.0 }
    }

    pub(super) fn is_finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }

    pub(super) fn size(self) -> f64 {
        self.re.hypot(self.im)
    }

    pub(super) fn is_real(self) -> bool {
        self.im.abs() <= 1e-12 * self.re.abs().max(1.0)
    }

    pub(super) fn add(self, other: Self) -> Self {
        Self {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }

    pub(super) fn negated(self) -> Self {
        Self {
            re: -self.re,
            im: -self.im,
        }
    }

    pub(super) fn subtract(self, other: Self) -> Self {
        self.add(other.negated())
    }

    pub(super) fn multiply(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }

    pub(super) fn scale(self, factor: f64) -> Self {
        Self {
            re: self.re * factor,
            im: self.im * factor,
        }
    }

    pub(super) fn inverse(self) -> Self {
        if self.im == 0.0 {
            return Self::real(1.0 / self.re);
        }
        let norm = self.re * self.re + self.im * self.im;
        Self {
            re: self.re / norm,
            im: -self.im / norm,
        }
    }

    pub(super) fn divide(self, other: Self) -> Self {
        self.multiply(other.inverse())
    }

    pub(super) fn exp(self) -> Self {
        if self.im == 0.0 {
            return Self::real(self.re.exp());
        }
        let (sin, cos) = self.im.sin_cos();
        Self { re: cos, im: sin }.scale(self.re.exp())
    }

    pub(super) fn ln(self) -> Self {
        Self {
            re: self.size().ln(),
            im: if self.im == 0.0 && self.re > 0.0 {
                0.0
            } else {
                self.im.atan2(self.re)
            },
        }
    }

    pub(super) fn sqrt(self) -> Self {
        if self.im == 0.0 {
            return if self.re >= 0.0 {
                Self::real(self.re.sqrt())
            } else {
                Self {
                    re: 0.0,
                    im: (-self.re).sqrt(),
                }
            };
        }
        self.power(Self::real(0.5))
    }

    /// The principal power; small whole exponents by multiplication.
    pub(super) fn power(self, exponent: Self) -> Self {
        if exponent.im == 0.0 {
            let e = exponent.re;
            if self.im == 0.0 && (self.re >= 0.0 || e.fract() == 0.0) {
                return Self::real(self.re.powf(e));
            }
            if e.fract() == 0.0 && e.abs() <= 1024.0 {
                let mut power = Self::ONE;
                let mut square = self;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "whole and small"
                )]
                let mut left = e.abs() as u32;
                while left > 0 {
                    if left % 2 == 1 {
                        power = power.multiply(square);
                    }
                    square = square.multiply(square);
                    left /= 2;
                }
                return if e < 0.0 { power.inverse() } else { power };
            }
        }
        if self == Self::ZERO {
            return Self::real(if exponent.re > 0.0 { 0.0 } else { f64::NAN });
        }
        self.ln().multiply(exponent).exp()
    }

    /// The real root of odd index for negative reals, the principal root otherwise.
    pub(super) fn root(self, index: f64) -> Self {
        if self.im == 0.0 && self.re < 0.0 && index.rem_euclid(2.0) == 1.0 {
            return Self::real(-(-self.re).powf(1.0 / index));
        }
        if index == 2.0 {
            return self.sqrt();
        }
        self.power(Self::real(1.0 / index))
    }

    pub(super) fn sin(self) -> Self {
        Self {
            re: self.re.sin() * self.im.cosh(),
            im: self.re.cos() * self.im.sinh(),
        }
    }

    pub(super) fn cos(self) -> Self {
        Self {
            re: self.re.cos() * self.im.cosh(),
            im: -self.re.sin() * self.im.sinh(),
        }
    }

    pub(super) fn sinh(self) -> Self {
        Self {
            re: self.re.sinh() * self.im.cos(),
            im: self.re.cosh() * self.im.sin(),
        }
    }

    pub(super) fn cosh(self) -> Self {
        Self {
            re: self.re.cosh() * self.im.cos(),
            im: self.re.sinh() * self.im.sin(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(found: Complex, re: f64, im: f64) {
        let distance = found.subtract(Complex { re, im }).size();
        assert!(distance < 1e-12, "{found:?}, not {re} + {im}i");
    }

    #[test]
    fn principal_values() {
        check(Complex::real(-4.0).sqrt(), 0.0, 2.0);
        check(Complex::real(-8.0).root(3.0), -2.0, 0.0);
        check(Complex::I.multiply(Complex::I), -1.0, 0.0);
        check(
            Complex { re: 1.0, im: 1.0 }.power(Complex::real(2.0)),
            0.0,
            2.0,
        );
        check(
            Complex { re: 1.0, im: 1.0 }.power(Complex::real(-2.0)),
            0.0,
            -0.5,
        );
        check(
            Complex {
                re: 0.0,
                im: std::f64::consts::PI,
            }
            .exp(),
            -1.0,
            0.0,
        );
        check(Complex::real(-1.0).ln(), 0.0, std::f64::consts::PI);
        check(Complex { re: 3.0, im: 4.0 }.sqrt(), 2.0, 1.0);
    }
}
