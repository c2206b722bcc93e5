//! Translation edit rate over a corpus, equal to sacrebleu's default.
//!
//! Edits are insertions, deletions, substitutions and shifts of word sequences; which
//! shifts are tried follows the heuristics of Tercom.
//!
//! Written by hand for parity with sacrebleu, digit for digit.

use context_bench_template::python::split_whitespace;

const MAX_SHIFT_SIZE: usize = 10;
const MAX_SHIFT_DISTANCE: usize = 50;
const MAX_CANDIDATES: usize = 1000;
const BEAM: usize = 25;
const FAR: u64 = 10_000_000_000_000_000;

/// What one sentence adds to the corpus.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TerStats {
    edits: u64,
    length: f64,
}

impl TerStats {
    /// Compares a prediction with its references: the fewest edits, the mean length.
    pub fn of(prediction: &str, references: &[&str]) -> Self {
        let prediction = words(prediction);
        let mut stats = Self {
            edits: FAR,
            length: 0.0,
        };
        for reference in references {
            let reference = words(reference);
            let prediction: Vec<&str> = prediction.iter().map(String::as_str).collect();
            let reference: Vec<&str> = reference.iter().map(String::as_str).collect();
            stats.edits = stats.edits.min(edits(&prediction, &reference));
            stats.length += reference.len() as f64;
        }
        stats.length /= references.len().max(1) as f64;
        stats
    }

    /// The sum over a corpus.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        self.edits += other.edits;
        self.length += other.length;
        self
    }

    /// Edits per hundred reference words.
    pub fn score(&self) -> f64 {
        if self.length > 0.0 {
            100.0 * (self.edits as f64 / self.length)
        } else if self.edits > 0 {
            100.0
        } else {
            0.0
        }
    }
}

fn words(text: &str) -> Vec<String> {
    split_whitespace(&text.to_lowercase())
        .map(str::to_owned)
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Edit {
    Keep,
    Substitute,
    Insert,
    Delete,
    Unknown,
}

fn edits(prediction: &[&str], reference: &[&str]) -> u64 {
    if reference.is_empty() {
        return prediction.len() as u64;
    }
    let mut shifts = 0;
    let mut current = prediction.to_vec();
    let mut checked = 0;
    loop {
        let (gain, shifted) = best_shift(&current, reference, &mut checked);
        if checked >= MAX_CANDIDATES || gain <= 0 {
            break;
        }
        shifts += 1;
        current = shifted;
    }
    shifts + distance(&current, reference).0
}

/// Gain, then length, then how early the words and their target are.
type Rank = (i64, usize, i64, i64);

/// The shift that helps most, and by how many edits.
fn best_shift<'w>(
    prediction: &[&'w str],
    reference: &[&'w str],
    checked: &mut usize,
) -> (i64, Vec<&'w str>) {
    let (before, trace) = distance(prediction, reference);
    let alignment = align(&trace, reference.len());
    let mut best: Option<(Rank, Vec<&'w str>)> = None;
    let wrong = |errors: &[bool], start: usize, length: usize| {
        errors.iter().skip(start).take(length).any(|error| *error)
    };
    'pairs: for start in 0..prediction.len() {
        for target in 0..reference.len() {
            if start.abs_diff(target) > MAX_SHIFT_DISTANCE {
                continue;
            }
            let mut length = 0;
            while length < MAX_SHIFT_SIZE
                && start + length < prediction.len()
                && target + length < reference.len()
                && prediction[start + length] == reference[target + length]
            {
                length += 1;
                if !wrong(&alignment.prediction_errors, start, length)
                    || !wrong(&alignment.reference_errors, target, length)
                {
                    continue;
                }
                let at = alignment.places.get(target).copied().unwrap_or(-1);
                let (low, high) = (start as i64, (start + length) as i64);
                if (low..high).contains(&at) {
                    continue;
                }
                let mut last = -1;
                for offset in 0..=length {
                    // Before the first word of the target, then behind each of its words.
                    let place = match (target + offset).checked_sub(1) {
                        None => 0,
                        Some(word) => match alignment.places.get(word) {
                            Some(place) => place + 1,
                            None => break,
                        },
                    };
                    if place == last {
                        continue;
                    }
                    last = place;
                    let shifted = shift(
                        prediction,
                        start,
                        length,
                        usize::try_from(place).unwrap_or(0),
                    );
                    let gain = before as i64 - distance(&shifted, reference).0 as i64;
                    let rank = (gain, length, -(start as i64), -place);
                    *checked += 1;
                    if best.as_ref().is_none_or(|(most, _)| rank > *most) {
                        best = Some((rank, shifted));
                    }
                }
                if *checked >= MAX_CANDIDATES {
                    break 'pairs;
                }
            }
        }
    }
    match best {
        Some(((gain, ..), shifted)) => (gain, shifted),
        None => (0, prediction.to_vec()),
    }
}

fn shift<'w>(words: &[&'w str], start: usize, length: usize, target: usize) -> Vec<&'w str> {
    let moved = &words[start..start + length];
    let (before, between, after) = if target < start {
        return [
            &words[..target],
            moved,
            &words[target..start],
            &words[start + length..],
        ]
        .concat();
    } else if target > start + length {
        (
            &words[..start],
            &words[start + length..target],
            &words[target..],
        )
    } else {
        let end = (length + target).min(words.len());
        (&words[..start], &words[start + length..end], &words[end..])
    };
    [before, between, moved, after].concat()
}

