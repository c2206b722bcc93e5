//! Values there and back.

use context_bench_tasks::python::value;
use serde_json::{Value, json};

use super::Fixture;

/// Values of all kinds from a seed, and whether one equals the other in kind and content.
const UTILS: &str = r#"
import datetime, decimal, math, random

def make(seed):
    rnd = random.Random(seed)
    def hashable(depth):
        return rnd.choice([
            lambda: None, lambda: rnd.random() < 0.5,
            lambda: rnd.randint(-5, 5), lambda: rnd.randint(-2**70, 2**70),
            lambda: rnd.choice([2**63 - 1, 2**63, -2**63, -2**63 - 1, 2**64 - 1, 2**64, 10**5000]),
            lambda: rnd.uniform(-1, 1) * 10.0 ** rnd.randint(-300, 300),
            lambda: rnd.choice([math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1e16, 3.0, 1e22]),
            lambda: "".join(chr(rnd.choice([0, 10, 34, 65, 92, 0xe9, 0x2028, 0xd800, 0xdfff, 0x1f600]))
                            for _ in range(rnd.randint(0, 6))),
            lambda: bytes(rnd.randrange(256) for _ in range(rnd.randint(0, 5))),
            lambda: datetime.datetime(2024, 2, 29, 1, 2, 3, rnd.randint(0, 10**6 - 1)),
            lambda: datetime.datetime(2024, 2, 29, tzinfo=datetime.timezone(datetime.timedelta(hours=-3))),
            lambda: datetime.date(1, 1, 1), lambda: datetime.time(23, 59, 59, 1),
            lambda: datetime.timedelta(days=-2, microseconds=7),
            lambda: decimal.Decimal("1.10"), lambda: complex(1, -math.inf),
            lambda: tuple(hashable(depth + 1) for _ in range(rnd.randint(0, 3) if depth < 3 else 0)),
            lambda: frozenset(hashable(3) for _ in range(rnd.randint(0, 3))),
        ])()
    def any_value(depth):
        return rnd.choice([
            lambda: hashable(0), lambda: hashable(0),
            lambda: [any_value(depth + 1) for _ in range(rnd.randint(0, 4) if depth < 4 else 0)],
            lambda: {hashable(2): any_value(depth + 1) for _ in range(rnd.randint(0, 3) if depth < 4 else 0)},
            lambda: {"k%d" % i: any_value(depth + 1) for i in range(rnd.randint(0, 3) if depth < 4 else 0)},
            lambda: {"$python": any_value(depth + 1) if depth < 4 else "tuple", "value": 1},
            lambda: {hashable(3) for _ in range(rnd.randint(0, 3))},
        ])()
    return any_value(0)

def spelled(value):
    if isinstance(value, dict):
        return [type(value).__name__] + [(spelled(k), spelled(v)) for k, v in value.items()]
    if isinstance(value, (set, frozenset)):
        return [type(value).__name__] + sorted(repr(spelled(item)) for item in value)
    if isinstance(value, (list, tuple)):
        return [type(value).__name__] + [spelled(item) for item in value]
    if isinstance(value, int):
        return type(value).__name__ + hex(value)
    return type(value).__name__ + repr(value)

def same(seed, value):
    expected = make(seed)
    return spelled(expected) == spelled(value) or [repr(spelled(expected)), repr(spelled(value))]

def same_value(value):
    return value

def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return [value]

def circular():
    value = []
    value.append(value)
    return value

class Array:
    def tolist(self):
        return [[1, 2], [3, 4]]

class Scalar:
    def item(self):
        return 1.5
    def tolist(self):
        return 1.5

def like_numpy():
    return {"array": Array(), "scalar": Scalar()}

def iterators():
    return {"map": map(str, [1, 2]), "keys": {"a": 1}.keys(), "range": range(3), "zip": zip("ab", [1, 2])}

def count(n):
    for i in range(n):
        yield {"i": i}

def count_then_fail(n):
    yield from range(n)
    raise ValueError("after %d" % n)

def strange():
    return object()
"#;

