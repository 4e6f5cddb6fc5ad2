//! Times as people and programs read them, in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// By RFC 3339, `2026-01-31T23:59:59.123Z`; times before 1970 count as its beginning.
#[must_use]
pub fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let seconds = since.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let millis = u64::from(since.subsec_millis());
    let mut text = String::with_capacity(24);
    // A line of a log has one, and what formats anything costs as much as the rest of that line.
    for (before, number, digits) in [
        ("", year, 4),
        ("-", month, 2),
        ("-", day, 2),
        ("T", hour, 2),
        (":", minute, 2),
        (":", second, 2),
        (".", millis, 3),
    ] {
        text.push_str(before);
        let mut power = 10_u64.pow(digits - 1);
        while power > 0 {
            text.push(char::from(b'0' + (number / power % 10) as u8));
            power /= 10;
        }
    }
    text.push('Z');
    text
}

/// As the common log format has it, `31/Jan/2026:23:59:59 +0000`.
#[must_use]
pub fn clf(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let seconds = since.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let month = MONTHS[(month as usize + 11) % 12];
    format!("{day:02}/{month}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000")
}

/// Reads a time of RFC 3339, such as `2026-01-31T23:59:59Z` or `2026-01-31T23:59:59.5+01:00`, from 1970
/// on; nothing when it is none.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let zone = rest.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = rest.split_at(zone);
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let is_right = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    let digits = fraction.bytes().all(|byte| byte.is_ascii_digit());
    if !is_right || !digits || fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let nanos = fraction.parse::<u64>().ok()? * 10_u64.pow(9 - fraction.len() as u32);
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    let local = UNIX_EPOCH + Duration::new(seconds, nanos as u32);
    if matches!(zone, "Z" | "z") {
        return Some(local);
    }
    let [hours, minutes] = numbers(&zone[1..], ':', [2, 2])?;
    let ahead = Duration::from_secs(hours * 3600 + minutes * 60);
    match zone.starts_with('+') {
        true => local.checked_sub(ahead),
        false => local.checked_add(ahead),
    }
}

/// Numbers of so many digits each, with `between` between them.
fn numbers<const N: usize>(text: &str, between: char, digits: [usize; N]) -> Option<[u64; N]> {
    let mut parts = text.split(between);
    let mut found = [0; N];
    for (number, length) in found.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == length)?;
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        *number = is_number.then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(found)
}

/// The days from 1970 to a day; as [`civil`], the other way round.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a day since 1970.
///
/// Years are taken to begin in March, so that the day that comes and goes is the last one; by Howard
/// Hinnant, "chrono-compatible low-level date algorithms".
fn civil(days: u64) -> (u64, u64, u64) {
    // 0000-03-01 lies 719,468 days before 1970; an era is the 400 years after which days repeat.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times() {
        for (seconds, millis, text) in [
            (0, 0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, 0, "2000-02-29T00:00:00.000Z"),
            (951_868_800, 7, "2000-03-01T00:00:00.007Z"),
            (1_735_689_599, 999, "2024-12-31T23:59:59.999Z"),
            (4_107_542_400, 0, "2100-03-01T00:00:00.000Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_millis(millis);
            assert_eq!(rfc3339(time), text);
        }
        let leap = UNIX_EPOCH + Duration::from_secs(951_782_400);
        assert_eq!(clf(leap), "29/Feb/2000:00:00:00 +0000");
        assert!(rfc3339(UNIX_EPOCH - Duration::from_secs(1)).starts_with("1970"));
    }

    #[test]
    fn what_is_written_can_be_read() {
        for seconds in (0..4_200_000_000).step_by(12_345_677) {
            let time = UNIX_EPOCH + Duration::from_millis(seconds * 1000 + seconds % 1000);
            assert_eq!(parse_rfc3339(&rfc3339(time)), Some(time));
        }
        let noon = parse_rfc3339("2026-11-30T12:03:00Z");
        assert!(noon.is_some());
        for same in ["2026-11-30T13:03:00+01:00", "2026-11-30 07:33:00.000-04:30"] {
            assert_eq!(parse_rfc3339(same), noon, "{same}");
        }
        for wrong in [
            "",
            "12:03",
            "2026-11-30",
            "2026-11-30T12:03:00",
            "2026-13-01T00:00:00Z",
            "1969-12-31T00:00:00Z",
            "2026-11-30T12:03:00.Z",
            "2026-11-30T12:03:00Zx",
            "2026-11-30T+2:03:00Z",
            "2026-11-30T12:03:00+1",
            "2026-11-30T12:03:00é",
            "1970-01-01T00:00:00+01:00x",
        ] {
            assert_eq!(parse_rfc3339(wrong), None, "{wrong}");
        }
    }
}
