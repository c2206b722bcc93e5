//! Mathematical answers: worked pairs, extraction, properties, worst cases.

use context_bench_scoring::math::{equivalent, extract_answer};
use proptest::prelude::*;
use serde_json::Value;

use crate::patience::ends;

/// How many of our pairs math-verify 0.9.0 judges otherwise, each explained in the file.
const N_MISSED_BY_MATH_VERIFY: usize = 38;

fn pairs() -> Vec<Value> {
    let text = include_str!("../fixtures/math_pairs.jsonl");
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[test]
fn pairs_are_equal_or_not_in_both_directions() {
    let mut missed = 0;
    for pair in pairs() {
        let (a, b) = (pair["a"].as_str().unwrap(), pair["b"].as_str().unwrap());
        let equal = pair["equal"].as_bool().unwrap();
        assert_eq!(equivalent(a, b), equal, "{a} and {b}");
        assert_eq!(equivalent(b, a), equal, "{b} and {a}");
        let differs = pair["math_verify"].as_bool() != Some(equal);
        let explained = pair["math_verify_misses"].is_string();
        assert_eq!(differs, explained, "{a} and {b}");
        missed += usize::from(differs);
    }
    assert_eq!(missed, N_MISSED_BY_MATH_VERIFY);
}

/// Letters that are written together: case does not count between the spellings, the order
/// of capitals does.
#[test]
fn case_of_letters() {
    for (a, b, equal) in [
        ("ABC", "abc", true),
        ("AB", "ab", true),
        ("XYZ", "xyz", true),
        ("Abc", "abc", true),
        ("2AB", "2ab", true),
        ("AB + C", "ab + c", true),
        ("(ABC, 2)", "(abc, 2)", true),
        (r"\triangle ABC", r"\triangle abc", true),
        ("x", "X", true),
        ("BAC", "ABC", false),
        ("HTH", "HHT", false),
        ("aAB", "abb", false),
        ("x + X", "2x", false),
        ("ABC", "abd", false),
    ] {
        assert_eq!(equivalent(a, b), equal, "{a} and {b}");
        assert_eq!(equivalent(b, a), equal, "{b} and {a}");
    }
}

/// Gold, response, whether its final answer is the gold.
const RESPONSES: &[(&str, &str, bool)] = &[
    ("42", "The answer is 42.", true),
    ("42", "$42$ dollars", true),
    ("42", r"The answer is $\boxed{42}$.", true),
    ("\\boxed{7}", "7", true),
    (r"\frac{1}{2}", r"\boxed{\dfrac{1}{2}", true),
    ("3", r"Thus there are \boxed{3} solutions, x=1, 2, 4.", true),
    ("5", r"\boxed{x = 5}", true),
    ("5", r"\boxed{5 \text{ apples}}", true),
    ("70000", "#### 70,000", true),
    (
        "18",
        "She sells 9 eggs for $2 each, so she makes $18.",
        true,
    ),
    (
        "18",
        "16 - 3 - 4 = 9\n9 * 2 = 18\n\nSo Janet makes **$18** per day.",
        true,
    ),
    ("-5", "So x = -5.", true),
    ("5", "10 - 5 = 5", true),
    ("3", "We get 5 - 3", false),
    (r"\frac{3}{4}", r"Therefore $x$ is $\frac{3}{4}$.", true),
    ("x^2+2x+1", r"The expansion is \( (x+1)^2 \).", true),
    ("2", r"\[ x = 2 \]", true),
    ("12", "The answer is 12 eggs per 3 days.", true),
    (
        "18",
        "The answer is that she makes 18 dollars every day.",
        true,
    ),
    ("11", "The answer is 11 because 5+6=11.", true),
    ("3/5", r"The answer is $\frac{3}{5}$, since 3+2=5.", true),
    ("11", "Answer is 11, not 12.", true),
    ("x=5", "**Final Answer**\n\n$x = 5$", true),
    ("42", "Answer: **42**", true),
    ("42", "### Answer\n42", true),
    (
        "14",
        "Final Answer: The final answer is $14$. I hope it is correct.",
        true,
    ),
    ("120", "The answer is: 5!", true),
    ("5", "The answer is: 5!", false),
    ("-1", "The answer is −1.", true),
    ("Evelyn", "The answer is Evelyn.", true),
    ("B", r"The correct option is \text{(B)}.", true),
    ("10", "The area is 10 square units", true),
    ("0.5", "It is 50%", true),
    ("1000", "The total is 1,000.", true),
    ("64", "Die Kosten betragen 64 Euro.", true),
    ("18", "Die Antwort ist 18.", true),
    ("18", "La réponse est 18 dollars.", true),
    ("18", "La respuesta es $18.", true),
    ("18", "Ответ: 18", true),
    ("18", "答案是18美元。", true),
    ("18", "答えは18です。", true),
    ("18", "คำตอบคือ ๑๘", true),
    ("18", "Jibu ni 18.", true),
    ("18", "উত্তর হল ১৮", true),
    ("18", "సమాధానం 18.", true),
];

#[test]
fn answers_are_found_in_responses() {
    for (gold, response, right) in RESPONSES {
        let gold = extract_answer(gold).unwrap();
        let found = extract_answer(response).unwrap();
        assert_eq!(equivalent(gold, found), *right, "{response}: found {found}");
    }
    for nothing in [
        "",
        "  \n",
        "...",
        "I don't know",
        "I cannot help with that.",
        "I am sorry, but as a model I cannot do that.",
        "$$",
    ] {
        assert_eq!(extract_answer(nothing), None, "{nothing}");
    }
}

/// Texts that are hard to read, evaluate or search, each with one that differs.
fn worst_cases() -> Vec<(&'static str, String, String)> {
    let boxed = |text: String| format!("\\boxed{{{text}}}");
    let many = |text: &str, n: usize| text.repeat(n);
    let both =
        |text: &str, n: usize, tails: [&str; 2]| tails.map(|tail| boxed(text.repeat(n) + tail));
    let numbers = |n: usize| (0..n).map(|i| i.to_string());
    let mut cases = vec![
        ("tower", "9^9^9^9".into(), "9^{9^{9^9}}+1".into()),
        ("factorials", "100!!!!".into(), "100!!!!!".into()),
        ("power", "10^{10^6}".into(), "10^{10^7}".into()),
        ("exponent", "1e999999999".into(), "1e999999998".into()),
        ("braces", many("{", 100_000), many("}", 100_000)),
        ("open boxes", many("\\boxed{", 140_000), "1".into()),
        ("empty boxes", many("\\boxed{}", 120_000), "1".into()),
        ("digits", many("7", 1 << 20), many("7", (1 << 20) - 1) + "8"),
        ("dollars", many("$", 1 << 20), "1".into()),
        ("dollars and letters", many("$a ", 300_000), "1".into()),
        ("open formulas", many("\\( ", 300_000), "1".into()),
        ("announcements", many("the answer is ", 80_000), "1".into()),
        ("sentences", many("the answer is .\n", 60_000), "1".into()),
        (
            "lines in a formula",
            format!("the answer is ${}$", many("\n", 1 << 20)),
            "1".into(),
        ),
        ("spaces", boxed(many(" ", 1 << 20)), "1".into()),
        ("words", many("word ", 200_000), many("word ", 200_001)),
        (
            "long list",
            boxed(numbers(1300).collect::<Vec<_>>().join(",")),
            boxed(numbers(1300).rev().collect::<Vec<_>>().join(",") + ",7"),
        ),
    ];
    let repeated = [
        (
            "long fractions",
            "\\frac{77777777777777}{33333333333333331}+",
            150,
        ),
        ("fractions", "1/(x+y)+", 900),
        ("radicals", "\\sqrt{x+1}+", 650),
        ("powers", "(x^{1000}+1)", 600),
        ("big powers", "17^{3900}+", 700),
        ("big roots", "\\sqrt[64]{10^{4000}+x}+", 300),
        ("binomials", "\\binom{1000000}{800}+", 300),
        ("large factorials", "2000!+", 1000),
        ("nested fractions", "\\frac{1}{1+", 700),
        ("nested sets", "\\{1,", 24),
        ("nested equations", "(x=", 24),
        ("minus signs", "-", 8000),
        ("powers of powers", "2^", 4000),
        ("signs", "\\pm x", 1000),
        ("lists of signs", "\\pm x\\pm y\\pm z,", 480),
        ("text", "\\text{", 1300),
        ("bars", "|", 8000),
        ("thousands", "(1,234)", 1100),
        ("cells", "\\begin{pmatrix}1&", 400),
        ("symbols", "x_{12}", 1300),
    ];
    for (name, text, n) in repeated {
        let [a, b] = both(text, n, ["1", "2"]);
        cases.push((name, a, b));
    }
    cases
}

#[test]
fn every_input_comes_to_an_end_and_none_overflows() {
    for (name, a, b) in worst_cases() {
        ends(name, move || {
            let (x, y) = (extract_answer(&a), extract_answer(&b));
            if let (Some(x), Some(y)) = (x, y) {
                assert!(equivalent(x, x), "{name}");
                equivalent(x, y);
                equivalent(y, x);
            }
        });
    }
}

/// Pieces that answers are made of, well-formed or not.
fn scraps() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "1",
        "2",
        "37",
        "0.5",
        "1,000",
        "x",
        "y",
        "X",
        "e",
        "i",
        "\\pi",
        "\\infty",
        "+",
        "-",
        "\\pm",
        "\\cdot ",
        "/",
        "^",
        "^2",
        "_",
        "_2",
        "!",
        "%",
        "\\%",
        "^\\circ",
        "=",
        "<",
        "\\ge ",
        ":",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "\\{",
        "\\}",
        "|",
        ",",
        " or ",
        " and ",
        "\\frac",
        "\\frac{1}{2}",
        "\\sqrt",
        "\\sqrt[3]",
        "\\sin ",
        "\\log_2 ",
        "\\binom",
        "\\text{",
        "\\text{ cm}",
        "\\boxed{",
        "\\begin{pmatrix}",
        "\\end{pmatrix}",
        "\\\\",
        "&",
        "\\cup ",
        "$",
        " ",
        "\n",
        "word",
        "the answer is ",
        "#### ",
        "½",
        "²",
        "−",
        "é",
        "答案是",
        "\\left",
        "\\right",
        "\\",
        ".",
        "'",
        "**",
        "\u{301}",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

/// A polynomial with small coefficients, as (coefficient, power of x, power of y).
fn polynomial() -> impl Strategy<Value = Vec<(i32, u8, u8)>> {
    prop::collection::vec((-9..=9_i32, 0..=4_u8, 0..=3_u8), 1..6)
}

fn written(terms: &[(i32, u8, u8)]) -> String {
    let terms = terms
        .iter()
        .map(|(c, x, y)| format!("{c}x^{{{x}}}y^{{{y}}}"));
    terms.collect::<Vec<_>>().join(" + ")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scraps_are_equal_to_themselves_and_symmetric(a in scraps(), b in scraps()) {
        prop_assert!(equivalent(&a, &a));
        prop_assert_eq!(equivalent(&a, &b), equivalent(&b, &a));
    }

    #[test]
    fn what_is_found_is_part_of_the_text(text in prop_oneof![scraps(), any::<String>()]) {
        if let Some(found) = extract_answer(&text) {
            prop_assert!(text.contains(found));
            prop_assert!(!found.trim().is_empty());
            prop_assert!(equivalent(found, found));
        }
    }

    #[test]
    fn numbers_equal_their_fractions(a in -5000..5000_i64, b in 1..5000_i64, k in 1..50_i64) {
        let fraction = format!("\\frac{{{}}}{{{}}}", a * k, b * k);
        let plain = format!("{a}/{b}");
        prop_assert!(equivalent(&fraction, &plain));
        let next = format!("{}/{b}", a + 1);
        prop_assert!(!equivalent(&fraction, &next));
    }

    #[test]
    fn terms_may_stand_in_any_order(terms in polynomial(), other in polynomial()) {
        let mut turned = terms.clone();
        turned.reverse();
        let (plain, turned) = (written(&terms), written(&turned));
        prop_assert!(equivalent(&plain, &turned));
        let more = format!("{turned} + 1");
        prop_assert!(!equivalent(&plain, &more));
        let factored = format!("({})({})", written(&other), plain);
        let swapped = format!("({turned}) \\cdot ({})", written(&other));
        prop_assert!(equivalent(&factored, &swapped));
    }
}
