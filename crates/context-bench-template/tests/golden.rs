//! Worked cases made by the Python programs in `oracle/`, which say how.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use context_bench_error::Hint as _;
use context_bench_template::jinja::Template;
use context_bench_template::python::{self, regex::Regex};
use context_bench_template::yaml::{self, Node, Yaml};
use serde_json::Value;

fn cases(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

/// The spelling of `oracle/yaml_cases.py`.
fn spell(node: &Node) -> String {
    let many = |nodes: &[std::sync::Arc<Node>]| -> Vec<String> {
        nodes.iter().map(|node| spell(node)).collect()
    };
    let value = match &node.value {
        Yaml::Null => "null".into(),
        Yaml::Bool(truth) => format!("bool:{truth}"),
        Yaml::Int(int) => format!("int:{int}"),
        Yaml::BigInt(int) => format!("int:{int}"),
        Yaml::Float(x) => format!("float:{}", python::float(*x)),
        Yaml::Text(text) => format!("str:{}", serde_json::to_string(text.as_ref()).unwrap()),
        Yaml::Timestamp(text) => format!("date:{text}"),
        Yaml::Bytes(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("bytes:{hex}")
        }
        Yaml::List(list) => format!("[{}]", many(list).join(", ")),
        Yaml::Set(items) => {
            let mut items = many(items);
            items.sort();
            format!("set({})", items.join(", "))
        }
        Yaml::Map(map) => {
            let pair =
                |entry: &yaml::Entry| format!("{} => {}", spell(&entry.key), spell(&entry.value));
            let pairs: Vec<String> = map.entries.iter().map(pair).collect();
            format!("{{{}}}", pairs.join(", "))
        }
    };
    match &node.tag {
        Some(tag) => format!("{tag} {value}"),
        None => value,
    }
}

#[test]
fn yaml_reads_as_pyyaml_does() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("golden/yaml.json")) {
        let text = case["text"].as_str().unwrap();
        let found = yaml::parse(text.as_bytes(), "x.yaml");
        let found = found.ok().map(|document| spell(&document.root));
        if found.as_deref() != case["value"].as_str() {
            wrong.push(format!(
                "{text:?}\n  ours   {found:?}\n  theirs {:?}",
                case["value"]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn what_yaml_writes_reads_back() {
    for case in cases(include_str!("golden/yaml.json")) {
        let text = case["text"].as_str().unwrap();
        let Ok(document) = yaml::parse(text.as_bytes(), "x.yaml") else {
            continue;
        };
        let written = yaml::emit(&document.root);
        let again = yaml::parse(written.as_bytes(), "again.yaml")
            .unwrap_or_else(|error| panic!("{text:?} was written as {written:?}: {error}"));
        assert_eq!(
            spell(&again.root),
            spell(&document.root),
            "{text:?}: {written:?}"
        );
    }
}

/// Message, place and advice for texts people really write.
#[test]
fn errors_say_what_where_and_what_to_do() {
    for (text, message, place, hint) in [
        (
            "doc_to_text: {{question}}\n",
            "a mapping cannot be a key",
            "x.yaml:1:15",
            "quotes",
        ),
        (
            "a: 1\nb: {{x}} and\n",
            "cannot be a key",
            "x.yaml:2:",
            "quotes",
        ),
        (
            "a:\n\t- b\n",
            "cannot start any token",
            "x.yaml:2:1",
            "spaces",
        ),
        (
            "a: b: c\n",
            "mapping values are not allowed",
            "x.yaml:1:5",
            "quotes",
        ),
        ("a: *b\n", "alias `*b`", "x.yaml:1:4", "quotes"),
        ("a: &a [*a]\n", "contains itself", "x.yaml:1:8", ""),
        ("a: !!foo b\n", "tag `!!foo`", "x.yaml:1:4", ""),
        ("a: 1\nb: [!x, y]\n", "comma", "x.yaml:2:5", "space"),
        (
            "a: 1\n---\nb: 1\n",
            "second document",
            "x.yaml:2:1",
            "one document",
        ),
    ] {
        let error = yaml::parse(text.as_bytes(), "x.yaml").unwrap_err();
        assert!(error.message().contains(message), "{text:?}: {error}");
        assert!(
            error.place().to_string().starts_with(place),
            "{text:?}: {error}"
        );
        assert!(
            error.hint().unwrap_or_default().contains(hint),
            "{text:?}: {:?}",
            error.hint()
        );
    }
    let document = yaml::parse(b"a: 1\nb: {c: 1, c: 2}\na: 3\n", "x.yaml").unwrap();
    let found: Vec<String> = document
        .duplicates
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        found,
        [
            "key `c` at 2:11 was already given at 2:5; the last one counts",
            "key `a` at 3:1 was already given at 1:1; the last one counts",
        ]
    );
}

#[test]
fn bombs_are_errors() {
    // Aliases of aliases, seven levels of ten.
    let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (this, last) in ["b", "c", "d", "e", "f", "g", "h"]
        .iter()
        .zip("abcdefg".chars())
    {
        let items = vec![format!("*{last}"); 10].join(", ");
        bomb.push_str(&format!("{this}: &{this} [{items}]\n"));
    }
    // Merge keys that copy one large mapping many times.
    let keys: Vec<String> = (0..100_000).map(|i| format!("k{i}: {i}")).collect();
    let mut merges = format!("- &a {{{}}}\n", keys.join(", "));
    merges.push_str(&"- {<<: *a}\n".repeat(100_000));
    let long = format!("- &a {}\n{}", "x".repeat(1 << 20), "- *a\n".repeat(1000));
    let deep = "[".repeat(100_000);
    let deep_block = "- ".repeat(10_000);
    for text in [bomb, merges, long, deep, deep_block] {
        let start = text[..20].to_owned();
        let error = yaml::parse(text.as_bytes(), "x.yaml").expect_err(&start);
        assert!(error.place().line.is_some(), "{start}");
    }
    // 5 MB that are honest.
    let plain: String = (0..200_000)
        .map(|i| format!("key{i}: [1, two, 3.0]\n"))
        .collect();
    assert!(yaml::parse(plain.as_bytes(), "x.yaml").is_ok());
}

#[test]
fn utf16_is_read_and_bad_bytes_are_placed() {
    let text = "a: \"é\"\n";
    for (mark, swap) in [([0xFF, 0xFE], false), ([0xFE, 0xFF], true)] {
        let mut bytes = mark.to_vec();
        for unit in text.encode_utf16() {
            bytes.extend(if swap {
                unit.to_be_bytes()
            } else {
                unit.to_le_bytes()
            });
        }
        let document = yaml::parse(&bytes, "x.yaml").unwrap();
        assert_eq!(document.root.get("a").unwrap().as_str(), Some("é"));
        bytes.pop();
        assert!(yaml::parse(&bytes, "x.yaml").is_err());
    }
    let error = yaml::parse(b"a: 1\nb: \xff\n", "x.yaml").unwrap_err();
    assert_eq!(error.place().to_string(), "x.yaml:2:4");
}

/// Patterns that Python refuses and we accept; nobody is hurt by that.
const ACCEPTED: &[&str] = &["a**", "(?P<1>a)"];
/// Patterns that Python accepts and we refuse, with a message.
const REFUSED: &[&str] = &["\\N{DIGIT ONE}"];

#[test]
fn regular_expressions_match_as_in_python() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("golden/regex.json")) {
        let pattern = case["pattern"].as_str().unwrap();
        let regex = match Regex::new(pattern) {
            Ok(regex) => regex,
            Err(error) => {
                if case["error"] != true && !REFUSED.contains(&pattern) {
                    wrong.push(format!("{error}"));
                }
                continue;
            }
        };
        if case["error"] == true && !ACCEPTED.contains(&pattern) {
            wrong.push(format!("{pattern:?} should be refused"));
        }
        for (text, expected) in case["found"].as_object().into_iter().flatten() {
            let found: Vec<Vec<Option<&str>>> = regex
                .find_all(text)
                .unwrap()
                .iter()
                .map(|found| {
                    let groups = found.groups.iter();
                    std::iter::once(Some(&text[found.start..found.end]))
                        .chain(groups.map(|group| group.map(|(start, end)| &text[start..end])))
                        .collect()
                })
                .collect();
            let found = serde_json::to_value(found).unwrap();
            if found != *expected {
                wrong.push(format!(
                    "{pattern:?} on {text:?}\n  ours   {found}\n  theirs {expected}"
                ));
            }
        }
        if let Some(repl) = case["repl"].as_str() {
            let count = case["count"].as_u64().unwrap() as usize;
            if case["sub"].is_null() {
                assert!(regex.sub(repl, "a", count).is_err(), "{pattern} {repl}");
            }
            for (text, expected) in case["sub"].as_object().into_iter().flatten() {
                let found = regex.sub(repl, text, count).unwrap();
                if found != *expected {
                    wrong.push(format!(
                        "sub {pattern:?} {repl:?} in {text:?}: {found:?}, {expected}"
                    ));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_pattern_that_never_ends_is_an_error() {
    let regex = Regex::new("(x+x+)+(?=y)\\1").unwrap();
    assert!(regex.find_all(&"x".repeat(200)).is_err());
}

/// Templates that render differently on purpose or for want of a way, with ours.
const OTHERWISE: &[(&str, Option<&str>)] = &[
    // Carriage returns stay where they are.
    (
        "{{ multi|indent(2) }}",
        Some("line one\n  line two\r\n  line three"),
    ),
    ("{{ self }}", None),
];

#[test]
fn templates_render_as_in_jinja() {
    let golden: Value = serde_json::from_str(include_str!("golden/jinja.json")).unwrap();
    let record = golden["record"].as_object().unwrap();
    let mut wrong = Vec::new();
    for case in golden["cases"].as_array().unwrap() {
        let source = case["template"].as_str().unwrap();
        let found = Template::compile("t", source).and_then(|template| template.render(record));
        let other = OTHERWISE.iter().find(|(known, _)| *known == source);
        let expected = match other {
            Some((_, ours)) => *ours,
            None => case["text"].as_str(),
        };
        if let Some((_, ours)) = other {
            assert_ne!(*ours, case["text"].as_str(), "{source:?} no longer differs");
        }
        if found.as_deref().ok() != expected {
            wrong.push(format!(
                "{source:?}\n  ours   {found:?}\n  theirs {expected:?}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn literals_are_read_as_in_python() {
    for case in cases(include_str!("golden/literal.json")) {
        let text = case["text"].as_str().unwrap();
        assert_eq!(
            python::literal_eval(text).ok().as_ref(),
            case.get("value"),
            "{text:?}"
        );
    }
    let deep = "[".repeat(100_000);
    assert!(python::literal_eval(&deep).is_err());
}

#[test]
fn an_undefined_name_is_named_with_template_and_record() {
    let record = serde_json::json!({"question": "q", "answer": {"text": ["a"]}});
    let record = record.as_object().unwrap();
    for (source, message) in [
        ("{{ questoin }}", "`questoin` is undefined"),
        ("{{ answer.txt }}", "`answer.txt` is undefined"),
        ("{{ questoin.strip() }}", "`questoin` is undefined"),
        ("{% for x in xs %}{% endfor %}", "`xs` is undefined"),
        ("{{ questoin[0] ~ 'a' }}", "`questoin` is undefined"),
    ] {
        let template = Template::compile("doc_to_text", source).unwrap();
        let error = template.render(record).unwrap_err().for_record(7);
        assert_eq!(
            error.to_string(),
            format!("{message} in template `doc_to_text`, for record 7")
        );
        assert_eq!(
            error.hint().as_deref(),
            Some("the record has `question`, `answer`")
        );
    }
    let value = |source| Template::compile("t", source).and_then(|t| t.evaluate(record));
    assert_eq!(
        value("{{ answer.text }}").unwrap(),
        serde_json::json!(["a"])
    );
    assert_eq!(value("{{answer.text|length}}").unwrap(), 1);
    assert_eq!(value("{{ question }}{{ question }}").unwrap(), "qq");
    assert_eq!(value("plain").unwrap(), "plain");
    assert!(value("{{ nothing }}").is_err());
}

#[test]
fn templates_are_bounded() {
    let record = serde_json::json!({});
    for source in [
        "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ 'x'.ljust(1000000000) }}",
        "{{ 'x' * 1000000000000 }}",
        "{{ range(10000000)|list }}",
        "{% include 'x' %}",
    ] {
        let rendered = Template::compile("t", source)
            .and_then(|template| template.render(record.as_object().unwrap()));
        assert!(rendered.is_err(), "{source}");
    }
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(5000), ")".repeat(5000));
    assert!(Template::compile("t", &deep).is_err());
}

#[test]
fn one_template_renders_on_many_threads() {
    let template = Template::compile("t", "{{ n }}: {{ xs|join(',') }}").unwrap();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let template = &template;
            scope.spawn(move || {
                let record = serde_json::json!({"n": n, "xs": [n, 1.0]});
                for _ in 0..200 {
                    let text = template.render(record.as_object().unwrap()).unwrap();
                    assert_eq!(text, format!("{n}: {n},1.0"));
                }
            });
        }
    });
}

/// Whatever a file holds, reading it ends with a value or an error.
#[test]
fn nothing_panics() {
    let yaml_texts = cases(include_str!("golden/yaml.json"));
    let golden: Value = serde_json::from_str(include_str!("golden/jinja.json")).unwrap();
    let templates = golden["cases"].as_array().unwrap();
    let record = golden["record"].as_object().unwrap();
    let patterns = cases(include_str!("golden/regex.json"));
    let literals = cases(include_str!("golden/literal.json"));
    let marks = [
        "{{", "}}", "{%", "%}", "'", "\"", "\\", "|", "- ", ": ", "\n", "\t", "[", "(", "é", "😀",
        "%", "*", "&a", "!", "#", "\u{0}", "?<", "{2", "\\x", "0x", "\r",
    ];
    let mut state = 1_u64;
    let mut next = |n: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % n.max(1)
    };
    for _ in 0..3000 {
        let pools = [
            (&yaml_texts, "text"),
            (templates, "template"),
            (&patterns, "pattern"),
            (&literals, "text"),
        ];
        let (pool, key) = pools[next(4)];
        let mut text = pool[next(pool.len())][key].as_str().unwrap().to_owned();
        for _ in 0..1 + next(4) {
            let places: Vec<usize> = text
                .char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .collect();
            let (a, b) = (places[next(places.len())], places[next(places.len())]);
            match next(3) {
                0 => text.insert_str(a, marks[next(marks.len())]),
                1 => text.replace_range(a.min(b)..a.max(b), ""),
                _ => {
                    let part = text[a.min(b)..a.max(b)].to_owned();
                    text.push_str(&part);
                }
            }
        }
        if let Ok(document) = yaml::parse(text.as_bytes(), "x.yaml") {
            let written = yaml::emit(&document.root);
            let again = yaml::parse(written.as_bytes(), "y.yaml");
            assert_eq!(
                again.map(|again| spell(&again.root)).ok(),
                Some(spell(&document.root)),
                "{text:?}"
            );
        }
        if let Ok(template) = Template::compile("t", &text) {
            let _ = template.render(record);
            let _ = template.evaluate(record);
        }
        if let Ok(regex) = Regex::new(&text) {
            let _ = regex.sub("[\\g<0>]", "The answer is (B).\n1,234 é", 0);
        }
        let _ = python::literal_eval(&text);
    }
}