#[test]
fn python_values_come_back_as_they_were() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    let seeds: Vec<Vec<Value>> = (0..1500).map(|seed| vec![json!(seed)]).collect();
    let made = fixture
        .pool
        .call_many(&fixture.function("utils.make"), &seeds)
        .unwrap();
    let pairs: Vec<Vec<Value>> = made
        .into_iter()
        .enumerate()
        .map(|(seed, value)| vec![json!(seed), value.unwrap()])
        .collect();
    let outcomes = fixture
        .pool
        .call_many(&fixture.function("utils.same"), &pairs)
        .unwrap();
    for (pair, outcome) in pairs.iter().zip(outcomes) {
        assert_eq!(outcome.unwrap(), json!(true), "{}", pair[1]);
    }
}

/// JSON values from a seed.
fn json_value(state: &mut u64, depth: u32) -> Value {
    let mut draw = |n: u64| {
        *state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (*state >> 33) % n
    };
    match draw(if depth < 4 { 9 } else { 7 }) {
        0 => Value::Null,
        1 => json!(draw(2) == 0),
        2 => json!(i64::MIN + i64::try_from(draw(1 << 31)).unwrap()),
        3 => json!(u64::MAX - draw(1 << 31)),
        4 => json!(f64::from_bits((draw(1 << 31) << 32) | draw(1 << 31))),
        5 => json!(-0.0),
        6 => (0..draw(6))
            .map(|_| {
                ['a', '"', '\\', '\n', '\0', 'é', '\u{2028}', '😀']
                    [usize::try_from(draw(8)).unwrap()]
            })
            .collect::<String>()
            .into(),
        7 => (0..draw(4)).map(|_| json_value(state, depth + 1)).collect(),
        _ => {
            let n = draw(4);
            let entries = (0..n).map(|i| (format!("k{i}"), json_value(state, depth + 1)));
            Value::Object(entries.collect())
        }
    }
}

#[test]
fn json_values_come_back_as_they_were() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    let mut state = 7;
    let calls: Vec<Vec<Value>> = (0..1500).map(|_| vec![json_value(&mut state, 0)]).collect();
    let outcomes = fixture
        .pool
        .call_many(&fixture.function("utils.same_value"), &calls)
        .unwrap();
    for (call, outcome) in calls.iter().zip(outcomes) {
        let value = outcome.unwrap();
        assert_eq!(value, call[0]);
        // `==` does not tell -0.0 from 0.0, the text does.
        assert_eq!(value.to_string(), call[0].to_string());
    }
}

#[test]
fn deep_circular_and_strange_values() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    let call = |name: &str, args: &[Value]| {
        fixture
            .pool
            .call_one(&fixture.function(name), args, &serde_json::Map::new())
    };
    assert!(call("utils.nested", &[json!(100)]).is_ok());
    for (name, args) in [
        ("utils.nested", vec![json!(200)]),
        ("utils.circular", vec![]),
    ] {
        let error = call(name, &args).unwrap_err().to_string();
        assert!(
            error.contains("contains itself, or is nested too deep"),
            "{error}"
        );
    }
    let error = call("utils.strange", &[]).unwrap_err().to_string();
    assert!(
        error.contains("a value of type `builtins.object`"),
        "{error}"
    );
    let unknown = call(
        "utils.same_value",
        &[json!({ "$python": "tupel", "value": [] })],
    );
    assert!(
        unknown
            .unwrap_err()
            .to_string()
            .contains("unknown tag `tupel`")
    );
}

#[test]
fn what_acts_like_a_list_is_one() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    let call = |name: &str, args: &[Value]| {
        fixture
            .pool
            .call_one(&fixture.function(name), args, &serde_json::Map::new())
    };
    assert_eq!(
        call("utils.like_numpy", &[]).unwrap(),
        json!({ "array": [[1, 2], [3, 4]], "scalar": 1.5 })
    );
    assert_eq!(
        value::plain(call("utils.iterators", &[]).unwrap()),
        json!({ "map": ["1", "2"], "keys": ["a"], "range": [0, 1, 2], "zip": [["a", 1], ["b", 2]] })
    );
    let rows = call("utils.count", &[json!(100_000)]).unwrap();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 100_000);
    assert!(
        rows.iter()
            .enumerate()
            .all(|(i, row)| row == &json!({ "i": i }))
    );
    assert_eq!(call("utils.count", &[json!(0)]).unwrap(), json!([]));
    // Half a list does not count as a list, and the next call is not confused.
    let error = call("utils.count_then_fail", &[json!(2000)]).unwrap_err();
    assert_eq!(error.exception().unwrap().message, "after 2000");
    assert_eq!(call("utils.same_value", &[json!(1)]).unwrap(), json!(1));
}
