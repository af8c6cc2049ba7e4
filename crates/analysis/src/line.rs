//! A straight line through values at equal distances.

/// The line with the least squares, for two values at least.
pub(crate) struct FittedLine {
    /// Rise from one value to the next.
    pub(crate) slope: f64,
    /// Sum of the squared distances of the values' places from the middle.
    pub(crate) spread: f64,
    /// How far each value lies above the line.
    pub(crate) residuals: Vec<f64>,
}

impl FittedLine {
    pub(crate) fn through(values: &[f64]) -> FittedLine {
        let n = values.len() as f64;
        let (mean, middle) = (values.iter().sum::<f64>() / n, (n - 1.0) / 2.0);
        let places = || (0..values.len()).map(|i| i as f64 - middle);
        let spread: f64 = places().map(|x| x * x).sum();
        let slope = places().zip(values).map(|(x, v)| x * v).sum::<f64>() / spread;
        let residuals = places().zip(values).map(|(x, v)| v - mean - slope * x).collect();
        FittedLine { slope, spread, residuals }
    }
}
