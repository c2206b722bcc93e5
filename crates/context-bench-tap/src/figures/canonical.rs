//! [`canonical_json`]: one spelling for every JSON text that means the same.
//!
//! Members are sorted by code point and space between tokens is left out; arrays keep their order
//! and numbers their spelling, since 1 and 1.0 are different requests to some servers.

/// Why a text has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// It is no JSON.
    #[error("not JSON: {0}")]
    Invalid(String),
    /// An object has two members of one name: readers differ in which one counts.
    #[error("the member `{0}` stands there twice")]
    Duplicate(String),
}

/// The canonical form of a JSON text.
///
/// # Errors
///
/// When it is no JSON, or an object has two members of one name.
pub fn canonical_json(bytes: &[u8]) -> Result<String, CanonicalError> {
    let invalid = |error: serde_json::Error| CanonicalError::Invalid(error.to_string());
    // What follows relies on its being valid, and on its not being too deep.
    let _: serde::de::IgnoredAny = serde_json::from_slice(bytes).map_err(invalid)?;
    let text =
        std::str::from_utf8(bytes).map_err(|error| CanonicalError::Invalid(error.to_string()))?;
    let mut writer = Writer { text, at: 0 };
    let mut out = String::with_capacity(text.len());
    writer.value(&mut out, 0)?;
    Ok(out)
}

/// serde_json reads no deeper by itself.
const DEPTH: usize = 128;

struct Writer<'a> {
    /// Valid JSON.
    text: &'a str,
    at: usize,
}

impl Writer<'_> {
    fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied().unwrap_or(0)
    }

    fn value(&mut self, out: &mut String, depth: usize) -> Result<(), CanonicalError> {
        if depth > DEPTH {
            return Err(CanonicalError::Invalid("nested too deep".to_owned()));
        }
        match self.peek() {
            b'{' => self.object(out, depth),
            b'[' => self.array(out, depth),
            b'"' => {
                let text = self.string()?;
                quote(&text, out);
                Ok(())
            }
            // A number or a word, as it is spelled.
            _ => {
                let rest = &self.text[self.at..];
                let is_end = |c: char| c.is_ascii_whitespace() || matches!(c, ',' | ']' | '}');
                let length = rest.find(is_end).unwrap_or(rest.len());
                out.push_str(&rest[..length]);
                self.at += length;
                Ok(())
            }
        }
    }

    fn object(&mut self, out: &mut String, depth: usize) -> Result<(), CanonicalError> {
        self.at += 1;
        let mut members: Vec<(String, String)> = Vec::new();
        while self.peek() != b'}' {
            if self.peek() == b',' {
                self.at += 1;
                self.peek();
            }
            let name = self.string()?;
            // The colon.
            self.peek();
            self.at += 1;
            let mut value = String::new();
            self.value(&mut value, depth + 1)?;
            members.push((name, value));
        }
        self.at += 1;
        members.sort_by(|one, two| one.0.cmp(&two.0));
        if let Some(pair) = members.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(CanonicalError::Duplicate(pair[0].0.clone()));
        }
        out.push('{');
        for (at, (name, value)) in members.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            quote(name, out);
            out.push(':');
            out.push_str(value);
        }
        out.push('}');
        Ok(())
    }

    fn array(&mut self, out: &mut String, depth: usize) -> Result<(), CanonicalError> {
        self.at += 1;
        out.push('[');
        while self.peek() != b']' {
            if self.peek() == b',' {
                self.at += 1;
                out.push(',');
            }
            self.value(out, depth + 1)?;
        }
        self.at += 1;
        out.push(']');
        Ok(())
    }

    /// The content of the string that begins here.
    fn string(&mut self) -> Result<String, CanonicalError> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += 1;
        while bytes.get(self.at).is_some_and(|byte| *byte != b'"') {
            self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at = (self.at + 1).min(bytes.len());
        let quoted = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(quoted).map_err(|error| CanonicalError::Invalid(error.to_string()))
    }
}

/// A string with no more escapes than it needs.
fn quote(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_meaning_has_one_spelling() {
        for (text, expected) in [
            (
                " { \"b\" : 1 , \"a\" : [ 1.0 , 1e2 ] } ",
                r#"{"a":[1.0,1e2],"b":1}"#,
            ),
            (r#"{"é":"\u00e9\/\n"}"#, r#"{"é":"é/\n"}"#),
            ("[]", "[]"),
            ("{}", "{}"),
            ("[{},[],\"\",null,true]", "[{},[],\"\",null,true]"),
            ("\"\\\"\\\\\"", "\"\\\"\\\\\""),
            ("-0.0", "-0.0"),
        ] {
            let canonical = canonical_json(text.as_bytes());
            assert_eq!(canonical.as_deref(), Ok(expected), "{text}");
            assert_eq!(canonical_json(expected.as_bytes()).as_deref(), Ok(expected));
        }
        assert_ne!(canonical_json(b"1"), canonical_json(b"1.0"));
    }

    #[test]
    fn what_is_unclear_has_none() {
        let duplicate = canonical_json(br#"{"a":1,"b":{"\u0061":1,"a":2}}"#);
        assert_eq!(duplicate, Err(CanonicalError::Duplicate("a".to_owned())));
        let deep = "[".repeat(200) + &"]".repeat(200);
        for text in ["", "{", "{\"a\":}", "[1,]", "nope", deep.as_str()] {
            assert!(canonical_json(text.as_bytes()).is_err(), "{text}");
        }
        assert!(canonical_json(b"\"\xff\"").is_err());
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(serde_json::Value::from),
            any::<i32>().prop_map(serde_json::Value::from),
            ".*".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
                prop::collection::btree_map(".*", inner, 0..5)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_meaning_stays(value in json()) {
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            let canonical = canonical_json(pretty.as_bytes()).unwrap();
            prop_assert_eq!(canonical_json(value.to_string().as_bytes()).unwrap(), canonical.as_str());
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&canonical).unwrap(), value);
        }
    }
}
