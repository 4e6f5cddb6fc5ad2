//! Times of logs.

/// Nanoseconds since 1970 of an RFC 3339 time, `2026-11-30T07:24:04.050Z`; none if it is no such time.
pub(super) fn parse_time(text: &str) -> Option<i128> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let (clock, offset) = zone(rest)?;
    let mut parts = clock.splitn(3, ':');
    let hour: i64 = parts.next()?.parse().ok()?;
    let minute: i64 = parts.next()?.parse().ok()?;
    let seconds = parts.next()?;
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let whole: i64 = whole.parse().ok()?;
    let in_range = (1..=12).contains(&month) && (1..=31).contains(&day);
    if !in_range || hour > 24 || minute > 59 || whole > 60 || fraction.len() > 18 {
        return None;
    }
    let digits = format!("{fraction:0<9}");
    let nanos: i128 = digits[..9].parse().ok()?;
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + whole - offset;
    Some(i128::from(seconds) * 1_000_000_000 + nanos)
}

/// The clock and the offset from UTC in seconds.
fn zone(rest: &str) -> Option<(&str, i64)> {
    if let Some(clock) = rest.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let at = rest.rfind(['+', '-'])?;
    let (clock, zone) = rest.split_at(at);
    let (hours, minutes) = zone[1..].split_once(':')?;
    let span = hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60;
    Some((clock, if zone.starts_with('-') { -span } else { span }))
}

/// Days since 1970 in the Gregorian calendar, by Hinnant's algorithm.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::parse_time;

    #[test]
    fn times_are_read() {
        assert_eq!(parse_time("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(
            parse_time("2026-11-30T07:24:04.050Z"),
            Some(1_796_023_444_050_000_000)
        );
        assert_eq!(
            parse_time("2026-11-30T08:24:04.05+01:00"),
            parse_time("2026-11-30T07:24:04.050Z")
        );
        for wrong in [
            "",
            "2026-11-30",
            "2026-13-30T00:00:00Z",
            "07:24",
            "2026-11-30T07:24:04",
        ] {
            assert_eq!(parse_time(wrong), None, "{wrong}");
        }
    }
}
