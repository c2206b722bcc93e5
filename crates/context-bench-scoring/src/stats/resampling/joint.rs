//! The same examples drawn for every column: means of several systems and measures that
//! belong together.

use super::Resampling;
use super::random_stream::RandomStream;

/// The means of all columns, resample by resample.
pub(in crate::stats) struct JointResamples {
    pub(in crate::stats) means: Vec<Vec<f64>>,
}

impl JointResamples {
    /// Draws clusters of examples; `clusters` are the examples of each, and every column has
    /// a value for each example.
    pub(in crate::stats) fn draw(
        columns: &[&[f64]],
        clusters: &[Vec<usize>],
        resampling: &Resampling,
    ) -> Self {
        // The sums of each cluster, column beside column, are all that a resample needs.
        let width = columns.len();
        let mut sums = vec![0.0; clusters.len() * width];
        for (cluster, sums) in clusters.iter().zip(sums.chunks_mut(width.max(1))) {
            for (sum, column) in sums.iter_mut().zip(columns) {
                *sum = cluster.iter().map(|at| column[*at]).sum();
            }
        }
        let choices = u32::try_from(clusters.len()).unwrap_or(u32::MAX);
        let draw = |stream: &mut RandomStream| {
            let mut means = vec![0.0; width];
            let mut size = 0;
            for _ in 0..clusters.len() {
                let cluster = stream.below(choices) as usize;
                size += clusters[cluster].len();
                let sums = &sums[cluster * width..][..width];
                for (mean, sum) in means.iter_mut().zip(sums) {
                    *mean += sum;
                }
            }
            means.iter_mut().for_each(|mean| *mean /= size as f64);
            means
        };
        Self {
            means: resampling.each(draw),
        }
    }

    /// A number of each resample, sorted.
    pub(in crate::stats) fn sorted(&self, number: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let mut numbers: Vec<f64> = self.means.iter().map(|means| number(means)).collect();
        numbers.sort_unstable_by(f64::total_cmp);
        numbers
    }
}
