//! Draws from the binomial distribution: how many of `n` hit something of probability `p`.
//!
//! One draw stands for `n` draws of single values, which is what makes resamples of a million
//! rows cheap where few values are different.

use super::RandomStream;

/// From so many expected hits on, rejection is faster than counting up.
const REJECTION_FROM: f64 = 10.0;

impl RandomStream {
    /// How many of `n` hit, when each does with probability `p`.
    pub(super) fn binomial(&mut self, n: u64, p: f64) -> u64 {
        if n == 0 || p <= 0.0 {
            return 0;
        }
        if p >= 1.0 {
            return n;
        }
        if p > 0.5 {
            return n - self.binomial(n, 1.0 - p);
        }
        match n as f64 * p < REJECTION_FROM {
            true => self.by_inversion(n, p),
            false => self.by_rejection(n as f64, p) as u64,
        }
    }

    /// Counts up the distribution function until it passes a uniform number.
    fn by_inversion(&mut self, n: u64, p: f64) -> u64 {
        let odds = p / (1.0 - p);
        let none = (n as f64 * (-p).ln_1p()).exp();
        loop {
            let mut left = self.unit();
            let mut chance = none;
            // Rounding may leave a rest that no number takes: then it is drawn again.
            for k in 0..=n.min(200) {
                if left < chance {
                    return k;
                }
                left -= chance;
                chance *= odds * (n - k) as f64 / (k + 1) as f64;
            }
        }
    }

    /// BTRS of Hörmann (1993, "The generation of binomial random variates").
    fn by_rejection(&mut self, n: f64, p: f64) -> f64 {
        let spread = (n * p * (1.0 - p)).sqrt();
        let b = 1.15 + 2.53 * spread;
        let a = -0.0873 + 0.0248 * b + 0.01 * p;
        let centre = n * p + 0.5;
        let squeeze = 0.92 - 4.2 / b;
        loop {
            let u = self.unit() - 0.5;
            let v = self.unit();
            let us = 0.5 - u.abs();
            let k = ((2.0 * a / us + b) * u + centre).floor();
            if us >= 0.07 && v <= squeeze {
                return k;
            }
            if k < 0.0 || k > n {
                continue;
            }
            let odds = p / (1.0 - p);
            let alpha = (2.83 + 5.1 / b) * spread;
            let mode = ((n + 1.0) * p).floor();
            let bound = (mode + 0.5) * ((mode + 1.0) / (odds * (n - mode + 1.0))).ln()
                + (n + 1.0) * ((n - mode + 1.0) / (n - k + 1.0)).ln()
                + (k + 0.5) * (odds * (n - k + 1.0) / (k + 1.0)).ln()
                + stirling_rest(mode)
                + stirling_rest(n - mode)
                - stirling_rest(k)
                - stirling_rest(n - k);
            if (v * alpha / (a / (us * us) + b)).ln() <= bound {
                return k;
            }
        }
    }
}

/// What Stirling's formula leaves of ln k!.
fn stirling_rest(k: f64) -> f64 {
    const FIRST: [f64; 10] = [
        0.081_061_466_795_327_2,
        0.041_340_695_955_409_2,
        0.027_677_925_684_998_3,
        0.020_790_672_103_765,
        0.016_644_691_189_821_1,
        0.013_876_128_823_070_7,
        0.011_896_709_945_891_7,
        0.010_411_265_261_972,
        0.009_255_462_182_712_73,
        0.008_330_563_433_362_87,
    ];
    if let Some(rest) = FIRST.get(k as usize) {
        return *rest;
    }
    let square = (k + 1.0).powi(2);
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{Binomial, DiscreteCDF};

    use super::*;

    #[test]
    fn draws_follow_the_distribution() {
        // The largest distance of the two distribution functions (Kolmogorov) stays below
        // what 20,000 draws exceed once in a million times.
        const DRAWS: usize = 20_000;
        let limit = (-(1e-6_f64 / 2.0).ln() / 2.0 / DRAWS as f64).sqrt();
        for (at, (n, p)) in [
            (1, 0.3),
            (10, 0.5),
            (40, 0.1),
            (40, 0.9),
            (25, 0.5),
            (100, 0.1),
            (1000, 0.7),
            (1_000_000, 1e-6),
            (1_000_000, 0.25),
        ]
        .into_iter()
        .enumerate()
        {
            let mut stream = RandomStream::new(1, at as u64);
            let mut drawn: Vec<u64> = (0..DRAWS).map(|_| stream.binomial(n, p)).collect();
            drawn.sort_unstable();
            let expected = Binomial::new(p, n).expect("a distribution");
            let mut largest = 0_f64;
            for (below, pair) in drawn.windows(2).enumerate() {
                if pair[0] != pair[1] {
                    let share = (below + 1) as f64 / DRAWS as f64;
                    largest = largest.max((share - expected.cdf(pair[0])).abs());
                }
            }
            assert!(largest < limit, "{n} {p}: {largest} {limit}");
        }
    }

    #[test]
    fn certain_draws_are_certain() {
        let mut stream = RandomStream::new(1, 0);
        for (n, p, expected) in [(0, 0.5, 0), (9, 0.0, 0), (9, 1.0, 9), (9, 1.1, 9)] {
            assert_eq!(stream.binomial(n, p), expected);
        }
    }
}
