//! Which rows match a filter, in which order.

use std::cmp::Ordering;

use crate::query::Query;
use crate::row_index::RowIndex;

/// What rows are asked for, but for words in their texts.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Filter {
    system: Option<u16>,
    dataset: Option<u16>,
    show: Show,
    score: Option<String>,
    min: Option<f64>,
    max: Option<f64>,
    sort: Sort,
    descending: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Show {
    #[default]
    All,
    Failed,
    Unscored,
    Flipped,
    Lost,
    Won,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Sort {
    #[default]
    Order,
    Flips,
    Quality,
    Latency,
    OutputTokens,
    PromptTokens,
    System,
}

impl Filter {
    pub(crate) fn of(query: &Query) -> Self {
        let sort = query.get("sort").unwrap_or_default();
        Self {
            system: query.number("system"),
            dataset: query.number("dataset"),
            show: match query.get("show") {
                Some("failed") => Show::Failed,
                Some("unscored") => Show::Unscored,
                Some("flipped") => Show::Flipped,
                Some("lost") => Show::Lost,
                Some("won") => Show::Won,
                _ => Show::All,
            },
            score: query.get("score").map(str::to_owned),
            min: query.number("min"),
            max: query.number("max"),
            sort: match sort.trim_start_matches('-') {
                "flips" => Sort::Flips,
                "quality" => Sort::Quality,
                "latency" => Sort::Latency,
                "output_tokens" => Sort::OutputTokens,
                "prompt_tokens" => Sort::PromptTokens,
                "system" => Sort::System,
                _ => Sort::Order,
            },
            descending: sort.starts_with('-'),
        }
    }

    /// Whether it asks which rows flipped.
    pub(crate) fn needs_flips(&self) -> bool {
        self.sort == Sort::Flips || matches!(self.show, Show::Flipped | Show::Lost | Show::Won)
    }

    /// The numbers of the rows that match, in order.
    pub(crate) fn select(&self, index: &RowIndex) -> Vec<u32> {
        let n = index.len();
        let score = self.score.as_deref().and_then(|name| index.score(name));
        // A score that no column is there for matches no range.
        let is_known = self.score.is_none() || score.is_some();
        let in_range = |row: usize| -> bool {
            if self.min.is_none() && self.max.is_none() {
                return true;
            }
            let (value, min, max) = match score {
                // Both sides narrow, so that a bound that is typed meets the value that it is.
                Some(column) => {
                    let narrow = |bound: Option<f64>| bound.map(|bound| f64::from(bound as f32));
                    let value = column.get(row).copied().unwrap_or(f32::NAN);
                    (f64::from(value), narrow(self.min), narrow(self.max))
                }
                None if is_known => (index.quality[row], self.min, self.max),
                None => (f64::NAN, self.min, self.max),
            };
            !value.is_nan()
                && min.is_none_or(|min| value >= min)
                && max.is_none_or(|max| value <= max)
        };
        let flip = |row: usize| index.flip.get(row).copied().unwrap_or(0);
        let shows = |row: usize| match self.show {
            Show::All => true,
            Show::Failed => index.outcome[row] == 2,
            Show::Unscored => index.outcome[row] == 1,
            Show::Flipped => flip(row) != 0,
            Show::Lost => flip(row) < 0,
            Show::Won => flip(row) > 0,
        };
        // Room that is not used is no memory.
        let mut found: Vec<u32> = Vec::with_capacity(n);
        for row in 0..n {
            if self
                .system
                .is_some_and(|system| index.system[row] != system)
                || self
                    .dataset
                    .is_some_and(|dataset| index.dataset[row] != dataset)
                || !shows(row)
                || !in_range(row)
            {
                continue;
            }
            found.push(u32::try_from(row).unwrap_or(u32::MAX));
        }
        found.shrink_to_fit();
        self.order(&mut found, index);
        found
    }

    fn order(&self, found: &mut [u32], index: &RowIndex) {
        let descending = self.descending;
        let by = |found: &mut [u32], value: &dyn Fn(usize) -> f64| {
            found.sort_unstable_by(|a, b| {
                let (x, y) = (value(*a as usize), value(*b as usize));
                // What has no value comes last, whichever way.
                let missing = x.is_nan().cmp(&y.is_nan());
                let order = x.partial_cmp(&y).unwrap_or(Ordering::Equal);
                let order = if descending { order.reverse() } else { order };
                missing.then(order).then(a.cmp(b))
            });
        };
        match self.sort {
            Sort::Order if descending => found.reverse(),
            // They were found in that order.
            Sort::Order => {}
            Sort::Flips => {
                let rank = |row: u32| match index.flip.get(row as usize) {
                    Some(-1) => 0_u8,
                    Some(1) => 1,
                    _ => 2,
                };
                found.sort_unstable_by_key(|row| (rank(*row), index.position[*row as usize], *row));
            }
            Sort::Quality => by(found, &|row| index.quality[row]),
            Sort::Latency => by(found, &|row| index.latency[row]),
            Sort::OutputTokens => by(found, &|row| f64::from(index.output_tokens[row])),
            Sort::PromptTokens => by(found, &|row| {
                index.prompt_tokens(row).map_or(f64::NAN, f64::from)
            }),
            Sort::System => by(found, &|row| f64::from(index.system[row])),
        }
    }
}
