//! The natural logarithm for weights.

use std::f64::consts::{LN_2, SQRT_2};

/// ln(x) for a positive, normal `x`.
///
/// Only the four operations of IEEE 754, which are exact to the last bit everywhere; the platform's
/// own logarithm is not. Absolute error below 1e-11 on what comes before the binary exponent.
///
/// # Examples
///
/// ```
/// use evenkeel_core::math::ln;
///
/// assert!((ln(2.0) - 0.693_147).abs() < 1e-6);
/// ```
#[must_use]
#[inline]
pub fn ln(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits(bits & MANTISSA | 1023 << 52);
    // Around 1, where the series is short, and exact where it matters: at u close to 1.
    if mantissa > SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    // ln m = 2 artanh((m - 1) / (m + 1)); |s| < 0.1716.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let z = s * s;
    let series = 1.0
        + z * (1.0 / 3.0
            + z * (1.0 / 5.0
                + z * (1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0 + z * (1.0 / 13.0))))));
    f64::from(exponent) * LN_2 + 2.0 * s * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_close_to_the_real_thing() {
        for step in 1..100_000 {
            let x = f64::from(step) / 25_000.0;
            let (exact, got) = (x.ln(), ln(x));
            assert!((got - exact).abs() <= 1e-11, "{x}: {got} {exact}");
        }
        assert_eq!(ln(1.0), 0.0);
        let smallest = 0.5 / (1u64 << 53) as f64;
        assert!((ln(smallest) - smallest.ln()).abs() < 1e-9);
    }

    /// The largest number below 1 must not come out as 0: weights are divided by it.
    #[test]
    fn it_is_negative_below_one() {
        let largest = 1.0 - f64::EPSILON / 2.0;
        assert!(ln(largest) < 0.0);
    }

    /// The bits, which no platform may change.
    #[test]
    fn it_is_the_same_everywhere() {
        assert_eq!(ln(0.3).to_bits(), 0xBFF34378FCBDA721);
    }
}
