//! Base64 (RFC 4648, section 4), byte by byte.

use super::BadReport;

/// The bytes that a text in base64 stands for, padded or not.
#[derive(Clone, Debug)]
pub(super) struct Decoder<'t> {
    rest: &'t [u8],
    bits: u32,
    count: u32,
}

impl<'t> Decoder<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        let end = text
            .iter()
            .rposition(|byte| *byte != b'=')
            .map_or(0, |at| at + 1);
        // At most two of them: a third one is text.
        let end = end.max(text.len().saturating_sub(2));
        Self {
            rest: &text[..end],
            bits: 0,
            count: 0,
        }
    }
}

impl Iterator for Decoder<'_> {
    type Item = Result<u8, BadReport>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.count < 8 {
            let Some((first, rest)) = self.rest.split_first() else {
                // Fewer than eight bits are left over by padding; six of them are half a byte.
                let cut = std::mem::take(&mut self.count) == 6;
                return cut.then_some(Err(BadReport("base64 is cut short")));
            };
            let Some(digit) = digit(*first) else {
                self.rest = &[];
                self.count = 0;
                return Some(Err(BadReport("it is not base64")));
            };
            self.rest = rest;
            self.bits = self.bits << 6 | digit;
            self.count += 6;
        }
        self.count -= 8;
        Some(Ok((self.bits >> self.count) as u8))
    }
}

fn digit(byte: u8) -> Option<u32> {
    let digit = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(text: &str) -> Result<Vec<u8>, BadReport> {
        Decoder::new(text.as_bytes()).collect()
    }

    /// The vectors of RFC 4648, section 10.
    #[test]
    fn the_vectors_of_the_standard() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
            ("Zg", "f"),
            ("Zm9vYmE", "fooba"),
        ] {
            assert_eq!(decode(text), Ok(bytes.as_bytes().to_vec()), "{text}");
        }
        assert_eq!(decode("+/+/"), Ok(vec![0xFB, 0xFF, 0xBF]));
    }

    #[test]
    fn what_is_no_base64_is_refused_and_ends() {
        for text in ["Z", "Zm9vY", "Zm 9v", "Zg===", "Z=g=", "Zm9-", "\u{fc}"] {
            assert!(decode(text).is_err(), "{text}");
            assert!(Decoder::new(text.as_bytes()).count() < 8, "{text}");
        }
    }
}
