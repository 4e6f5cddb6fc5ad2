//! Running text for a terminal.

/// The columns of a line.
const WIDTH: usize = 96;

/// Breaks a text into lines, each ended and begun with `indent`.
pub(crate) fn wrap(text: &str, indent: &str) -> String {
    let mut out = String::new();
    let mut line = indent.to_owned();
    for word in text.split_whitespace() {
        let begun = line.len() > indent.len();
        if begun && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(&line);
            out.push('\n');
            line = indent.to_owned();
        } else if begun {
            line.push(' ');
        }
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::{WIDTH, wrap};

    #[test]
    fn lines_are_short_and_nothing_is_lost() {
        let text = "some words ".repeat(40);
        let wrapped = wrap(&text, "  ");
        assert!(
            wrapped
                .lines()
                .all(|line| line.len() <= WIDTH && line.starts_with("  some")
                    || line.starts_with("  words"))
        );
        assert_eq!(
            wrapped.split_whitespace().collect::<Vec<_>>(),
            text.split_whitespace().collect::<Vec<_>>()
        );
        assert_eq!(wrap("", ""), "\n");
    }
}
