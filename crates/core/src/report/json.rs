//! As much of JSON (RFC 8259) as reports need: one pass over the bytes, nothing is kept.

use super::{BadReport, NO_NUMBER, decimal, parse_measure};

/// How deep what is skipped may be nested.
const DEPTH_MAX: usize = 16;

const MALFORMED: BadReport = BadReport("it is not JSON");

/// A place in a text.
#[derive(Clone, Debug)]
pub(super) struct Json<'t> {
    rest: &'t [u8],
}

/// A value that holds no others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar<'t> {
    /// `null`, `true` or `false`.
    Word,
    /// The text of a number.
    Number(&'t [u8]),
    /// What stands between the quotes, escapes as they are written.
    Text(&'t [u8]),
}

impl<'t> Json<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self { rest: text }
    }

    /// Walks over an object: `each` is given every key, and has to step over its value. Keys are as they
    /// are written: one with an escape is none of those that reports know.
    pub(super) fn members(
        &mut self,
        mut each: impl FnMut(&mut Self, &'t [u8]) -> Result<(), BadReport>,
    ) -> Result<(), BadReport> {
        self.expect(b'{')?;
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            self.expect(b'"')?;
            let key = self.text()?;
            self.expect(b':')?;
            each(self, key)?;
            if self.take(b'}') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    /// A measure, or nothing for `null`. As in the JSON form of protocol buffers, it may be in quotes.
    pub(super) fn measure(&mut self) -> Result<Option<f64>, BadReport> {
        match self.scalar()? {
            Some(Scalar::Number(text) | Scalar::Text(text)) => parse_measure(text).map(Some),
            Some(Scalar::Word) => Ok(None),
            None => Err(NO_NUMBER),
        }
    }

    /// The value here, if it holds no others.
    pub(super) fn scalar(&mut self) -> Result<Option<Scalar<'t>>, BadReport> {
        match self.peek() {
            Some(b'"') => {
                self.rest = &self.rest[1..];
                self.text().map(|text| Some(Scalar::Text(text)))
            }
            Some(b'-' | b'0'..=b'9') => Ok(Some(Scalar::Number(self.run()))),
            Some(b'n' | b't' | b'f') => match self.run() {
                b"null" | b"true" | b"false" => Ok(Some(Scalar::Word)),
                _ => Err(MALFORMED),
            },
            Some(b'{' | b'[') => Ok(None),
            _ => Err(MALFORMED),
        }
    }

    /// Steps over the value here, whatever it is.
    pub(super) fn skip(&mut self) -> Result<(), BadReport> {
        self.skip_within(DEPTH_MAX)
    }

    fn skip_within(&mut self, depth: usize) -> Result<(), BadReport> {
        let Some(deeper) = depth.checked_sub(1) else {
            return Err(BadReport("it is nested too deep"));
        };
        match self.peek() {
            Some(b'{') => self.members(|json, _| json.skip_within(deeper)),
            Some(b'[') => {
                self.expect(b'[')?;
                if self.take(b']') {
                    return Ok(());
                }
                loop {
                    self.skip_within(deeper)?;
                    if self.take(b']') {
                        return Ok(());
                    }
                    self.expect(b',')?;
                }
            }
            _ => match self.scalar()? {
                Some(Scalar::Number(text)) => parse_number(text),
                _ => Ok(()),
            },
        }
    }

    /// Nothing may follow.
    pub(super) fn end(mut self) -> Result<(), BadReport> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(MALFORMED),
        }
    }

    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn expect(&mut self, wanted: u8) -> Result<(), BadReport> {
        self.take(wanted).then_some(()).ok_or(MALFORMED)
    }

    /// Letters, digits and signs, as far as they go.
    fn run(&mut self) -> &'t [u8] {
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let length = self.rest.iter().take_while(|byte| part(byte)).count();
        let (run, rest) = self.rest.split_at(length);
        self.rest = rest;
        run
    }

    /// What stands before the closing quote.
    fn text(&mut self) -> Result<&'t [u8], BadReport> {
        let mut at = 0;
        loop {
            match self.rest.get(at) {
                Some(b'"') => break,
                Some(b'\\') => at += 2,
                Some(0x20..) => at += 1,
                Some(_) | None => return Err(MALFORMED),
            }
        }
        let (text, rest) = self.rest.split_at(at);
        self.rest = &rest[1..];
        Ok(text)
    }
}

fn parse_number(text: &[u8]) -> Result<(), BadReport> {
    if decimal(text).is_some() {
        return Ok(());
    }
    let number = std::str::from_utf8(text).ok();
    let number: Option<f64> = number.and_then(|text| text.parse().ok());
    number.map(|_| ()).ok_or(MALFORMED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skip(text: &str) -> Result<(), BadReport> {
        let mut json = Json::new(text.as_bytes());
        json.skip()?;
        json.end()
    }

    #[test]
    fn whatever_is_json_is_stepped_over() {
        for text in [
            "{}",
            " { \"a\" : [ 1 , -2.5e3, \"x\\\"y\", null ] , \"b\":{\"c\":true}} ",
            "[]",
            "[[[]]]",
            "0",
            "\"\\\\\"",
        ] {
            assert_eq!(skip(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_is_not_is_refused() {
        let deep = "[".repeat(100_000);
        for text in [
            "",
            "{",
            "}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "[1",
            "[1,]",
            "nul",
            "1-1",
            "\"a",
            "\"a\\",
            "\"\n\"",
            "{} {}",
            "-",
            &deep,
        ] {
            assert!(skip(text).is_err(), "{text:.20}");
        }
    }
}
