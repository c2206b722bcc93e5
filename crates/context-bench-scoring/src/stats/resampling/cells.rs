//! What is drawn from: units, which are single differences or whole clusters, and cells of units
//! that are the same.
//!
//! Of many units with few different values a resample needs one binomial draw per cell in place
//! of one draw per unit, with exactly the same distribution. Of very many units that are all
//! different, neighbours are put into bins, and each bin into two cells that keep its number, mean
//! and variance, and its third moment as far as whole counts can: an outlier stays a cell of its
//! own. The distribution of a mean of more than 20,000 units depends on nothing else that shows.

use super::RandomStream;

/// What is drawn as a whole: the sum of a cluster's differences, and how many they are.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub(in crate::stats) struct Unit {
    pub(in crate::stats) sum: f64,
    pub(in crate::stats) size: f64,
}

/// Units that are the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    pub(super) unit: Unit,
    pub(super) count: u64,
}

/// A binomial draw takes about as long as so many draws of a unit.
const DRAWS_PER_CELL: usize = 16;
/// From so many units on, neighbours are put together.
const CONDENSED_FROM: usize = 20_000;
/// Into so many bins of the same number of units.
const BINS: usize = 64;

/// What is drawn from, in the form in which a resample is quickest.
pub(super) enum Population<'a> {
    Units(&'a [Unit]),
    /// Units of one size: their sums side by side take half the memory that a draw looks into.
    Sums {
        sums: Vec<f64>,
        size: f64,
    },
    Cells {
        cells: Vec<Cell>,
        total: u64,
    },
}

impl<'a> Population<'a> {
    pub(super) fn of(units: &'a [Unit]) -> Self {
        let mut sorted = units.to_vec();
        // Of the same size beside each other, so that bins do not mix sizes.
        sorted.sort_unstable_by(|a, b| (a.size.total_cmp(&b.size)).then(a.sum.total_cmp(&b.sum)));
        let mut cells = same(&sorted);
        if cells.len().saturating_mul(DRAWS_PER_CELL) > units.len() && units.len() >= CONDENSED_FROM
        {
            cells = condensed(&sorted);
        }
        match cells.len().saturating_mul(DRAWS_PER_CELL) <= units.len() {
            true => Self::Cells {
                cells,
                total: units.len() as u64,
            },
            false => Self::single(units),
        }
    }

    /// Every unit on its own.
    fn single(units: &'a [Unit]) -> Self {
        match units.first() {
            Some(first) if units.iter().all(|unit| unit.size == first.size) => Self::Sums {
                sums: units.iter().map(|unit| unit.sum).collect(),
                size: first.size,
            },
            _ => Self::Units(units),
        }
    }

    /// The mean of as many units as there are, drawn with replacement.
    pub(super) fn resampled_mean(&self, stream: &mut RandomStream) -> f64 {
        let (mut sum, mut size) = (0.0, 0.0);
        match self {
            Self::Units(units) => {
                let choices = u32::try_from(units.len()).unwrap_or(u32::MAX);
                for _ in 0..units.len() {
                    let unit = units[stream.below(choices) as usize];
                    sum += unit.sum;
                    size += unit.size;
                }
            }
            Self::Sums { sums, size: each } => {
                let choices = u32::try_from(sums.len()).unwrap_or(u32::MAX);
                for _ in 0..sums.len() {
                    sum += sums[stream.below(choices) as usize];
                }
                size = each * sums.len() as f64;
            }
            Self::Cells { cells, total } => {
                // A multinomial draw, as binomial ones of what is left.
                let (mut to_draw, mut units_left) = (*total, *total);
                for cell in cells {
                    let chance = cell.count as f64 / units_left as f64;
                    let times = stream.binomial(to_draw, chance) as f64;
                    sum += times * cell.unit.sum;
                    size += times * cell.unit.size;
                    to_draw -= times as u64;
                    units_left -= cell.count;
                }
            }
        }
        sum / size
    }

    /// The sum of all units when each keeps its sign or changes it, both as likely.
    pub(super) fn flipped_sum(&self, stream: &mut RandomStream) -> f64 {
        match self {
            Self::Units(units) => {
                let mut signs = Signs::new(stream);
                units.iter().map(|unit| signs.next(unit.sum)).sum()
            }
            Self::Sums { sums, .. } => {
                let mut signs = Signs::new(stream);
                sums.iter().map(|sum| signs.next(*sum)).sum()
            }
            Self::Cells { cells, .. } => {
                let each = cells.iter().map(|cell| {
                    let kept = stream.binomial(cell.count, 0.5) as f64;
                    cell.unit.sum * (2.0 * kept - cell.count as f64)
                });
                each.sum()
            }
        }
    }
}

