//! AlpacaEval's length-controlled win rate: what it would be if both answers had the same length.
//!
//! Written by hand for parity with the authors' fit (scikit-learn's `LogisticRegressionCV` with
//! an L1 penalty and five folds); no statistics crate here has that.
//! Dubois et al. (2024): a logistic model of the preference on tanh of the standardised
//! difference in length, the model, and where it is known how difficult the instruction is;
//! the length is then set to 0. With the difficulty it is the authors' variant
//! `length_controlled_noreg`, without it their `length_controlled_minimal`. The leaderboard
//! has `length_controlled_v1`, which also pulls the fit towards two baselines whose verdicts
//! the authors publish.

/// How many parts the rows are cut into to choose how strongly the fit is held back.
const FOLDS: usize = 5;
/// How many strengths are tried, from 10⁻⁴ to 10⁴.
const STRENGTHS: usize = 10;
/// When a fit is as good as it gets, and how often it is improved at most.
const TOLERANCE: f64 = 1e-10;
const ROUNDS: usize = 1000;

/// The most terms of the model.
const TERMS: usize = 3;
/// The place of the length among them.
const LENGTH: usize = 0;

/// An answer beside that of a baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedPair {
    /// How far the judge prefers the model, from 0 to 1.
    pub preference: f64,
    /// How many characters the baseline's answer is longer than the model's.
    pub length: f64,
    /// How difficult the instruction is.
    pub difficulty: Option<f64>,
}

/// The chance that the model is preferred, per pair, had both answers the same
/// length. Difficulties count when all pairs have one. `None` for fewer than five pairs, of
/// which a model says nothing, and where the authors' own check calls the fit a failure: of
/// answers that are nearly all longer, or all shorter, it can only guess.
pub fn length_controlled(pairs: &[JudgedPair]) -> Option<Vec<f64>> {
    if pairs.len() < FOLDS {
        return None;
    }
    let lengths: Vec<f64> = pairs.iter().map(|one| one.length).collect();
    let spread = spread(&lengths);
    let difficult = pairs.iter().all(|one| one.difficulty.is_some());
    let rows: Vec<Row> = pairs
        .iter()
        .map(|one| {
            let length = match spread > 0.0 {
                true => (one.length / spread).tanh(),
                false => 0.0,
            };
            let difficulty = one.difficulty.filter(|_| difficult).unwrap_or(0.0);
            Row {
                terms: [length, 1.0, difficulty],
                preference: one.preference,
            }
        })
        .collect();
    let weights = fit(&rows, strength(&rows));
    let at_equal_length = rows.iter().map(|row| {
        let mut terms = row.terms;
        terms[LENGTH] = 0.0;
        logistic(product(&weights, &terms))
    });
    let at_equal_length: Vec<f64> = at_equal_length.collect();
    let raw: Vec<f64> = rows.iter().map(|row| row.preference).collect();
    (!is_extreme(mean(&raw), mean(&at_equal_length))).then_some(at_equal_length)
}

/// Whether a win rate changes by so much that the authors call it a sign of failure: by ten
/// points and by a quarter of the way to 0 or to 1.
fn is_extreme(before: f64, after: f64) -> bool {
    let low = (before - before / 4.0).min(before - 0.1);
    let high = (before + (1.0 - before) / 4.0).max(before + 0.1);
    !(low..=high).contains(&after)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// What the model is fitted to.
struct Row {
    terms: [f64; TERMS],
    preference: f64,
}

/// The strength that predicts best what it was not fitted to; the weakest of equals.
fn strength(rows: &[Row]) -> f64 {
    let mut best = (f64::INFINITY, 1.0);
    for step in 0..STRENGTHS {
        let exponent = -4.0 + 8.0 * step as f64 / (STRENGTHS - 1) as f64;
        let strength = 10_f64.powf(exponent);
        let losses = (0..FOLDS).map(|fold| {
            let (mut kept, mut held) = (Vec::new(), Vec::new());
            for (at, row) in rows.iter().enumerate() {
                match at % FOLDS == fold {
                    true => held.push(row),
                    false => kept.push(row),
                }
            }
            let weights = fit(kept.iter().copied(), strength);
            let losses = held.iter().map(|row| loss(&weights, row));
            losses.sum::<f64>() / held.len() as f64
        });
        let mean = losses.sum::<f64>() / FOLDS as f64;
        if mean < best.0 {
            best = (mean, strength);
        }
    }
    best.1
}

/// Weights that make `Σ|w| + strength · Σ loss` least: one after the other by Newton's step
/// on what is smooth of it, as far as that makes it smaller.
fn fit<'a>(rows: impl IntoIterator<Item = &'a Row>, strength: f64) -> [f64; TERMS] {
    let rows: Vec<&Row> = rows.into_iter().collect();
    let cost = |weights: &[f64; TERMS]| {
        let size: f64 = weights.iter().map(|weight| weight.abs()).sum();
        size + strength * rows.iter().map(|row| loss(weights, row)).sum::<f64>()
    };
    let mut weights = [0.0; TERMS];
    let mut now = cost(&weights);
    for _ in 0..ROUNDS {
        let mut largest = 0_f64;
        for term in 0..TERMS {
            let (mut slope, mut bend) = (0.0, 1e-12);
            for row in &rows {
                let chance = logistic(product(&weights, &row.terms));
                slope += strength * (chance - row.preference) * row.terms[term];
                bend += strength * chance * (1.0 - chance) * row.terms[term] * row.terms[term];
            }
            let weight = weights[term];
            let mut step = if slope + 1.0 <= bend * weight {
                -(slope + 1.0) / bend
            } else if slope - 1.0 >= bend * weight {
                -(slope - 1.0) / bend
            } else {
                -weight
            };
            while step.abs() > TOLERANCE {
                weights[term] = weight + step;
                let then = cost(&weights);
                if then <= now {
                    now = then;
                    largest = largest.max(step.abs());
                    break;
                }
                weights[term] = weight;
                step /= 2.0;
            }
        }
        if largest <= TOLERANCE {
            break;
        }
    }
    weights
}

