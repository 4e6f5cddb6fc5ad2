//! Functions that the platform's library does not promise to compute alike everywhere.
//!
//! Decisions use them, and so does whoever must get the same numbers on every machine.

pub(crate) mod exp;
pub(crate) mod ln;

pub use exp::exp_neg;
pub use ln::ln;

/// 2^(-x) for a non-negative x given in units of 2^-16, as a fraction in units of 2^-32.
///
/// Exact at whole x; between them a cubic in the fractional part, relative error below 1.1e-4, the
/// same bits on every platform. From x = 32 on the result is 0.
#[must_use]
pub(crate) fn half_power(x: u64) -> u64 {
    let whole = x >> 16;
    if whole >= 32 {
        return 0;
    }
    // 2^-f = 1 - f (c1 - f (c2 - f c3)) on 0..=1: the least relative error among the cubics that
    // pass through both ends. In units of 2^-32.
    const C1: u64 = 2_969_633_580;
    const C2: u64 = 990_228_498;
    const C3: u64 = 168_078_566;
    let f = x & 0xFFFF;
    let inner = C2 - ((f * C3) >> 16);
    let slope = C1 - ((f * inner) >> 16);
    ((1 << 32) - ((f * slope) >> 16)) >> whole
}

#[cfg(test)]
mod tests {
    use super::half_power;

    #[test]
    fn it_is_close_to_the_real_thing() {
        for x in (0..32 * 65_536u64).step_by(97) {
            let exact = (-(x as f64) / 65_536.0).exp2() * 4_294_967_296.0;
            let got = half_power(x) as f64;
            assert!(
                (got - exact).abs() <= exact * 1.1e-4 + 1.0,
                "{x}: {got} {exact}"
            );
        }
        assert_eq!(half_power(0), 1 << 32);
        assert_eq!(half_power(u64::MAX), 0);
    }

    #[test]
    fn it_never_rises() {
        let mut last = u64::MAX;
        for x in 0..4 * 65_536 {
            let now = half_power(x);
            assert!(now <= last, "{x}");
            last = now;
        }
    }
}
