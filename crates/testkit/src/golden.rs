//! Files of what is known to come out.

use std::path::Path;
use std::{env, fs};

/// Set, it has [`golden`] write what it would compare.
const BLESS: &str = "EVENKEEL_BLESS";

/// Demands that the file at `path` holds exactly `text`; with `EVENKEEL_BLESS` set it does afterwards.
///
/// # Panics
///
/// When it holds something else or is not there, with the first line that differs; or cannot be
/// written.
#[track_caller]
pub fn golden(path: impl AsRef<Path>, text: &str) {
    let path = path.as_ref();
    if env::var_os(BLESS).is_some() {
        fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let known = fs::read_to_string(path).unwrap_or_default();
    if let Some(difference) = difference(&known, text) {
        panic!(
            "{}: {difference}; after a change on purpose run the test again with {BLESS}=1",
            path.display()
        );
    }
}

/// The first line in which two texts differ.
fn difference(known: &str, found: &str) -> Option<String> {
    if known == found {
        return None;
    }
    let pairs = known.lines().zip(found.lines());
    let same = pairs.take_while(|(known, found)| known == found).count();
    let line = |text: &str| format!("{:?}", text.lines().nth(same).unwrap_or("the end"));
    Some(format!(
        "line {}: {} is known, and found is {}",
        same + 1,
        line(known),
        line(found)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_told() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(
            difference("a\nb\n", "a\nc\n").as_deref(),
            Some("line 2: \"b\" is known, and found is \"c\"")
        );
        assert_eq!(
            difference("a\n", "a\nc\n").as_deref(),
            Some("line 2: \"the end\" is known, and found is \"c\"")
        );
        assert!(difference("a", "a\n").is_some());
    }
}
