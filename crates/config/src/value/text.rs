//! Names: of clusters, listeners and endpoints, and of labels and zones.

use super::mistake::Mistake;

/// The most bytes of a name. Names become labels of metrics and parts of API paths.
pub const NAME_BYTES_MAX: usize = 200;

/// Checks a name: 1 to [`NAME_BYTES_MAX`] bytes, no control characters, no space around it, and not `.`
/// or `..`, which no client could ask for as a part of a path.
///
/// # Errors
///
/// When it is not one.
pub fn check_name(text: &str) -> Result<(), Mistake> {
    let why = if text.is_empty() {
        "is empty".to_owned()
    } else if text.len() > NAME_BYTES_MAX {
        format!("is longer than {NAME_BYTES_MAX} bytes")
    } else if text.chars().any(char::is_control) {
        "holds a control character".to_owned()
    } else if text.trim() != text {
        "has space around it".to_owned()
    } else if matches!(text, "." | "..") {
        "cannot be a part of a path".to_owned()
    } else {
        return Ok(());
    };
    let shown: String = text.chars().take(40).collect();
    Err(Mistake::new(
        format!("the name {shown:?} {why}"),
        format!("write 1 to {NAME_BYTES_MAX} visible characters"),
    ))
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_can_be_shown_in_a_line() {
        for good in [
            "web",
            "127.0.0.1:9001",
            "[::1]:9001",
            "pod/web-1",
            "grüße",
            "a b",
            "...",
        ] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        for bad in ["", ".", "..", " web", "web\n", "a\tb", &"x".repeat(201)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
