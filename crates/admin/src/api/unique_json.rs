//! JSON in which no object has a key twice.
//!
//! Of two values for one key most readers take the last and some the first, so that whoever checks a
//! request and whoever carries it out may see different ones (RFC 8259 section 4).

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads a text.
///
/// # Errors
///
/// When it is not JSON, or gives a key twice; the latter is an error of the data, not of the syntax.
pub(super) fn from_slice(bytes: &[u8]) -> serde_json::Result<Value> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Unique.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Value, E> {
        // JSON has no number that is none.
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(Self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value_seed(Self)?;
            if values.contains_key(&key) {
                return Err(de::Error::custom(format_args!(
                    "the key {key:?} is given twice"
                )));
            }
            values.insert(key, value);
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_key_twice_is_read_as_ever() {
        for text in [
            "null",
            "[1,-2,0.5,1e300,\"a\\u00e9\",true,[],{}]",
            "{\"a\":{\"a\":[{\"a\":1},{\"a\":2}]},\"b\":null}",
            " {\"weight\": 18446744073709551615} ",
        ] {
            let expected: Value = serde_json::from_str(text).expect("JSON");
            assert_eq!(from_slice(text.as_bytes()).expect("JSON"), expected);
        }
    }

    #[test]
    fn a_key_that_is_given_twice_is_refused_wherever_it_stands() {
        for text in [
            "{\"weight\":1,\"weight\":2}",
            "{\"weight\":1,\"w\\u0065ight\":1}",
            "[{\"a\":{\"weight\":1,\"b\":2,\"weight\":1}}]",
        ] {
            let error = from_slice(text.as_bytes()).expect_err("twice");
            assert!(error.is_data(), "{error}");
            assert!(
                error
                    .to_string()
                    .contains("the key \"weight\" is given twice"),
                "{error}"
            );
        }
        for text in ["", "{", "{\"a\":1}x", "[1,]", "nul", "\"\u{1}\""] {
            assert!(
                !from_slice(text.as_bytes()).expect_err(text).is_data(),
                "{text}"
            );
        }
    }
}
