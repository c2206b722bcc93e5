//! What is drawn from: units, which are single differences or whole clusters, and cells of units
//! that are the same.
//!
//! Of many units with few different values a resample needs one binomial draw per cell in place
//! of one draw per unit, with exactly the same distribution. Of very many units that are all
//! different, neighbours are put into two cells each that keep their number, mean and variance;
//! the third moment within a bin is all that is lost, and of more than 100,000 units it shows
//! nowhere.

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
const CONDENSED_FROM: usize = 100_000;
/// Into so many bins of the same number of units.
const BINS: usize = 256;

/// What is drawn from, in the form in which a resample is quickest.
pub(super) enum Population<'a> {
    Units(&'a [Unit]),
    Cells { cells: Vec<Cell>, total: u64 },
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
            false => Self::Units(units),
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
                let mut sum = 0.0;
                for units in units.chunks(32) {
                    let mut signs = stream.bits();
                    for unit in units {
                        sum += match signs & 1 {
                            0 => unit.sum,
                            _ => -unit.sum,
                        };
                        signs >>= 1;
                    }
                }
                sum
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

/// Two cells for each bin of neighbours, with their mean and variance.
fn condensed(sorted: &[Unit]) -> Vec<Cell> {
    let per_bin = sorted.len().div_ceil(BINS).next_multiple_of(2);
    let mut cells = Vec::new();
    for group in sorted.chunk_by(|a, b| a.size == b.size) {
        for bin in group.chunks(per_bin) {
            // Two equal halves need an even number.
            let (odd, even) = bin.split_at(bin.len() % 2);
            cells.extend(odd.iter().map(|unit| Cell {
                unit: *unit,
                count: 1,
            }));
            let n = even.len() as f64;
            let mean = even.iter().map(|unit| unit.sum).sum::<f64>() / n;
            let squares: f64 = even.iter().map(|unit| (unit.sum - mean).powi(2)).sum();
            let spread = (squares / n).sqrt();
            for sum in [mean - spread, mean + spread] {
                let unit = Unit { sum, ..group[0] };
                let count = even.len() as u64 / 2;
                cells.extend((count > 0).then_some(Cell { unit, count }));
            }
        }
    }
    cells
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
            Population::Units(units) if units.len() == 1000
        ));
    }

    #[test]
    fn cells_and_units_give_the_same_resamples_in_distribution() {
        let values = units(400, |at| f64::from(u8::from(at % 8 == 0)));
        let as_cells = Population::of(&values);
        let as_units = Population::Units(&values);
        assert!(matches!(as_cells, Population::Cells { .. }));
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
            for population in [&as_cells, &as_units] {
                let found = draw(population, flipped);
                assert!((found.0 - mean).abs() < 0.1 * spread, "{found:?}");
                assert!((found.1 / spread - 1.0).abs() < 0.06, "{found:?}");
            }
        }
    }

    #[test]
    fn condensed_cells_keep_number_mean_and_variance() {
        let mut values = units(CONDENSED_FROM + 1, |at| (at as f64 * 0.618).sin().exp());
        values[0].size = 2.0;
        let Population::Cells { cells, total } = Population::of(&values) else {
            panic!("many values");
        };
        assert!(cells.len() <= 2 * BINS + 2, "{}", cells.len());
        assert_eq!(total, values.len() as u64);
        assert_eq!(cells.iter().map(|cell| cell.count).sum::<u64>(), total);
        for power in [1, 2] {
            let of_units: f64 = values.iter().map(|unit| unit.sum.powi(power)).sum();
            let of_cells: f64 = cells
                .iter()
                .map(|cell| cell.count as f64 * cell.unit.sum.powi(power))
                .sum();
            assert!((of_cells / of_units - 1.0).abs() < 1e-10, "{power}");
        }
    }
}