/// Random signs, a bit for each.
struct Signs<'a> {
    stream: &'a mut RandomStream,
    bits: u32,
    left: u32,
}

impl<'a> Signs<'a> {
    fn new(stream: &'a mut RandomStream) -> Self {
        Self {
            stream,
            bits: 0,
            left: 0,
        }
    }

    /// The number, with its sign or the other one.
    #[inline]
    fn next(&mut self, number: f64) -> f64 {
        if self.left == 0 {
            (self.bits, self.left) = (self.stream.bits(), 32);
        }
        // A branch would be mispredicted every other time.
        let flipped = f64::from_bits(number.to_bits() ^ u64::from(self.bits & 1) << 63);
        (self.bits, self.left) = (self.bits >> 1, self.left - 1);
        flipped
    }
}

/// Cells of the sorted units that are equal.
fn same(sorted: &[Unit]) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for unit in sorted {
        match cells.last_mut() {
            Some(cell) if cell.unit == *unit => cell.count += 1,
            _ => cells.push(Cell {
                unit: *unit,
                count: 1,
            }),
        }
    }
    cells
}

/// Two cells for each bin of neighbours.
fn condensed(sorted: &[Unit]) -> Vec<Cell> {
    let per_bin = sorted.len().div_ceil(BINS);
    let groups = sorted.chunk_by(|a, b| a.size == b.size);
    let bins = groups.flat_map(|group| group.chunks(per_bin));
    bins.flat_map(two_cells).collect()
}

