//! `PageRow`: one row as the page keeps it, and the columns that are made of its numbers.

use std::borrow::Cow;

/// What became of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Outcome {
    /// There is a value from every evaluator that applies.
    #[default]
    Scored,
    /// There is an answer, but an evaluator gave no value.
    Unscored,
    /// There is no answer.
    Failed,
    /// There is an answer that no evaluator applies to.
    NotApplicable,
}

impl Outcome {
    /// Its number in the column; the script knows them by their order.
    pub fn code(self) -> u32 {
        match self {
            Self::Scored => 0,
            Self::Unscored => 1,
            Self::Failed => 2,
            Self::NotApplicable => 3,
        }
    }
}

/// One example through one system.
#[derive(Debug, Clone, Default)]
pub struct PageRow<'a> {
    /// The number of the system in [`PageData::systems`](crate::PageData::systems).
    pub system: usize,
    /// The dataset; with the id it says which rows are about the same example.
    pub dataset: Cow<'a, str>,
    /// The id of the example.
    pub example_id: Cow<'a, str>,
    /// The score that counts for the example's dataset.
    pub quality: Option<f64>,
    /// Values in the order of [`PageData::scores`](crate::PageData::scores).
    pub scores: Vec<Option<f64>>,
    /// Tokens of the example.
    pub input_tokens: u64,
    /// Tokens after the context layer.
    pub output_tokens: u64,
    /// Tokens that were sent.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer.
    pub completion_tokens: Option<u64>,
    /// Seconds inside the system.
    pub latency: f64,
    /// What became of it.
    pub outcome: Outcome,
    /// The kind of failure.
    pub failure_kind: Option<&'a str>,
    /// Whether the answer is of an earlier run.
    pub cached: bool,
    /// What was asked. Texts of the example are taken from its first row.
    pub question: Option<Cow<'a, str>>,
    /// What would be right.
    pub answer: Option<Cow<'a, str>>,
    /// The context of the example, before any layer.
    pub context: Option<Cow<'a, str>>,
    /// The context as the layer left it.
    pub sent: Option<Cow<'a, str>>,
    /// What came back.
    pub response: Option<Cow<'a, str>>,
    /// What the model thought before it answered.
    pub reasoning: Option<Cow<'a, str>>,
    /// What went wrong.
    pub error: Option<Cow<'a, str>>,
    /// Why scores are missing or what they are: name of the score and reason.
    pub reasons: Vec<(String, String)>,
    /// Further facts for people, such as why the answer ended.
    pub facts: Vec<(String, String)>,
}

/// Names of the columns of real numbers that stand before those of the scores.
pub(crate) const REALS: [&str; 6] = [
    "quality",
    "input_tokens",
    "output_tokens",
    "prompt_tokens",
    "completion_tokens",
    "latency",
];

/// Names of the columns of whole numbers.
pub(crate) const WHOLES: [&str; 6] = ["system", "dataset", "example", "outcome", "kind", "cached"];

/// The numbers of some rows, column by column.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    reals: Vec<Vec<f64>>,
    wholes: Vec<Vec<u32>>,
    len: usize,
}

impl Columns {
    pub(crate) fn new(n_scores: usize) -> Self {
        Self {
            reals: vec![Vec::new(); REALS.len() + n_scores],
            wholes: vec![Vec::new(); WHOLES.len()],
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a row, with the numbers that its dataset, example and kind of failure have in the
    /// file. A missing value is not a number.
    pub(crate) fn push(&mut self, row: &PageRow<'_>, dataset: u32, example: u32, kind: u32) {
        let optional = |n: Option<u64>| n.map_or(f64::NAN, |n| n as f64);
        let fixed = [
            row.quality.unwrap_or(f64::NAN),
            row.input_tokens as f64,
            row.output_tokens as f64,
            optional(row.prompt_tokens),
            optional(row.completion_tokens),
            row.latency,
        ];
        let scores = row.scores.iter().map(|value| value.unwrap_or(f64::NAN));
        let mut values = fixed.into_iter().chain(scores);
        for column in &mut self.reals {
            column.push(values.next().unwrap_or(f64::NAN));
        }
        let system = u32::try_from(row.system).unwrap_or(u32::MAX);
        let wholes = [
            system,
            dataset,
            example,
            row.outcome.code(),
            kind,
            u32::from(row.cached),
        ];
        for (column, value) in self.wholes.iter_mut().zip(wholes) {
            column.push(value);
        }
        self.len += 1;
    }

    /// The columns one after another, little-endian, real numbers first (they need the
    /// alignment), and empties them.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len * (self.reals.len() * 8 + WHOLES.len() * 4));
        for column in &mut self.reals {
            bytes.extend(column.drain(..).flat_map(f64::to_le_bytes));
        }
        for column in &mut self.wholes {
            bytes.extend(column.drain(..).flat_map(u32::to_le_bytes));
        }
        self.len = 0;
        bytes
    }
}
