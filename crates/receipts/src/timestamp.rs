//! Times as people and programs read them: RFC 3339, in UTC.

use std::time::Duration;

/// Appends `2026-01-31T23:59:59.123Z` for the time since 1970.
pub fn put_rfc3339(out: &mut Vec<u8>, since_1970: Duration) {
    let seconds = since_1970.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    put_padded(out, year, 4);
    for (before, part) in [
        (b'-', month),
        (b'-', day),
        (b'T', hour),
        (b':', minute),
        (b':', second),
    ] {
        out.push(before);
        put_padded(out, part, 2);
    }
    out.push(b'.');
    put_padded(out, u64::from(since_1970.subsec_millis()), 3);
    out.push(b'Z');
}

fn put_padded(out: &mut Vec<u8>, number: u64, width: u32) {
    let mut unit = 10_u64.pow(width - 1);
    while unit > 0 {
        out.push(b'0' + (number / unit % 10) as u8);
        unit /= 10;
    }
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
        for (seconds, millis, wanted) in [
            (0, 0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, 0, "2000-02-29T00:00:00.000Z"),
            (951_868_800, 7, "2000-03-01T00:00:00.007Z"),
            (1_735_689_599, 999, "2024-12-31T23:59:59.999Z"),
            (4_107_542_400, 0, "2100-03-01T00:00:00.000Z"),
        ] {
            let mut out = Vec::new();
            let time = Duration::from_secs(seconds) + Duration::from_millis(millis);
            put_rfc3339(&mut out, time);
            assert_eq!(String::from_utf8(out).expect("text"), wanted);
        }
    }
}
