//! [`Verdict`]: what an interval says about a margin.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::Interval;

/// What is shown about a system beside its baseline, as CONSORT words it for trials of
/// non-inferiority (Piaggio et al. 2012).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval lies above 0.
    Better,
    /// The whole interval lies above −margin: whatever was lost is less than the margin.
    NotWorse,
    /// The whole interval lies below −margin: more was lost than the margin allows.
    Worse,
    /// The interval holds −margin, so neither is shown. It may still lie below 0.
    Inconclusive,
}

impl Verdict {
    /// The verdict of an interval of "system − baseline", where more is better, with a margin of
    /// 0 or more.
    pub fn of(interval: Interval, margin: f64) -> Self {
        if interval.low > 0.0 {
            Self::Better
        } else if interval.low > -margin {
            Self::NotWorse
        } else if interval.high < -margin {
            Self::Worse
        } else {
            Self::Inconclusive
        }
    }

    /// Whether something is shown.
    pub fn is_decided(self) -> bool {
        self != Self::Inconclusive
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Better => "better",
            Self::NotWorse => "not worse",
            Self::Worse => "worse",
            Self::Inconclusive => "inconclusive",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn intervals_have_verdicts() {
        for (low, high, expected) in [
            (0.01, 0.05, Verdict::Better),
            (0.0, 0.05, Verdict::NotWorse),
            (-0.01, 0.05, Verdict::NotWorse),
            // Shown to be lower, and by less than the margin.
            (-0.015, -0.005, Verdict::NotWorse),
            (-0.02, 0.0, Verdict::Inconclusive),
            (-0.05, 0.05, Verdict::Inconclusive),
            // Shown to be lower, but not by more than the margin.
            (-0.05, -0.01, Verdict::Inconclusive),
            (-0.05, -0.02, Verdict::Inconclusive),
            (-0.05, -0.03, Verdict::Worse),
        ] {
            assert_eq!(
                Verdict::of(Interval { low, high }, 0.02),
                expected,
                "{low} {high}"
            );
        }
        assert_eq!(Verdict::NotWorse.to_string(), "not worse");
    }

    proptest! {
        /// More allowance never turns a verdict against the system, and a narrower interval never
        /// takes one back.
        #[test]
        fn margins_and_widths_work_one_way(
            a in -1.0..1.0_f64, b in -1.0..1.0_f64, margin in 0.0..0.5_f64, more in 0.0..0.5_f64,
        ) {
            let wide = Interval { low: a.min(b), high: a.max(b) };
            let middle = (a + b) / 2.0;
            let narrow = Interval { low: (wide.low + middle) / 2.0, high: (wide.high + middle) / 2.0 };
            let rank = |verdict| match verdict {
                Verdict::Worse => 0,
                Verdict::Inconclusive => 1,
                Verdict::NotWorse => 2,
                Verdict::Better => 3,
            };
            let verdict = Verdict::of(wide, margin);
            prop_assert!(rank(verdict) <= rank(Verdict::of(wide, margin + more)));
            if verdict == Verdict::Better || verdict == Verdict::Worse {
                prop_assert_eq!(Verdict::of(narrow, margin), verdict);
            }
            if verdict == Verdict::NotWorse {
                prop_assert!(rank(Verdict::of(narrow, margin)) >= 2);
            }
        }
    }
}
