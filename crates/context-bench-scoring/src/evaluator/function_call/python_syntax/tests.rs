//! Values and calls that are read, and what is refused.

use super::*;
use serde_json::json;

fn argument(text: &str) -> Option<Value> {
    match expression(&format!("f(x={text})"), Dialect::Strict)? {
        Value::Call(call) => call.get("x").cloned(),
        _ => None,
    }
}

#[test]
fn values() {
    for (text, expected) in [
        ("-3", json!(-3)),
        ("1_0.5", json!(10.5)),
        ("[1, 'a', [None]]", json!([1, "a", [null]])),
        ("{'a': {'b': True}, }", json!({"a": {"b": true}})),
        ("'a' \"b\"", json!("ab")),
        ("2 * (3 + 4) - 1", json!(13)),
        ("7 // -2", json!(-4)),
        ("-7 % 3", json!(2)),
        ("2 ** 3 ** 2", json!(512)),
        ("1 / 4", json!(0.25)),
        ("variable", json!("variable")),
        ("true", json!("true")),
        ("g(1)", json!("g(1)")),
        ("g(a=1)", json!({"g": {"a": 1}})),
        ("data[0]", json!("data[0]")),
        ("...", json!("...")),
    ] {
        let found = argument(text);
        assert!(
            found
                .as_ref()
                .is_some_and(|found| found.equals(&Value::from(&expected))),
            "{text}: {found:?}"
        );
    }
    assert_eq!(argument("(1,)"), Some(Value::Tuple(vec![Value::Int(1)])));
    assert_eq!(argument("()"), Some(Value::Tuple(vec![])));
    assert_eq!(argument("(1)"), Some(Value::Int(1)));
}

#[test]
fn what_is_refused() {
    for text in [
        "",
        "a.b",
        "1 < 2",
        "not a",
        "f'x'",
        "[x for x in y]",
        "{1, 2}",
        "lambda: 1",
        "05",
        "1 if a else 2",
        "*a",
        "1 / 0",
        "'a",
        "[1 2]",
        "[,]",
        "{'a'}",
        "a b",
        "None.x",
    ] {
        assert_eq!(argument(text), None, "{text}");
    }
    for text in [
        "f(a=1, a=2)",
        "f(a=1, 2)",
        "f(from=1)",
        "f(a==1)",
        "f(a=1) g()",
        "f(a=1",
    ] {
        assert_eq!(expression(text, Dialect::Strict), None, "{text}");
    }
    assert_eq!(expression(&"[".repeat(100_000), Dialect::Strict), None);
    assert_eq!(expression(&"-".repeat(100_000), Dialect::Strict), None);
}

#[test]
fn calls_over_several_lines() {
    let text = "[\n  a.b(x=1, # one\n  y='z'),\n  c(2, true)\n]";
    let Some(Value::List(calls)) = expression(text, Dialect::Relaxed) else {
        panic!("a list");
    };
    let [Value::Call(first), Value::Call(second)] = &calls[..] else {
        panic!("two calls");
    };
    assert_eq!(first.name, "a.b");
    assert_eq!(second.positional, [Value::Int(2), Value::Bool(true)]);
    assert_eq!(expression("[f()]\n[g()]", Dialect::Strict), None);
}
