//! What a configuration may read besides its own text: variables and files.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::Mistake;

/// The most bytes of a file that is read. 10,000 endpoints take about 1 MiB.
pub const FILE_BYTES_MAX: u64 = 16 << 20;

/// How deep defaults may lie within each other.
const DEPTH_MAX: usize = 8;

type Variable<'a> = dyn Fn(&str) -> Option<String> + 'a;
type Read<'a> = dyn Fn(&Path) -> io::Result<String> + 'a;

/// What a configuration may read besides its own text.
///
/// Both are arguments, so that a text can be resolved without touching the process: in tests, and
/// when the admin API checks one.
pub struct Environment<'a> {
    variable: Box<Variable<'a>>,
    read: Box<Read<'a>>,
    /// What paths are relative to.
    folder: PathBuf,
}

impl<'a> Environment<'a> {
    /// An environment of a look-up of variables and a reader of files.
    pub fn new(
        variable: impl Fn(&str) -> Option<String> + 'a,
        read: impl Fn(&Path) -> io::Result<String> + 'a,
    ) -> Self {
        Self {
            variable: Box::new(variable),
            read: Box::new(read),
            folder: PathBuf::new(),
        }
    }

    /// No variables and no files.
    #[must_use]
    pub fn empty() -> Self {
        Self::new(|_| None, |_| Err(io::ErrorKind::NotFound.into()))
    }

    /// The variables of this process, and files relative to `folder`.
    #[must_use]
    pub fn process(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        let beside = folder.clone();
        let process = Self::new(
            |name| std::env::var(name).ok(),
            move |path| read_file(&beside.join(path)),
        );
        Self { folder, ..process }
    }

    /// Where a path leads that the text names.
    pub(crate) fn beside(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    pub(crate) fn read(&self, path: &Path) -> io::Result<String> {
        (self.read)(path)
    }

    /// Replaces `${NAME}` and `${NAME:-other}`; `$${` stands for `${`.
    ///
    /// As in a shell, `other` also stands in for a variable that is empty, and may hold references
    /// itself. A mistake comes with the place within `text`.
    pub(crate) fn expand<'t>(
        &self,
        text: &'t str,
    ) -> Result<Cow<'t, str>, (Range<usize>, Mistake)> {
        self.expand_at(text, 0)
    }

    fn expand_at<'t>(
        &self,
        text: &'t str,
        depth: usize,
    ) -> Result<Cow<'t, str>, (Range<usize>, Mistake)> {
        if !text.contains("${") {
            return Ok(Cow::Borrowed(text));
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(found) = text[at..].find("${") {
            let start = at + found;
            if text[..start].ends_with('$') {
                out.push_str(&text[at..start - 1]);
                out.push_str("${");
                at = start + 2;
                continue;
            }
            out.push_str(&text[at..start]);
            let length = reference_len(&text[start..]);
            let end = length.map_or(text.len(), |length| start + length);
            let value = match length {
                Some(_) => self.value(&text[start..end], depth),
                None => Err(no_reference(&text[start..])),
            };
            out.push_str(&value.map_err(|mistake| (start..end, mistake))?);
            at = end;
        }
        out.push_str(&text[at..]);
        Ok(Cow::Owned(out))
    }

    /// The value of `${NAME}` or `${NAME:-other}`.
    fn value(&self, reference: &str, depth: usize) -> Result<String, Mistake> {
        let inner = reference
            .strip_prefix("${")
            .and_then(|rest| rest.strip_suffix('}'));
        let (name, other) = match inner.map(|inner| inner.split_once(":-")) {
            Some(Some((name, other))) => (name, Some(other)),
            _ => (inner.unwrap_or_default(), None),
        };
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let digit = name.bytes().next().is_none_or(|byte| byte.is_ascii_digit());
        if digit || !name.bytes().all(word) {
            return Err(no_reference(reference));
        }
        match ((self.variable)(name), other) {
            (Some(value), None) => Ok(value),
            (Some(value), Some(_)) if !value.is_empty() => Ok(value),
            (_, Some(_)) if depth == DEPTH_MAX => Err(Mistake::new(
                "a default within a default within a default goes too deep",
                format!("write at most {DEPTH_MAX} of them into each other"),
            )),
            (_, Some(other)) => {
                let expanded = self.expand_at(other, depth + 1);
                let expanded = expanded.map_err(|(_, mistake)| mistake)?;
                Ok(expanded.into_owned())
            }
            (None, None) => Err(Mistake::new(
                format!("the environment variable {name} is not set"),
                format!("set it, or give a default: \"${{{name}:-other}}\""),
            )),
        }
    }
}

