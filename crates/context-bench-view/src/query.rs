//! Names and values behind a question mark, and parts of a path.

/// The values of a query, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decoded(name), decoded(value))
                })
                .collect(),
        )
    }

    /// The value of a name; what is empty was not given.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// A number, where one is given.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name)?.parse().ok()
    }
}

/// `%20` and `+` as what they stand for. Bytes that are no text become marks of that.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        let hex = |byte: u8| char::from(byte).to_digit(16);
        match (first, behind) {
            (b'%', [a, b, after @ ..]) if hex(*a).is_some() && hex(*b).is_some() => {
                let value = hex(*a).unwrap_or(0) * 16 + hex(*b).unwrap_or(0);
                bytes.push(u8::try_from(value).unwrap_or(b'?'));
                rest = after;
            }
            (b'+', _) => bytes.push(b' '),
            (other, _) => bytes.push(*other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_and_never_panic() {
        let query = Query::parse("a=1&b=%20x%2By+z&&c&d=%&e=%f&f=%ff&g=%C3%A9");
        let got: Vec<_> = ["a", "b", "c", "d", "e", "f", "g", "h"]
            .map(|name| query.get(name).map(str::to_owned))
            .into();
        let expected = [
            Some("1"),
            Some(" x+y z"),
            None,
            Some("%"),
            Some("%f"),
            Some("\u{fffd}"),
            Some("é"),
            None,
        ];
        assert_eq!(got, expected.map(|one| one.map(str::to_owned)));
        assert_eq!(query.number::<usize>("a"), Some(1));
        assert_eq!(query.number::<usize>("b"), None);
    }
}
