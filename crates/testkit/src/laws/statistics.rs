//! Whether counts fit expected shares.

/// The standard normal deviate that is passed once in a million.
const Z_MILLIONTH: f64 = 4.753;

/// What chi-square passes once in a million, with so many degrees of freedom.
///
/// Exact for one and two; from three on Wilson and Hilferty's approximation (1931), which is too large by a
/// fourteenth at most.
fn bound(freedom: usize) -> f64 {
    let n = freedom as f64;
    let spread = 2.0 / (9.0 * n);
    match freedom {
        0 | 1 => 23.93,
        2 => 27.63,
        _ => n * (1.0 - spread + Z_MILLIONTH * spread.sqrt()).powi(3),
    }
}

/// Whether `counts` fit `shares` (in any unit), by a chi-square test at p = 1e-6.
///
/// An endpoint without a share must have no count.
///
/// # Errors
///
/// When they do not fit, with both.
pub fn fits(counts: &[u64], shares: &[f64]) -> Result<(), String> {
    let (picks, total): (u64, f64) = (counts.iter().sum(), shares.iter().sum());
    let expected: Vec<f64> = shares
        .iter()
        .map(|share| picks as f64 * share / total)
        .collect();
    let mut chi_square = 0.0;
    for (count, expected) in counts.iter().zip(&expected) {
        let off = *count as f64 - expected;
        if *expected > 0.0 {
            chi_square += off * off / expected;
        } else if *count > 0 {
            return Err(format!("{counts:?} picks where {expected:.1?} are due"));
        }
    }
    let possible = expected.iter().filter(|expected| **expected > 0.0).count();
    let freedom = possible.saturating_sub(1);
    if chi_square < bound(freedom) {
        return Ok(());
    }
    Err(format!(
        "{counts:?} picks where {expected:.1?} are due: chi-square {chi_square:.1} with {freedom} \
         degrees of freedom"
    ))
}

/// Whether each of `counts` is within `percent` of what `shares` make due, beside chance.
///
/// # Errors
///
/// When one is not, with all.
pub fn fits_within(counts: &[u64], shares: &[f64], percent: u8) -> Result<(), String> {
    let (picks, total): (u64, f64) = (counts.iter().sum(), shares.iter().sum());
    for (count, share) in counts.iter().zip(shares) {
        let share = share / total;
        let due = picks as f64 * share;
        let bound = due * f64::from(percent) / 100.0 + five_sigma(picks, share);
        if (*count as f64 - due).abs() > bound {
            return Err(format!(
                "{counts:?}: {count} where {due:.1} +- {bound:.1} are due"
            ));
        }
    }
    Ok(())
}

/// Five standard deviations of the count of picks that fall on a share of them.
pub(super) fn five_sigma(picks: u64, share: f64) -> f64 {
    5.0 * (picks as f64 * share * (1.0 - share)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square at p = 1e-6 is 23.93 with one degree of freedom and 35.89 with five (tables).
    #[test]
    fn the_bound_is_where_the_tables_have_it() {
        let two = |off: u64| fits(&[50_000 + off, 50_000 - off], &[1.0, 1.0]);
        assert!(two(750).is_ok(), "chi-square 22.5");
        assert!(two(790).is_err(), "chi-square 25.0");
        let six = |off: u64| {
            let counts = [10_000 + off, 10_000 - off, 10_000, 10_000, 10_000, 10_000];
            fits(&counts, &[1.0; 6])
        };
        assert!(six(410).is_ok(), "chi-square 33.6");
        assert!(six(437).is_err(), "chi-square 38.2");
        assert!(fits(&[10, 1], &[1.0, 0.0]).is_err());
    }
}
