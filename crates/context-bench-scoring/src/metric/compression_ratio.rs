//! CompressionRatio: how much smaller the processed maps are.

use super::Metric;
use super::row_sum::{RowSum, of_rows};
use crate::model::{EvalRow, Measurement, Summary, Unit};

/// `compression_ratio` = 1 − Σ output tokens / Σ input tokens over completed
/// rows, with the mean token counts. Negative when outputs are larger.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompressionRatio;

impl Metric for CompressionRatio {
    fn name(&self) -> &str {
        "compression_ratio"
    }

    fn counts_maps(&self) -> bool {
        true
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        of_rows(Box::new(MapSums::default()), rows, None)
    }

    fn row_sum(&self) -> Option<Box<dyn RowSum + '_>> {
        Some(Box::new(MapSums::default()))
    }
}

#[derive(Default)]
struct MapSums {
    n_rows: usize,
    n: usize,
    input: u64,
    output: u64,
}

impl RowSum for MapSums {
    fn add(&mut self, row: &EvalRow) {
        self.n_rows += 1;
        if row.is_completed() {
            self.n += 1;
            self.input += row.input_tokens;
            self.output += row.output_tokens;
        }
    }

    fn finish(self: Box<Self>, _: Option<&[u32]>) -> Summary {
        let Self {
            n_rows,
            n,
            input,
            output,
        } = *self;
        let keys = [
            ("compression_ratio", Unit::Share),
            ("mean_input_tokens", Unit::Tokens),
            ("mean_output_tokens", Unit::Tokens),
        ];
        let ratio = if input == 0 {
            0.0
        } else {
            1.0 - output as f64 / input as f64
        };
        let values = match n {
            0 if n_rows == 0 => [Some(0.0); 3],
            0 => [None; 3],
            _ => [
                Some(ratio),
                Some(input as f64 / n as f64),
                Some(output as f64 / n as f64),
            ],
        };
        keys.into_iter()
            .zip(values)
            .map(|((name, unit), value)| {
                let n = Some(n);
                (
                    name,
                    Measurement {
                        value,
                        unit,
                        n,
                        ..Measurement::default()
                    },
                )
            })
            .collect()
    }
}
