//! The product of matrices, and what a transformer does with each number or row.

/// A matrix inside a slice of numbers.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    pub(super) numbers: &'a [f32],
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// From a row to the next.
    pub(super) row_step: usize,
    /// From a column to the next.
    pub(super) column_step: usize,
}

impl<'a> Matrix<'a> {
    /// Rows of so many numbers, `row_step` apart.
    pub(super) fn of(numbers: &'a [f32], rows: usize, columns: usize, row_step: usize) -> Self {
        Self {
            numbers,
            rows,
            columns,
            row_step,
            column_step: 1,
        }
    }

    /// Rows and columns exchanged.
    pub(super) fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }

    fn fits(&self) -> bool {
        reaches(self.rows, self.row_step, self.columns, self.column_step) <= self.numbers.len()
    }
}

/// How many numbers a matrix reaches over.
fn reaches(rows: usize, row_step: usize, columns: usize, column_step: usize) -> usize {
    match (rows, columns) {
        (0, _) | (_, 0) => 0,
        _ => (rows - 1) * row_step + (columns - 1) * column_step + 1,
    }
}

/// `to = scale · a · b + keep · to`, where rows of `to` are `row_step` apart.
///
/// The only unsafe code of the crate. A number of `to` depends on its row of `a` and its
/// column of `b` alone, so a text has the same vector whatever it is computed with.
#[expect(
    unsafe_code,
    reason = "`matrixmultiply` takes pointers; the bounds are checked before"
)]
pub(super) fn multiply(
    scale: f32,
    a: Matrix<'_>,
    b: Matrix<'_>,
    keep: f32,
    to: &mut [f32],
    row_step: usize,
) {
    assert!(a.fits() && b.fits() && a.columns == b.rows && row_step >= b.columns);
    assert!(reaches(a.rows, row_step, b.columns, 1) <= to.len());
    // SAFETY: all three matrices lie within their slices, and no two places of `to` are the
    // same, because its rows do not overlap. Steps are at most the length of a slice, or
    // belong to a matrix of one row, in which they are not taken.
    unsafe {
        matrixmultiply::sgemm(
            a.rows,
            a.columns,
            b.columns,
            scale,
            a.numbers.as_ptr(),
            a.row_step as isize,
            a.column_step as isize,
            b.numbers.as_ptr(),
            b.row_step as isize,
            b.column_step as isize,
            keep,
            to.as_mut_ptr(),
            row_step as isize,
            1,
        );
    }
}

/// Numbers that stand for likelihoods, as likelihoods: they add up to 1.
pub(super) fn softmax(row: &mut [f32]) {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for number in row.iter_mut() {
        *number = (*number - largest).exp();
        sum += *number;
    }
    for number in row {
        *number /= sum;
    }
}

/// The Gaussian error linear unit, by the error function: x · Φ(x).
pub(super) fn gelu(numbers: &mut [f32]) {
    for x in numbers {
        *x *= 0.5 * (1.0 + erf(*x * std::f32::consts::FRAC_1_SQRT_2));
    }
}

/// The error function to within 4·10⁻⁷: a rational function, as the standard library has
/// none and a series by cases could not be computed for several numbers at once.
fn erf(x: f32) -> f32 {
    const ABOVE: [f32; 7] = [
        -2.726_142_3e-10,
        2.770_681_4e-8,
        -2.101_024e-6,
        -5.692_506_5e-5,
        -7.349_906_3e-4,
        -2.954_6e-3,
        -1.609_603_3e-2,
    ];
    const BELOW: [f32; 5] = [
        -1.456_607_2e-5,
        -2.133_740_5e-4,
        -1.682_827e-3,
        -7.373_329e-3,
        -1.426_473_9e-2,
    ];
    // Beyond these it is ±1 in 32 bits.
    let x = x.clamp(-4.0, 4.0);
    let square = x * x;
    let polynomial = |of: &[f32]| of.iter().fold(0.0, |sum, factor| sum * square + factor);
    x * polynomial(&ABOVE) / polynomial(&BELOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_within_larger_matrices() {
        // Two rows of two, within rows of three.
        let a = [1.0, 2.0, 9.0, 3.0, 4.0];
        let b = [5.0, 6.0, 7.0, 8.0];
        let mut to = [1.0; 5];
        let (a, b) = (Matrix::of(&a, 2, 2, 3), Matrix::of(&b, 2, 2, 2));
        multiply(1.0, a, b, 0.0, &mut to, 3);
        assert_eq!(to, [19.0, 22.0, 1.0, 43.0, 50.0]);
        multiply(2.0, a, b.transposed(), 1.0, &mut to, 3);
        assert_eq!(
            to,
            [19.0 + 34.0, 22.0 + 46.0, 1.0, 43.0 + 78.0, 50.0 + 106.0]
        );
    }

    #[test]
    #[should_panic]
    fn a_matrix_outside_its_slice_is_refused() {
        let numbers = [1.0; 3];
        let outside = Matrix::of(&numbers, 2, 2, 2);
        multiply(1.0, outside, outside, 0.0, &mut [0.0; 4], 2);
    }

    #[test]
    fn gelu_is_the_exact_one() {
        // By Python's math.erf.
        for (x, expected) in [
            (0.0, 0.0),
            (0.5, 0.345_731_23),
            (1.0, 0.841_344_7),
            (-1.0, -0.158_655_26),
            (-3.0, -0.004_049_694),
            (2.5, 2.484_475_9),
            (9.0, 9.0),
            (-9.0, 0.0),
        ] {
            let mut numbers = [x];
            gelu(&mut numbers);
            assert!((numbers[0] - expected).abs() < 2e-6, "{x}: {numbers:?}");
        }
    }

    #[test]
    fn likelihoods_add_up_even_of_large_numbers() {
        let mut row = [1000.0, 1000.0, -1000.0];
        softmax(&mut row);
        assert_eq!(row, [0.5, 0.5, 0.0]);
    }
}
