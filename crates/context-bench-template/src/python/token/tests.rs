//! Tokens and their values; what is not Python is a token too.

use super::*;

fn only(text: &str) -> Token<'_> {
    let mut tokens = Tokens::new(text);
    let token = tokens.next().expect("a token");
    assert_eq!(tokens.next(), None, "{text}");
    token
}

#[test]
fn sources_as_tokens() {
    for (source, expected) in [
        ("f(a = -1.5)", "f|(|a|=|-|1.5|)"),
        ("x**2//y!=z", "x|**|2|//|y|!=|z"),
        ("a.b[...]", "a|.|b|[|...|]"),
        ("r'a\\'b' rb\"c\" don't", "r'a\\'b'|rb\"c\"|don|'|t"),
        ("'''a\n'b''' ''", "'''a\n'b'''|''"),
        ("x # y'\n\\\n z", "x|# y'|\n|\\\n|z"),
        ("\\'a\u{a0}?", "\\'|a|\u{a0}|?"),
        ("\"\"\"open\n\n", "\"\"\"open\n\n"),
        ("'a\n'b", "'|a|\n|'|b"),
        ("'a\\\nb'\r\n", "'a\\\nb'|\r\n"),
        ("1a.5 .5 5. 1__0 0x 1e", "1a|.5|.5|5.|1__0|0x|1e"),
        ("日本=é\u{301}", "日本|=|é\u{301}"),
    ] {
        let found: Vec<_> = Tokens::new(source).map(|token| token.text).collect();
        assert_eq!(found.join("|"), expected, "{source}");
    }
    let kinds = |source| -> Vec<_> { Tokens::new(source).map(|token| token.kind).collect() };
    assert_eq!(
        kinds("x '' ''' 1a \u{a0}"),
        [TokenKind::Name, TokenKind::String, TokenKind::OpenString]
    );
    assert_eq!(
        kinds("1a \u{a0} ' \\\n"),
        [
            TokenKind::Unknown,
            TokenKind::Space,
            TokenKind::Unknown,
            TokenKind::Continuation
        ]
    );
}

#[test]
fn numbers() {
    for (text, value) in [
        ("12", PythonNumber::Int(12)),
        ("1_000", PythonNumber::Int(1000)),
        ("0x1F", PythonNumber::Int(31)),
        ("0b_1", PythonNumber::Int(1)),
        ("00", PythonNumber::Int(0)),
        ("1.", PythonNumber::Float(1.0)),
        ("05.0", PythonNumber::Float(5.0)),
        (".5e-1", PythonNumber::Float(0.05)),
        ("1e5", PythonNumber::Float(1e5)),
        ("1E+5", PythonNumber::Float(1e5)),
    ] {
        assert_eq!(only(text).number(), Ok(value), "{text}");
    }
    for text in ["05", "1j", "1a", "0xg", "1_", "1__0", "0x", "0b2", "1._5"] {
        let token = Tokens::new(text).next().expect("a token");
        assert_eq!(token.kind, TokenKind::Unknown, "{text}");
        assert!(token.number().is_err(), "{text}");
    }
    let nines = "9".repeat(60);
    assert!(matches!(
        only(&nines).number(),
        Ok(PythonNumber::HugeInt(_))
    ));
}

#[test]
fn strings() {
    for (text, value) in [
        (r#"'it\'s'"#, "it's"),
        (r#""a\n\x41\u00e9\101\d""#, "a\nAéA\\d"),
        (r"r'\n\''", r"\n\'"),
        ("'''a\n'b'''", "a\n'b"),
        ("u''", ""),
    ] {
        let found = only(text).string(SurrogatePairs::Refuse);
        assert_eq!(found.as_deref(), Ok(value), "{text}");
    }
    let pair = only(r#""\ud83d\ude00\ud83d""#);
    assert_eq!(
        pair.string(SurrogatePairs::Join).as_deref(),
        Ok("😀\u{fffd}")
    );
    assert!(pair.string(SurrogatePairs::Refuse).is_err());
    for text in [
        "f'a'",
        "b'a'",
        "ur'a'",
        r"'\N{DASH}'",
        r"'\x4'",
        r"'\U00110000'",
    ] {
        assert!(only(text).string(SurrogatePairs::Join).is_err(), "{text}");
    }
    let wrong = Tokens::new(r"x 'ab\xz'").nth(1).expect("a string");
    let error = wrong.string(SurrogatePairs::Join).expect_err("no code");
    assert_eq!(error.offset, 5);
}

#[test]
fn names() {
    assert!(is_name("_a1") && is_name("for") && is_name("é\u{301}"));
    assert!(!is_name("") && !is_name("1a") && !is_name("a.b") && !is_name("a b"));
    assert!(is_keyword("lambda") && !is_keyword("None") && !is_keyword("match"));
}
