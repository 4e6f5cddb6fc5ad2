//! The exponential function for decays.

use std::f64::consts::{LN_2, LOG2_E};

/// From here on the result is 0.
const VANISHES: f64 = 700.0;

/// e^(-x) for a non-negative `x`; 0 from some 700 on.
///
/// Only additions, multiplications and a shift of the exponent, which IEEE 754 makes exact to the
/// last bit everywhere; relative error below 1e-8.
///
/// # Examples
///
/// ```
/// use evenkeel_core::math::exp_neg;
///
/// assert!((exp_neg(1.0) - 0.367_879).abs() < 1e-6);
/// ```
#[must_use]
#[inline]
pub fn exp_neg(x: f64) -> f64 {
    if x >= VANISHES {
        return 0.0;
    }
    // x = k ln 2 + t with |t| <= ln 2 / 2, so e^-x = 2^-k e^-t.
    let k = (x * LOG2_E + 0.5) as i64;
    let t = k as f64 * LN_2 - x;
    // Pairs first: each product waits for few others.
    let (t2, pair) = (t * t, |a: f64, b: f64| a + b * t);
    let low = pair(1.0, 1.0) + pair(1.0 / 2.0, 1.0 / 6.0) * t2;
    let high = pair(1.0 / 24.0, 1.0 / 120.0) + pair(1.0 / 720.0, 1.0 / 5040.0) * t2;
    let series = low + high * (t2 * t2);
    series * f64::from_bits(((1023 - k) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_close_to_the_real_thing_and_never_rises() {
        let mut last = 1.0;
        for step in 0..60_000 {
            let x = f64::from(step) / 1_000.0;
            let (exact, got) = ((-x).exp(), exp_neg(x));
            assert!((got - exact).abs() <= exact * 1e-8, "{x}: {got} {exact}");
            assert!(got <= last, "{x}");
            last = got;
        }
        assert_eq!(exp_neg(0.0), 1.0);
        assert_eq!(exp_neg(1e300), 0.0);
    }

    /// The bits, which no platform may change.
    #[test]
    fn it_is_the_same_everywhere() {
        assert_eq!(exp_neg(1.0).to_bits(), 0x3FD78B563529DC88);
    }
}
