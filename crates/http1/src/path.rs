//! Paths of requests in the one form in which they are compared.

use std::fmt;

/// Why a path has no certain meaning. Endpoints would read it in different ways, so no rule about
/// paths can be kept for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPath {
    /// It goes above the root.
    AboveRoot,
    /// A `%` without two hexadecimal digits behind it.
    Escape,
    /// A dot segment with a parameter, `..;x`, which some servers take for `..`.
    DotParameter,
}

impl BadPath {
    /// What is wrong, for the client.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AboveRoot => "the path goes above the root",
            Self::Escape => "the path has a % that is no escape",
            Self::DotParameter => "the path has a dot segment with a parameter",
        }
    }
}

impl fmt::Display for BadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for BadPath {}

/// How the bytes of a path differ from its normal form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathForm {
    /// Not at all.
    Normal,
    /// Only by escapes: its segments are those of the normal form, one for one.
    Escaped,
    /// By dot segments, empty segments or escaped slashes.
    Resolved,
}

/// Brings a path into the form in which rules compare it: escapes decoded once, `%2F` too, empty
/// segments and dot segments removed. What had to be changed is written to `buffer`, which keeps its
/// memory; a path in normal form, as nearly all are, is returned as it is.
///
/// # Errors
///
/// When the path has no certain meaning.
///
/// # Examples
///
/// ```
/// use evenkeel_http1::{PathForm, normal_path};
///
/// let mut buffer = Vec::new();
/// let normal = normal_path(b"/public/..%2fadmin//x", &mut buffer);
/// assert_eq!(normal, Ok((&b"/admin/x"[..], PathForm::Resolved)));
/// ```
#[inline]
pub fn normal_path<'a>(
    path: &'a [u8],
    buffer: &'a mut Vec<u8>,
) -> Result<(&'a [u8], PathForm), BadPath> {
    if is_plain(path) {
        return Ok((path, PathForm::Normal));
    }
    let form = resolve(path, buffer)?;
    Ok((buffer, form))
}

/// Whether there is nothing to decode or to remove. May say no where a closer look would say yes.
#[inline]
fn is_plain(path: &[u8]) -> bool {
    let Some((first, behind)) = path.split_first() else {
        return true;
    };
    // No early exit: the loop is a few vector instructions this way.
    let pairs = path.iter().zip(behind);
    let odd = pairs.fold(*first == b'%', |odd, (before, byte)| {
        let ends_segment = *before == b'/' && (*byte == b'/' || *byte == b'.');
        odd | (*byte == b'%') | ends_segment
    });
    !odd
}

#[cold]
fn resolve(path: &[u8], out: &mut Vec<u8>) -> Result<PathForm, BadPath> {
    out.clear();
    let (mut form, mut at) = (PathForm::Normal, 0);
    while at < path.len() {
        let (byte, length) = decoded(&path[at..])?;
        if length > 1 {
            let next = if byte == b'/' {
                PathForm::Resolved
            } else {
                PathForm::Escaped
            };
            form = stronger(form, next);
        }
        at += length;
        // What ends with a slash here has an empty segment, or one that was removed.
        if byte == b'/' && (end_segment(out)? || out.last() == Some(&b'/')) {
            form = PathForm::Resolved;
        } else {
            out.push(byte);
        }
    }
    // A dot segment at the end leaves the slash before it.
    if end_segment(out)? {
        form = PathForm::Resolved;
    }
    Ok(form)
}

fn stronger(one: PathForm, other: PathForm) -> PathForm {
    match (one, other) {
        (PathForm::Resolved, _) | (_, PathForm::Resolved) => PathForm::Resolved,
        (PathForm::Escaped, _) | (_, PathForm::Escaped) => PathForm::Escaped,
        _ => PathForm::Normal,
    }
}

/// The next byte of a path, and how many it takes to write it.
fn decoded(path: &[u8]) -> Result<(u8, usize), BadPath> {
    let digit = |at: usize| path.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    match path[0] {
        b'%' => match (digit(1), digit(2)) {
            (Some(high), Some(low)) => Ok(((high * 16 + low) as u8, 3)),
            _ => Err(BadPath::Escape),
        },
        byte => Ok((byte, 1)),
    }
}

/// Removes the last segment if it is a dot, with the segment above it where it is two. Whether
/// anything was removed; then a slash is the end.
fn end_segment(out: &mut Vec<u8>) -> Result<bool, BadPath> {
    let Some(slash) = out.iter().rposition(|byte| *byte == b'/') else {
        return Ok(false);
    };
    match &out[slash + 1..] {
        b"." => out.truncate(slash + 1),
        b".." => {
            let above = out[..slash].iter().rposition(|byte| *byte == b'/');
            out.truncate(above.ok_or(BadPath::AboveRoot)? + 1);
        }
        [b'.', b';', ..] | [b'.', b'.', b';', ..] => return Err(BadPath::DotParameter),
        _ => return Ok(false),
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(path: &str) -> Result<(String, PathForm), BadPath> {
        let mut buffer = b"left over".to_vec();
        normal_path(path.as_bytes(), &mut buffer)
            .map(|(path, form)| (String::from_utf8_lossy(path).into_owned(), form))
    }

    #[test]
    fn e15_paths_have_one_normal_form() {
        use PathForm::{Escaped, Normal, Resolved};
        for (path, expected, form) in [
            ("/", "/", Normal),
            ("/a/b.c/", "/a/b.c/", Normal),
            ("/a..b/c.", "/a..b/c.", Normal),
            ("/.well-known/x", "/.well-known/x", Normal),
            ("/...", "/...", Normal),
            ("/%61", "/a", Escaped),
            ("/a%20b", "/a b", Escaped),
            ("/a%2520b", "/a%20b", Escaped),
            ("/a%2Fb", "/a/b", Resolved),
            ("//", "/", Resolved),
            ("//a///b//", "/a/b/", Resolved),
            ("/./a/.", "/a/", Resolved),
            ("/a/..", "/", Resolved),
            ("/a/../", "/", Resolved),
            ("/a/b/../c", "/a/c", Resolved),
            ("/a/%2e%2E/b", "/b", Resolved),
            ("/public/..%2fadmin", "/admin", Resolved),
            ("/public%2f..%2f/admin", "/admin", Resolved),
            ("/a/.%2e/", "/", Resolved),
            ("//x/%2F/../a%2520b;c", "/a%20b;c", Resolved),
            ("/a;v=1/b", "/a;v=1/b", Normal),
        ] {
            assert_eq!(normal(path), Ok((expected.to_owned(), form)), "{path}");
        }
    }

    #[test]
    fn e15_paths_without_a_certain_meaning_are_refused() {
        for (path, why) in [
            ("/..", BadPath::AboveRoot),
            ("/../a", BadPath::AboveRoot),
            ("/a/../../b", BadPath::AboveRoot),
            ("/a/%2e%2e/%2e%2e/b", BadPath::AboveRoot),
            ("//..", BadPath::AboveRoot),
            ("/%", BadPath::Escape),
            ("/%4", BadPath::Escape),
            ("/%4g", BadPath::Escape),
            ("/%+1", BadPath::Escape),
            ("/a/..;/b", BadPath::DotParameter),
            ("/a/.;x/b", BadPath::DotParameter),
            ("/a/%2e%2e%3bx", BadPath::DotParameter),
        ] {
            assert_eq!(normal(path), Err(why), "{path}");
        }
    }
}
