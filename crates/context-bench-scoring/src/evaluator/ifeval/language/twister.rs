//! Python's `random.Random`, as far as language detection draws from it.
//!
//! The Mersenne Twister is `rand_mt`'s; what Python makes of its bits (`random`, `gauss`,
//! `choice`) is written by hand for parity: the numbers must be those that `langdetect` draws
//! when IFEval's official checks seed it.

use rand_mt::Mt;

pub(super) struct Twister {
    generator: Mt,
    /// `gauss` makes two numbers at once and keeps the second.
    spare: Option<f64>,
}

impl Twister {
    /// As after `random.seed(0)`.
    pub(super) fn seeded_with_0() -> Self {
        Self {
            generator: Mt::new_with_key([0]),
            spare: None,
        }
    }

    /// `random()`: from 0 to below 1, with 53 bits.
    fn unit(&mut self) -> f64 {
        let high = f64::from(self.generator.next_u32() >> 5);
        let low = f64::from(self.generator.next_u32() >> 6);
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    /// `gauss(0, 1)`.
    pub(super) fn gauss(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let angle = self.unit() * std::f64::consts::TAU;
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        self.spare = Some(angle.sin() * radius);
        angle.cos() * radius
    }

    /// The index that `choice` draws: from 0 to below `n`, which is above 0 and below 2^32.
    pub(super) fn below(&mut self, n: usize) -> usize {
        let bits = usize::BITS - n.leading_zeros();
        loop {
            let drawn = (self.generator.next_u32() >> 32_u32.saturating_sub(bits).min(31)) as usize;
            if drawn < n {
                return drawn;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_what_python_draws() {
        let mut random = Twister::seeded_with_0();
        assert_eq!(random.unit(), 0.844_421_851_525_048_1);
        assert_eq!(random.unit(), 0.757_954_402_940_302_5);
        let mut random = Twister::seeded_with_0();
        let gauss: Vec<f64> = (0..3).map(|_| random.gauss()).collect();
        assert_eq!(gauss, GAUSS);
        let mut random = Twister::seeded_with_0();
        let drawn: Vec<usize> = (0..8).map(|_| random.below(1000)).collect();
        assert_eq!(drawn, BELOW);
    }

    const GAUSS: [f64; 3] = [
        0.941_715_404_680_664_4,
        -1.396_578_104_701_149_8,
        -0.679_714_448_078_421_1,
    ];
    const BELOW: [usize; 8] = [864, 394, 776, 911, 430, 41, 265, 988];
}
