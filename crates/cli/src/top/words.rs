//! Figures and names as they stand on the screen.

use ratatui::text::Span;
use serde_json::Value;

/// A number in five characters or fewer: `7`, `94.8K`, `1.20M`.
pub(super) fn number(number: f64) -> String {
    let scaled = |by: f64, unit: &str| {
        let n = number / by;
        let places = if n < 9.995 { 2 } else { usize::from(n < 99.95) };
        format!("{n:.places$}{unit}")
    };
    match number {
        n if n >= 999_500_000.0 => scaled(1e9, "G"),
        n if n >= 999_500.0 => scaled(1e6, "M"),
        n if n >= 9_999.5 => scaled(1e3, "K"),
        n if n >= 99.95 || n == n.trunc() => format!("{n:.0}"),
        n => format!("{n:.1}"),
    }
}

/// A share of 1 as a percentage.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// Milliseconds, or a dash where there were none.
pub(super) fn millis(ms: Option<f64>) -> String {
    ms.filter(|ms| *ms > 0.0)
        .map_or_else(|| "-".to_owned(), number)
}

/// `12:03:10` of a time as the API writes it, which is in UTC.
pub(super) fn clock(time: &str) -> &str {
    time.get(11..19).unwrap_or(time)
}

/// Names and words of others cannot move the cursor.
pub(super) fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// At most so many columns, and an ellipsis where something is missing.
pub(super) fn cut(text: &str, columns: usize) -> String {
    let text = one_line(text);
    if Span::raw(&*text).width() <= columns {
        return text;
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += Span::raw(c.to_string()).width();
        if used > columns {
            break;
        }
        kept.push(c);
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// Whether a text has those letters in it, small or large.
pub(super) fn searched(text: &str, letters: &str) -> bool {
    letters.is_empty() || text.to_lowercase().contains(&letters.to_lowercase())
}

/// A text of an object, or nothing.
pub(super) fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_to_five_characters() {
        let cases = [
            (0.0, "0"),
            (7.0, "7"),
            (7.25, "7.2"),
            (99.96, "100"),
            (812.4, "812"),
            (9_999.0, "9999"),
            (94_812.0, "94.8K"),
            (1_200_000.0, "1.20M"),
            (999_600_000.0, "1.00G"),
        ];
        for (n, shown) in cases {
            assert_eq!(number(n), shown, "{n}");
            assert!(number(n).len() <= 5);
        }
    }

    #[test]
    fn what_is_cut_says_so_and_counts_columns() {
        assert_eq!(cut("endpoint", 8), "endpoint");
        assert_eq!(cut("endpoint", 5), "endp…");
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("a\x1b[31m\nb", 20), "a [31m b");
        assert_eq!(cut("abc", 0), "");
    }
}