struct Alignment {
    /// For each reference word, the place in the prediction it is aligned to.
    places: Vec<i64>,
    reference_errors: Vec<bool>,
    prediction_errors: Vec<bool>,
}

/// The trace rewrites the prediction into the reference; read the other way round.
fn align(trace: &[Edit], n_reference: usize) -> Alignment {
    let mut alignment = Alignment {
        places: Vec::with_capacity(n_reference),
        reference_errors: Vec::with_capacity(n_reference),
        prediction_errors: Vec::new(),
    };
    let mut at = -1;
    for edit in trace {
        match edit {
            Edit::Keep | Edit::Substitute => {
                at += 1;
                let wrong = *edit == Edit::Substitute;
                alignment.places.push(at);
                alignment.reference_errors.push(wrong);
                alignment.prediction_errors.push(wrong);
            }
            Edit::Delete => {
                at += 1;
                alignment.prediction_errors.push(true);
            }
            Edit::Insert | Edit::Unknown => {
                alignment.places.push(at);
                alignment.reference_errors.push(true);
            }
        }
    }
    alignment
}

/// Levenshtein distance near the diagonal, with the edits.
fn distance(prediction: &[&str], reference: &[&str]) -> (u64, Vec<Edit>) {
    let (n, m) = (prediction.len(), reference.len());
    let ratio = if n == 0 { 1.0 } else { m as f64 / n as f64 };
    let beam = if (BEAM as f64) < ratio / 2.0 {
        (ratio / 2.0 + BEAM as f64).ceil() as usize
    } else {
        BEAM
    };
    let width = m + 1;
    let mut cells = vec![(FAR, Edit::Unknown); (n + 1) * width];
    for (j, cell) in cells.iter_mut().take(width).enumerate() {
        *cell = (j as u64, Edit::Insert);
    }
    for i in 1..=n {
        let diagonal = (i as f64 * ratio).floor() as usize;
        let low = diagonal.saturating_sub(beam);
        let high = if i == n {
            width
        } else {
            width.min(diagonal + beam)
        };
        for j in low..high {
            let above = cells[(i - 1) * width + j].0 + 1;
            if j == 0 {
                cells[i * width] = (above, Edit::Delete);
                continue;
            }
            let corner = cells[(i - 1) * width + j - 1].0;
            let straight = if prediction[i - 1] == reference[j - 1] {
                (corner, Edit::Keep)
            } else {
                (corner + 1, Edit::Substitute)
            };
            let left = cells[i * width + j - 1].0 + 1;
            let mut best = cells[i * width + j];
            for option in [straight, (above, Edit::Delete), (left, Edit::Insert)] {
                if best.0 > option.0 {
                    best = option;
                }
            }
            cells[i * width + j] = best;
        }
    }
    let mut trace = Vec::with_capacity(n.max(m));
    let (mut i, mut j) = (n, m);
    while i > 0 || j > 0 {
        let edit = cells[i * width + j].1;
        trace.push(edit);
        match edit {
            Edit::Keep | Edit::Substitute => {
                i = i.saturating_sub(1);
                j = j.saturating_sub(1);
            }
            Edit::Delete => i = i.saturating_sub(1),
            Edit::Insert => j = j.saturating_sub(1),
            Edit::Unknown => break,
        }
    }
    trace.reverse();
    (cells[n * width + m].0, trace)
}
