//! Whether something grows linearly.

/// A straight line through points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    /// The value at 0.
    pub(super) constant: f64,
    pub(super) slope: f64,
    /// The largest distance of a point from the line, as a part of the value of the point.
    pub(super) deviation: f64,
}

/// Returns the line for which the sum of the squares of the relative deviations is the least. All
/// values must be positive. The constant is at least 0, because it is time that is always needed.
pub(super) fn line(points: &[(f64, f64)]) -> Line {
    // With the weight 1/y², a deviation counts as a part of the value.
    let sum = |value: fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|&(x, y)| value(x, y) / (y * y)).sum()
    };
    let (n, x, y) = (sum(|_, _| 1.0), sum(|x, _| x), sum(|_, y| y));
    let (xx, xy) = (sum(|x, _| x * x), sum(|x, y| x * y));
    let slope = (n * xy - x * y) / (n * xx - x * x);
    let constant = (y - slope * x) / n;
    let (constant, slope) = if constant < 0.0 { (0.0, xy / xx) } else { (constant, slope) };
    let deviations = points.iter().map(|&(x, y)| ((constant + slope * x) / y - 1.0).abs());
    Line { constant, slope, deviation: deviations.fold(0.0, f64::max) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(value: fn(f64) -> f64) -> Line {
        line(&[1.0, 10.0, 100.0, 1000.0].map(|x| (x, value(x))))
    }

    #[test]
    fn points_on_a_line_do_not_deviate() {
        let line = line_of(|x| 3.0 + 2.0 * x);
        assert!((line.constant - 3.0).abs() < 1e-6, "{line:?}");
        assert!((line.slope - 2.0).abs() < 1e-6, "{line:?}");
        assert!(line.deviation < 1e-6, "{line:?}");
    }

    #[test]
    fn growth_above_linear_deviates() {
        assert!(line_of(|x| x * x).deviation > 0.5);
        assert!(line_of(|x| x * x.ln().max(1.0)).deviation > 0.2);
    }

    #[test]
    fn one_deviating_point_is_found_however_small_it_is() {
        let points = [1.0, 10.0, 100.0, 1000.0, 2000.0];
        let line = line(&points.map(|x| (x, if (5.0..50.0).contains(&x) { 14.0 } else { x })));
        assert!(line.deviation > 0.1 && line.deviation < 0.4, "{line:?}");
    }
}
