//! From text to tree, with the parser's mistakes in words of ours.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::walk::Walk;
use crate::Mistake;

/// What the parser says of a key that is there already.
const DUPLICATE: &str = "duplicate key";

/// Reads the tree of a text; nothing when its structure is broken, since what was recovered then
/// would be accused of mistakes that nobody made.
pub(crate) fn read<'t>(walk: &mut Walk<'_>, text: &'t str) -> Option<Spanned<DeTable<'t>>> {
    let (tree, errors) = DeTable::parse_recoverable(text);
    let mut whole = true;
    // One mistake often breaks the rest of its line for the parser.
    let mut accused = None;
    for error in &errors {
        let span = error.span().unwrap_or(0..0);
        let line = walk.line(span.start);
        if accused == Some(line) {
            continue;
        }
        accused = Some(line);
        if error.message() == DUPLICATE {
            duplicate(walk, text, tree.get_ref(), span);
        } else {
            whole = false;
            walk.error(span.clone(), broken(error, text, span));
        }
    }
    whole.then_some(tree)
}

fn duplicate(walk: &mut Walk<'_>, text: &str, tree: &DeTable<'_>, span: Range<usize>) {
    let line_start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let header = text[line_start..].lines().next().unwrap_or_default().trim();
    if header.starts_with('[') {
        let help = "keep one of them; two brackets on each side, like [[listener]], make a list";
        let mistake = Mistake::new(format!("{header} is given twice"), help);
        let earlier = text[..line_start]
            .split_inclusive('\n')
            .scan(0, |at, line| {
                *at += line.len();
                Some((*at - line.len(), line.trim_end()))
            });
        let first = earlier
            .filter(|(_, line)| *line == header)
            .map(|(at, line)| at..at + line.len());
        return twice(walk, span, mistake, first.last());
    }
    let key = text.get(span.clone()).unwrap_or_default();
    let mistake = Mistake::new(format!("{key} is given twice"), "keep one of them");
    let first = last_before(tree, key, span.start, text);
    twice(walk, span, mistake, first);
}

fn twice(walk: &mut Walk<'_>, span: Range<usize>, mistake: Mistake, first: Option<Range<usize>>) {
    match first {
        Some(first) => walk.conflict(span, mistake, first, "it is given here first"),
        None => walk.error(span, mistake),
    }
}

/// The last place before `end` where the key is written: as a rule the one in the same table.
fn last_before(tree: &DeTable<'_>, key: &str, end: usize, text: &str) -> Option<Range<usize>> {
    let mut best: Option<Range<usize>> = None;
    for (name, value) in tree {
        let here = Some(name.span()).filter(|span| text.get(span.clone()) == Some(key));
        let below = match value.get_ref() {
            DeValue::Table(table) => last_before(table, key, end, text),
            DeValue::Array(list) => {
                let tables = list.iter().filter_map(|value| value.get_ref().as_table());
                tables
                    .filter_map(|table| last_before(table, key, end, text))
                    .max_by_key(start)
            }
            _ => None,
        };
        let found = here
            .into_iter()
            .chain(below)
            .filter(|span| span.start < end);
        best = best.into_iter().chain(found).max_by_key(start);
    }
    best
}

fn start(span: &Range<usize>) -> usize {
    span.start
}

fn broken(error: &Error, text: &str, span: Range<usize>) -> Mistake {
    let message = error.message();
    let message = message
        .strip_suffix(", expected nothing")
        .unwrap_or(message);
    let unquoted = message.starts_with("string values must be quoted");
    let number = [
        "invalid float",
        "invalid integer",
        "invalid date",
        "unexpected leading zero",
    ];
    if !unquoted && !number.iter().any(|prefix| message.starts_with(prefix)) {
        return Mistake::new(format!("broken TOML: {message}"), "");
    }
    match bare(text, span) {
        "" => Mistake::new("broken TOML: the value is missing", "write it behind the ="),
        word => Mistake::new(
            format!("broken TOML: {word} is not a value"),
            format!("texts need quotes: {word:?}"),
        ),
    }
}

/// The word without quotes that a span lies in, on its line.
fn bare(text: &str, span: Range<usize>) -> &str {
    let ends = |c: char| c.is_whitespace() || matches!(c, '=' | ',' | '[' | ']' | '{' | '}' | '#');
    let (Some(before), Some(behind)) = (text.get(..span.start), text.get(span.end..)) else {
        return "";
    };
    let start = before.rfind(ends).map_or(0, |at| {
        at + before[at..].chars().next().map_or(1, char::len_utf8)
    });
    let end = behind
        .find(ends)
        .map_or(text.len(), |length| span.end + length);
    text[start..end].trim()
}
