//! CompressionRatio: how much smaller the processed maps are.

use super::Metric;
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
        let (mut n, mut input, mut output) = (0_usize, 0_u64, 0_u64);
        for row in rows.iter().filter(|row| row.is_completed()) {
            n += 1;
            input += row.input_tokens;
            output += row.output_tokens;
        }
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
            0 if rows.is_empty() => [Some(0.0); 3],
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