/// The cross entropy of a prediction.
fn loss(weights: &[f64; TERMS], row: &Row) -> f64 {
    let z = product(weights, &row.terms);
    // log(1 + e^z) without overflow.
    let soft = z.max(0.0) + (-z.abs()).exp().ln_1p();
    soft - row.preference * z
}

fn product(weights: &[f64; TERMS], terms: &[f64; TERMS]) -> f64 {
    weights.iter().zip(terms).map(|(a, b)| a * b).sum()
}

fn logistic(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// The standard deviation of a sample; 0 of fewer than two values.
fn spread(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    if n < 2.0 {
        return 0.0;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (n - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(pairs: &[JudgedPair]) -> Option<f64> {
        let chances = length_controlled(pairs)?;
        Some(chances.iter().sum::<f64>() / chances.len() as f64)
    }

    /// A model that wins the more, the longer its answers are.
    fn wordy(n: usize, difficulty: Option<f64>) -> Vec<JudgedPair> {
        let each = (0..n).map(|at| {
            let length = 400.0 - 50.0 * (at % 20) as f64;
            let z = -0.8 - 1.5 * (length / 290.0_f64).tanh();
            JudgedPair {
                preference: 1.0 / (1.0 + (-z).exp()),
                length,
                difficulty,
            }
        });
        each.collect()
    }

    #[test]
    fn what_only_length_won_is_taken_away() {
        let pairs = wordy(400, None);
        let raw = pairs.iter().map(|one| one.preference).sum::<f64>() / 400.0;
        let controlled = rate(&pairs).expect("enough");
        // Without its length the model has e^-0.8 to 1.
        let expected = logistic(-0.8);
        assert!(
            (controlled - expected).abs() < 0.01,
            "{controlled} {expected}"
        );
        assert!(raw > controlled + 0.01, "{raw} {controlled}");
    }

    #[test]
    fn difficulties_count_when_all_are_known() {
        let mut pairs = wordy(50, Some(1.0));
        let known = rate(&pairs);
        pairs[0].difficulty = None;
        let lacking = rate(&pairs);
        let none = rate(&wordy(50, None));
        assert_eq!(lacking, none);
        assert!(known.is_some());
    }

    #[test]
    fn a_guess_is_no_number() {
        for (before, after, expected) in [
            (0.2, 0.09, true),
            (0.2, 0.39, false),
            (0.2, 0.41, true),
            (0.5, 0.38, false),
            (0.5, 0.37, true),
            (0.5, 0.63, true),
        ] {
            assert_eq!(is_extreme(before, after), expected, "{before} {after}");
        }
    }

    #[test]
    fn odd_data_give_numbers_or_nothing() {
        let same = |preference, n| {
            let one = JudgedPair {
                preference,
                length: 7.0,
                difficulty: None,
            };
            rate(&vec![one; n])
        };
        assert_eq!(same(0.5, 4), None);
        assert!((same(0.5, 20).expect("enough") - 0.5).abs() < 1e-9);
        let always = same(1.0, 100).expect("enough");
        assert!(always > 0.99 && always <= 1.0, "{always}");
        assert!(same(0.0, 100).expect("enough") < 0.01);
    }
}
