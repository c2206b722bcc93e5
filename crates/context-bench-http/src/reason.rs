//! Why there was no answer, in plain words.

/// The innermost reason of an error, such as `connection refused`; the layers around it
/// only repeat the address and that a request failed.
pub fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    plain_reason(&cause.to_string())
}

/// `Connection refused (os error 111)` as `connection refused`.
pub fn plain_reason(text: &str) -> String {
    // What rustls says when plain HTTP answers its greeting.
    if text.contains("InvalidContentType") {
        return "the server does not speak HTTPS".to_owned();
    }
    let text = text.split(" (os error ").next().unwrap_or(text);
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        // Abbreviations such as `DNS` keep their case.
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::plain_reason;

    #[test]
    fn reasons_are_plain() {
        for (text, expected) in [
            ("Connection refused (os error 111)", "connection refused"),
            ("DNS failed", "DNS failed"),
            (
                "connection closed before message completed",
                "connection closed before message completed",
            ),
            (
                "received corrupt message of type InvalidContentType",
                "the server does not speak HTTPS",
            ),
            ("", ""),
        ] {
            assert_eq!(plain_reason(text), expected);
        }
    }
}