/// Two values with the mean and the variance of a bin, as often as its third moment asks for. A
/// two-point distribution with the share p above has the skewness (1 − 2p) / √(p(1 − p)).
fn two_cells(bin: &[Unit]) -> impl Iterator<Item = Cell> {
    let n = bin.len() as f64;
    let mean = bin.iter().map(|unit| unit.sum).sum::<f64>() / n;
    let (mut squares, mut cubes) = (0.0, 0.0);
    for unit in bin {
        let distance = unit.sum - mean;
        squares += distance * distance;
        cubes += distance * distance * distance;
    }
    let spread = (squares / n).sqrt();
    let skewness = cubes / n / spread.powi(3);
    let cell = |sum: f64, count: f64| Cell {
        unit: Unit { sum, ..bin[0] },
        count: count as u64,
    };
    let cells = match skewness.is_finite() {
        // All the same, or as good as that.
        false => [Some(cell(mean, n)), None],
        true => {
            let share = 0.5 * (1.0 - skewness / (skewness * skewness + 4.0).sqrt());
            let above = (share * n).round().clamp(1.0, n - 1.0);
            let below = n - above;
            [
                Some(cell(mean - spread * (above / below).sqrt(), below)),
                Some(cell(mean + spread * (below / above).sqrt(), above)),
            ]
        }
    };
    cells.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(n: usize, value: impl Fn(usize) -> f64) -> Vec<Unit> {
        let each = (0..n).map(|at| Unit {
            sum: value(at),
            size: 1.0,
        });
        each.collect()
    }

    fn mean_and_spread(values: &[f64]) -> (f64, f64) {
        let mean = crate::stats::mean(values).expect("values");
        let n = values.len() as f64;
        (mean.value, mean.stderr.expect("several") * n.sqrt())
    }

    #[test]
    fn few_values_become_cells_and_many_stay_units() {
        let three = units(1000, |at| (at % 3) as f64 - 1.0);
        let Population::Cells { cells, total } = Population::of(&three) else {
            panic!("three values");
        };
        assert_eq!((cells.len(), total), (3, 1000));
        let different = units(1000, |at| at as f64);
        assert!(matches!(
            Population::of(&different),
            Population::Sums { sums, size: 1.0 } if sums.len() == 1000
        ));
        let mut sizes = different;
        sizes[7].size = 2.0;
        assert!(matches!(Population::of(&sizes), Population::Units(units) if units == sizes));
    }

    #[test]
    fn cells_and_units_give_the_same_resamples_in_distribution() {
        let values = units(400, |at| f64::from(u8::from(at % 8 == 0)));
        let as_cells = Population::of(&values);
        let as_units = Population::Units(&values);
        let as_sums = Population::single(&values);
        assert!(matches!(as_cells, Population::Cells { .. }));
        assert!(matches!(as_sums, Population::Sums { .. }));
        let draw = |population: &Population<'_>, flipped: bool| {
            let each = (0..4000).map(|at| {
                let mut stream = RandomStream::new(3, at);
                match flipped {
                    true => population.flipped_sum(&mut stream),
                    false => population.resampled_mean(&mut stream),
                }
            });
            mean_and_spread(&each.collect::<Vec<_>>())
        };
        for (flipped, mean, spread) in [
            (false, 0.125, (0.125_f64 * 0.875 / 400.0).sqrt()),
            (true, 0.0, 50_f64.sqrt()),
        ] {
            // How units lie in memory does not show.
            assert_eq!(draw(&as_units, flipped), draw(&as_sums, flipped));
            for population in [&as_cells, &as_units] {
                let found = draw(population, flipped);
                assert!((found.0 - mean).abs() < 0.1 * spread, "{found:?}");
                assert!((found.1 / spread - 1.0).abs() < 0.06, "{found:?}");
            }
        }
    }

    fn moment(cells: &[Cell], power: i32) -> f64 {
        let each = cells.iter();
        let each = each.map(|cell| cell.count as f64 * cell.unit.sum.powi(power));
        each.sum()
    }

    #[test]
    fn condensed_cells_keep_number_mean_variance_and_skewness() {
        let mut values = units(CONDENSED_FROM + 1, |at| (at as f64 * 0.618).sin().exp());
        values[0].size = 2.0;
        let Population::Cells { cells, total } = Population::of(&values) else {
            panic!("many values");
        };
        assert!(cells.len() <= 2 * BINS + 2, "{}", cells.len());
        assert_eq!(total, values.len() as u64);
        assert_eq!(cells.iter().map(|cell| cell.count).sum::<u64>(), total);
        // Whole counts leave a little of the third moment.
        for (power, exact) in [(1, 1e-10), (2, 1e-10), (3, 1e-6)] {
            let of_units: f64 = values.iter().map(|unit| unit.sum.powi(power)).sum();
            assert!(
                (moment(&cells, power) / of_units - 1.0).abs() < exact,
                "{power}"
            );
        }
    }

    #[test]
    fn an_outlier_stays_what_it_is_and_equal_neighbours_stay_one() {
        let outlier = units(CONDENSED_FROM, |at| match at {
            77 => 1e9,
            _ => (at as f64 * 0.618).sin(),
        });
        let Population::Cells { cells, .. } = Population::of(&outlier) else {
            panic!("many values");
        };
        let last = cells.last().expect("cells");
        assert_eq!(last.count, 1);
        assert!((last.unit.sum / 1e9 - 1.0).abs() < 1e-6, "{last:?}");
        let same = two_cells(&units(5, |_| 0.1)).collect::<Vec<_>>();
        assert_eq!(same.iter().map(|cell| cell.count).sum::<u64>(), 5);
        assert!(same.iter().all(|cell| (cell.unit.sum - 0.1).abs() < 1e-9));
        let one = two_cells(&units(1, |_| 0.5)).collect::<Vec<_>>();
        assert_eq!((one.len(), one[0].count, one[0].unit.sum), (1, 1, 0.5));
    }

    /// BCa of cells and of units, on skewed data, are the same but for the noise of drawing.
    #[test]
    fn cells_give_the_interval_that_units_give() {
        use crate::stats::Resampling;
        let mut stream = RandomStream::new(11, 0);
        let values: Vec<Unit> = (0..CONDENSED_FROM)
            .map(|_| Unit {
                sum: -stream.unit().ln(),
                size: 1.0,
            })
            .collect();
        let ends = |population: &Population<'_>| {
            let settings = Resampling {
                resamples: 1000,
                ..Resampling::seeded(3)
            };
            let mut means = settings.each(|stream| population.resampled_mean(stream));
            means.sort_unstable_by(f64::total_cmp);
            [0.025, 0.5, 0.975].map(|share| super::super::quantile(&means, share))
        };
        let (cells, units) = (Population::of(&values), Population::single(&values));
        assert!(matches!(cells, Population::Cells { .. }));
        let (cells, units) = (ends(&cells), ends(&units));
        // The standard error of such a quantile is below 0.12 of that of the mean.
        let stderr = 1.0 / (CONDENSED_FROM as f64).sqrt();
        for (cells, units) in cells.iter().zip(units) {
            assert!((cells - units).abs() < 0.7 * stderr, "{cells} {units}");
        }
    }
}
