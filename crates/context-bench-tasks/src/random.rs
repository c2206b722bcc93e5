//! CPython's `random.Random`, number for number.
//!
//! The generator is `rand_mt`. Seeding, sampling and shuffling are written by hand for
//! parity: they decide which examples stand in a prompt.

use rand_mt::Mt;

/// A generator seeded as `random.Random(seed)` is.
#[derive(Debug, Clone)]
pub struct Random {
    generator: Mt,
}

impl Random {
    /// Seeds with an integer, of which CPython takes the absolute value.
    pub fn new(seed: i64) -> Self {
        let size = seed.unsigned_abs();
        let low = size as u32;
        let high = (size >> 32) as u32;
        let key = if high == 0 {
            vec![low]
        } else {
            vec![low, high]
        };
        Self {
            generator: Mt::new_with_key(key),
        }
    }

    /// `random()`: below 1, with 53 bits.
    pub fn random(&mut self) -> f64 {
        let a = f64::from(self.generator.next_u32() >> 5);
        let b = f64::from(self.generator.next_u32() >> 6);
        (a * 67_108_864.0 + b) / 9_007_199_254_740_992.0
    }

    /// `getrandbits(k)` for up to 64 bits.
    fn bits(&mut self, k: u32) -> u64 {
        match k {
            0 => 0,
            1..=32 => u64::from(self.generator.next_u32() >> (32 - k)),
            _ => {
                let low = u64::from(self.generator.next_u32());
                let high = u64::from(self.generator.next_u32() >> (64 - k.min(64)));
                low | (high << 32)
            }
        }
    }

    /// A whole number below `n`; 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 {
            return 0;
        }
        let k = usize::BITS - n.leading_zeros();
        loop {
            let found = self.bits(k) as usize;
            if found < n {
                return found;
            }
        }
    }

    /// `sample(range(n), k)`: indices without replacement; `None` when `k > n`.
    pub fn sample(&mut self, n: usize, k: usize) -> Option<Vec<usize>> {
        if k > n {
            return None;
        }
        let mut threshold = 21_usize;
        if k > 5 {
            // 4 ** ceil(log(3k, 4)), in whole numbers.
            let mut power = 1_usize;
            while power < 3 * k {
                power = power.saturating_mul(4);
            }
            threshold = threshold.saturating_add(power);
        }
        let mut result = Vec::with_capacity(k);
        if n <= threshold {
            let mut pool: Vec<usize> = (0..n).collect();
            for i in 0..k {
                let j = self.below(n - i);
                result.push(pool[j]);
                pool[j] = pool[n - i - 1];
            }
        } else {
            let mut used = std::collections::HashSet::with_capacity(k);
            for _ in 0..k {
                let mut j = self.below(n);
                while !used.insert(j) {
                    j = self.below(n);
                }
                result.push(j);
            }
        }
        Some(result)
    }

    /// `shuffle(items)`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.below(i + 1);
            items.swap(i, j);
        }
    }

    /// One index as `choices` draws it.
    pub fn choice_index(&mut self, n: usize) -> usize {
        ((self.random() * n as f64) as usize).min(n.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with CPython 3.11: `random.Random(seed)`.
    #[test]
    fn equals_cpython() {
        let mut random = Random::new(1234);
        assert_eq!(random.sample(8, 3), Some(vec![7, 0, 6]));
        assert_eq!(
            random.sample(1000, 6),
            Some(vec![92, 932, 965, 961, 826, 596])
        );
        assert_eq!(random.random(), 0.034926166173543605);
        let mut items: Vec<usize> = (0..6).collect();
        random.shuffle(&mut items);
        assert_eq!(items, [2, 3, 1, 4, 0, 5]);
        assert_eq!(Random::new(0).random(), 0.8444218515250481);
        assert_eq!(Random::new(-7).random(), Random::new(7).random());
        assert_eq!(Random::new(1 << 40).random(), 0.1036394562812375);
        assert_eq!(Random::new(42).choice_index(10), 6);
        assert_eq!(Random::new(1).sample(2, 3), None);
    }
}
