//! [`RandomStream`]: random numbers that are a function of seed, stream and position.

/// The generator Philox4x32-10 of Salmon et al. (2011, "Parallel random numbers: as easy as
/// 1, 2, 3"): block after block is a function of a counter, so a stream begins anywhere without
/// having run up to there, and no two streams overlap.
#[derive(Debug, Clone)]
pub struct RandomStream {
    key: [u32; 2],
    stream: u64,
    next_block: u64,
    block: [u32; 4],
    /// How many words of the block have been handed out.
    taken: usize,
}

impl RandomStream {
    /// The stream with a number, of a seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self {
            key: words(seed),
            stream,
            next_block: 0,
            block: [0; 4],
            taken: 4,
        }
    }

    /// 32 random bits.
    #[inline]
    pub fn bits(&mut self) -> u32 {
        if self.taken == 4 {
            let ([a, b], [c, d]) = (words(self.next_block), words(self.stream));
            self.block = philox([a, b, c, d], self.key);
            self.next_block = self.next_block.wrapping_add(1);
            self.taken = 0;
        }
        let bits = self.block[self.taken];
        self.taken += 1;
        bits
    }

    /// A number between 0 and 1, neither of which it ever is.
    pub fn unit(&mut self) -> f64 {
        let bits = u64::from(self.bits()) << 32 | u64::from(self.bits());
        ((bits >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// One of 0, 1, …, `n` − 1, each as likely as the others (Lemire 2019); 0 for `n` = 0.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        let mut product = u64::from(self.bits()) * u64::from(n);
        if (product as u32) < n {
            // The few bits that would make some numbers likelier are drawn again.
            let uneven = n.wrapping_neg().checked_rem(n).unwrap_or(0);
            while (product as u32) < uneven {
                product = u64::from(self.bits()) * u64::from(n);
            }
        }
        (product >> 32) as u32
    }

    /// Puts things into a random order, each as likely as the others (Fisher and Yates).
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            let Ok(choices) = u32::try_from(last + 1) else {
                // More than 2³² things: two draws make an index that is even enough.
                let other = (self.unit() * (last + 1) as f64) as usize;
                things.swap(last, other.min(last));
                continue;
            };
            things.swap(last, self.below(choices) as usize);
        }
    }
}

fn words(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

#[inline]
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let [low_0, high_0] = words(0xD251_1F53 * u64::from(counter[0]));
        let [low_1, high_1] = words(0xCD9E_8D57 * u64::from(counter[2]));
        counter = [
            high_1 ^ counter[1] ^ key[0],
            low_1,
            high_0 ^ counter[3] ^ key[1],
            low_0,
        ];
        key = [
            key[0].wrapping_add(0x9E37_79B9),
            key[1].wrapping_add(0xBB67_AE85),
        ];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers_of_the_authors() {
        // The file kat_vectors of Random123, lines `philox4x32 10`.
        let all = u32::MAX;
        for (counter, key, expected) in [
            (
                [0; 4],
                [0; 2],
                [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8],
            ),
            (
                [all; 4],
                [all; 2],
                [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd],
            ),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ] {
            assert_eq!(philox(counter, key), expected);
        }
    }

    #[test]
    fn numbers_below_are_even_and_orders_are_permutations() {
        let mut stream = RandomStream::new(7, 0);
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[stream.below(6) as usize] += 1;
        }
        // Six standard deviations about 10,000.
        assert!(
            counts.iter().all(|n| (9_452..=10_548).contains(n)),
            "{counts:?}"
        );
        assert_eq!(stream.below(1), 0);
        assert_eq!(stream.below(0), 0);
        let mut things: Vec<usize> = (0..100).collect();
        stream.shuffle(&mut things);
        assert_ne!(things, (0..100).collect::<Vec<_>>());
        things.sort_unstable();
        assert_eq!(things, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn streams_differ_and_repeat() {
        let take = |seed, stream| {
            let mut stream = RandomStream::new(seed, stream);
            [(); 9].map(|()| stream.bits())
        };
        assert_eq!(take(1, 2), take(1, 2));
        assert_ne!(take(1, 2), take(1, 3));
        assert_ne!(take(1, 2), take(2, 2));
    }
}
