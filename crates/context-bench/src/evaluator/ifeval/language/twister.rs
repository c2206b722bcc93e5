//! Python's `random.Random`, as far as language detection draws from it.
//!
//! Mersenne Twister (MT19937) after Matsumoto and Nishimura, 1998.

const N: usize = 624;
const M: usize = 397;

pub(super) struct Twister {
    state: [u32; N],
    index: usize,
    /// `gauss` makes two numbers at once and keeps the second.
    spare: Option<f64>,
}

impl Twister {
    /// As after `random.seed(0)`.
    pub(super) fn seeded_with_0() -> Self {
        let mut state = [0_u32; N];
        state[0] = 19_650_218;
        for i in 1..N {
            let last = state[i - 1] ^ (state[i - 1] >> 30);
            state[i] = last.wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        // Mixes in the key `[0]`, so the key itself adds nothing.
        let mut i = 1;
        for _ in 0..N {
            let last = state[i - 1] ^ (state[i - 1] >> 30);
            state[i] ^= last.wrapping_mul(1_664_525);
            i = next_index(&mut state, i);
        }
        for _ in 0..N - 1 {
            let last = state[i - 1] ^ (state[i - 1] >> 30);
            state[i] = (state[i] ^ last.wrapping_mul(1_566_083_941)).wrapping_sub(i as u32);
            i = next_index(&mut state, i);
        }
        state[0] = 1 << 31;
        Self {
            state,
            index: N,
            spare: None,
        }
    }

    fn next(&mut self) -> u32 {
        if self.index >= N {
            self.refill();
        }
        let mut y = self.state[self.index];
        self.index += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    fn refill(&mut self) {
        for i in 0..N {
            let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % N] & 0x7fff_ffff);
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + M) % N] ^ (y >> 1) ^ odd;
        }
        self.index = 0;
    }

    /// `random()`: from 0 to below 1, with 53 bits.
    fn unit(&mut self) -> f64 {
        let high = f64::from(self.next() >> 5);
        let low = f64::from(self.next() >> 6);
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
            let drawn = (self.next() >> 32_u32.saturating_sub(bits).min(31)) as usize;
            if drawn < n {
                return drawn;
            }
        }
    }
}

fn next_index(state: &mut [u32; N], i: usize) -> usize {
    if i + 1 >= N {
        state[0] = state[N - 1];
        1
    } else {
        i + 1
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
