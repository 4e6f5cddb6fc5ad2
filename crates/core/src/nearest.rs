//! Suggestions for mistyped names.

/// The name in `known` that `given` was probably meant to be, if any is close enough.
///
/// Close is an edit distance (insertions, deletions, replacements, swaps of neighbours) of at most a
/// third of the longer name's length. Only the first 1,000 names are looked at, and none of more than 64 bytes, so that
/// a text full of nonsense costs little. O(|given| x |name|) for each name.
///
/// # Examples
///
/// ```
/// use evenkeel_core::nearest;
///
/// let names = ["least_request", "random"];
/// assert_eq!(nearest("leest_request", names), Some("least_request"));
/// assert_eq!(nearest("x", names), None);
/// ```
#[must_use]
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > LONGEST {
        return None;
    }
    let given = given.to_lowercase();
    known
        .into_iter()
        .take(MOST)
        .filter(|name| name.len() <= LONGEST)
        .map(|name| (distance(&given, name), name))
        .filter(|(distance, name)| distance * 3 <= given.len().max(name.len()))
        .min()
        .map(|(_, name)| name)
}

/// The most bytes of a name that somebody may have mistyped.
const LONGEST: usize = 64;

/// The most names that are looked at.
const MOST: usize = 1_000;

/// How a message goes on after a mistyped name: `, did you mean "NAME"?` with the [`nearest`] of those
/// that are known, or not at all.
///
/// # Examples
///
/// ```
/// use evenkeel_core::did_you_mean;
///
/// let text = did_you_mean("randm", ["least_request", "random"]);
/// assert_eq!(text, ", did you mean \"random\"?");
/// ```
#[must_use]
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    suggestion(nearest(given, known))
}

pub(crate) fn suggestion(meant: Option<&str>) -> String {
    meant.map_or_else(String::new, |meant| format!(", did you mean {meant:?}?"))
}

fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let mut best = (last[j] + usize::from(a[i] != b[j]))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inserted_deleted_replaced_or_swapped_counts_one() {
        let distances = [
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("abc", "xabc", 1),
            ("abc", "ac", 1),
            ("abc", "axc", 1),
            ("abc", "bac", 1),
            ("abcd", "badc", 2),
            ("abcdef", "ghijkl", 6),
        ];
        for (a, b, expected) in distances {
            assert_eq!(
                (distance(a, b), distance(b, a)),
                (expected, expected),
                "{a} {b}"
            );
        }
    }

    #[test]
    fn a_slip_finds_its_name_and_nonsense_finds_none() {
        let names = ["retry", "timeout", "least_request"];
        assert_eq!(nearest("retyr", names), Some("retry"));
        assert_eq!(nearest("Timeouts", names), Some("timeout"));
        assert_eq!(nearest("least_conn", names), None);
        assert_eq!(nearest("x", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(did_you_mean("retyr", names), ", did you mean \"retry\"?");
        assert_eq!(did_you_mean("x", names), "");
    }

    /// Half a million letters beside half a million others would take minutes.
    #[test]
    fn nobody_mistypes_a_name_of_any_length_or_one_of_thousands() {
        let long = "a".repeat(500_000);
        assert_eq!(nearest(&long, [long.as_str()]), None);
        assert_eq!(nearest("retyr", [long.as_str(), "retry"]), Some("retry"));
        let many = std::iter::repeat_n("x", MOST);
        assert_eq!(nearest("retyr", many.chain(["retry"])), None);
    }
}
