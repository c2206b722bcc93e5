//! `Scale`: the lowest and the highest rating, and where a rating lies between.

use std::fmt;
use std::str::FromStr;

use context_bench_error::Hint;

/// From the worst rating to the best; 1 to 5 unless set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    min: f64,
    max: f64,
}

impl Default for Scale {
    fn default() -> Self {
        Self { min: 1.0, max: 5.0 }
    }
}

impl Scale {
    /// A scale between two numbers.
    ///
    /// # Errors
    ///
    /// When they are not finite or the first is not the smaller one.
    pub fn new(min: f64, max: f64) -> Result<Self, ScaleError> {
        if min.is_finite() && max.is_finite() && min < max {
            Ok(Self { min, max })
        } else {
            Err(ScaleError(format!("{min}-{max}")))
        }
    }

    /// The worst rating.
    pub fn min(self) -> f64 {
        self.min
    }

    /// The best rating.
    pub fn max(self) -> f64 {
        self.max
    }

    /// Whether a rating lies on the scale.
    pub fn holds(self, rating: f64) -> bool {
        (self.min..=self.max).contains(&rating)
    }

    /// Where a rating lies: 0 is the worst, 1 the best.
    pub fn share(self, rating: f64) -> f64 {
        ((rating - self.min) / (self.max - self.min)).clamp(0.0, 1.0)
    }

    /// Whether it only distinguishes right from wrong, so that words do as well as numbers.
    pub(super) fn is_yes_or_no(self) -> bool {
        self.min == 0.0 && self.max == 1.0
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

impl FromStr for Scale {
    type Err = ScaleError;

    /// Reads `1-5`, `0..10` or `-1 to 1`.
    fn from_str(typed: &str) -> Result<Self, ScaleError> {
        let bad = || ScaleError(typed.to_owned());
        let (min, max) = ["..", " to ", "–"]
            .into_iter()
            .find_map(|mark| typed.split_once(mark))
            // A minus in front belongs to the number.
            .or_else(|| {
                let dash = typed.char_indices().skip(1).find(|(_, c)| *c == '-')?.0;
                Some((&typed[..dash], &typed[dash + 1..]))
            })
            .ok_or_else(bad)?;
        let end = |text: &str| text.trim().parse::<f64>().map_err(|_| bad());
        Self::new(end(min)?, end(max)?).map_err(|_| bad())
    }
}

/// A text that is not a scale.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a scale goes from a lower to a higher number, found `{0}`")]
pub struct ScaleError(String);

impl Hint for ScaleError {
    fn hint(&self) -> Option<String> {
        Some("write it as `1-5` or `0..10`".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_as_people_write_them() {
        for (typed, expected) in [
            ("1-5", Some((1.0, 5.0))),
            ("0-1", Some((0.0, 1.0))),
            ("0..100", Some((0.0, 100.0))),
            ("-2-2", Some((-2.0, 2.0))),
            ("-1 to 1", Some((-1.0, 1.0))),
            ("1 – 10", Some((1.0, 10.0))),
            ("5-1", None),
            ("5", None),
            ("3-3", None),
            ("", None),
            ("é-1", None),
            ("0-inf", None),
            ("a-b", None),
        ] {
            let scale = typed.parse::<Scale>().ok();
            let ends = scale.map(|scale| (scale.min(), scale.max()));
            assert_eq!(ends, expected, "{typed}");
        }
        assert_eq!(Scale::default().share(4.0), 0.75);
    }
}