fn no_reference(text: &str) -> Mistake {
    let shown: String = text.chars().take(80).collect();
    Mistake::new(
        format!("{shown:?} names no environment variable"),
        "write \"${NAME}\", \"${NAME:-other}\", or \"$${\" where \"${\" is meant",
    )
}

/// How long a reference is that `text` begins with, those within its default included; none when it has
/// no end.
fn reference_len(text: &str) -> Option<usize> {
    let (mut at, mut open) = (0, 0_usize);
    while let Some(byte) = text.as_bytes().get(at) {
        let rest = &text.as_bytes()[at..];
        match byte {
            b'$' if rest.starts_with(b"$${") => at += 3,
            b'$' if rest.starts_with(b"${") => {
                open += 1;
                at += 2;
            }
            b'}' => {
                open -= 1;
                at += 1;
                if open == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    None
}

impl fmt::Debug for Environment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}

/// Reads a text file of at most [`FILE_BYTES_MAX`].
pub(crate) fn read_file(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other(format!(
            "it is larger than {} MiB",
            FILE_BYTES_MAX >> 20
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        io::Error::other(format!("it is not UTF-8 text, see line {line}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str) -> Result<String, (Range<usize>, String)> {
        let variables = |name: &str| match name {
            "PORT" => Some("8080".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let environment = Environment::new(variables, |_| Err(io::ErrorKind::NotFound.into()));
        let expanded = environment.expand(text).map(Cow::into_owned);
        expanded.map_err(|(span, mistake)| (span, mistake.message))
    }

    #[test]
    fn variables_are_replaced() {
        for (text, expected) in [
            ("127.0.0.1:${PORT}", "127.0.0.1:8080"),
            ("${PORT}${PORT}", "80808080"),
            ("${PORT:-1}", "8080"),
            ("${NONE:-1}", "1"),
            ("${EMPTY:-1}", "1"),
            ("${EMPTY}", ""),
            ("${NONE:-}", ""),
            ("${NONE:-${PORT}}", "8080"),
            ("${NONE:-a${EMPTY:-${NONE:-b}c}d}e", "abcde"),
            ("${PORT:-${NONE}}", "8080"),
            ("${NONE:-$${PORT}", "${PORT"),
            ("$${PORT}", "${PORT}"),
            ("a$${b", "a${b"),
            ("$PORT $ {x}", "$PORT $ {x}"),
            ("", ""),
        ] {
            assert_eq!(expand(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_missing_variable_is_named_with_its_place() {
        let missing = "the environment variable NONE is not set".to_owned();
        assert_eq!(expand("a ${NONE} b"), Err((2..9, missing.clone())));
        assert_eq!(expand("a ${EMPTY:-${NONE}} b"), Err((2..19, missing)));
        let deep = "${NONE:-".repeat(100_000) + &"}".repeat(100_000);
        let (_, message) = expand(&deep).expect_err("too deep");
        assert!(message.ends_with("goes too deep"), "{message}");
        for text in [
            "${",
            "${}",
            "${A B}",
            "${1A}",
            "x${PORT",
            "${:-x}",
            "${é}",
            "${PORT:-${PORT}",
        ] {
            let (_, message) = expand(text).expect_err(text);
            assert!(
                message.contains("names no environment variable"),
                "{message}"
            );
        }
    }
}
