//! Scoring: rows per second of every evaluator on one core (on all cores for code execution), and
//! the worst inputs that fuzzing found.
//!
//! Texts have the length and shape of model outputs. Evaluators are called through their trait, as
//! in a run, so the cost of examples and scores is included.

use std::time::{Duration, Instant};

use context_bench::evaluator::{
    AnswerQuality, CodeExecution, CodeExecutionSettings, Evaluator, FunctionCallMatch,
    IfEvalChecker, MathEquivalence, MultipleChoiceAccuracy, NliLabelMatch, SummarizationQuality,
};
use context_bench::metric::{Latency, MeanScore, Metric};
use context_bench::sandbox::Launcher;
use context_bench::tokens::{TokenCounter, Tokenizer};
use context_bench::{EvalRow, Example, Output};
use context_bench_scoring::math::equivalent;
use context_bench_scoring::text::rouge::{Rouge, RougeTokens};
use context_bench_scoring::text::verdict::{Scale, preference, rating};
use serde_json::json;
use tokio::runtime::Runtime;

use super::line;

/// How long each row is measured at least.
const MEASURED: Duration = Duration::from_millis(500);

/// All measurements of scoring.
pub(super) fn scoring() {
    tokens();
    evaluators();
    verdicts();
    code();
    worst_cases();
    metrics();
}

/// Calls per second, over half a second or more.
fn rate(mut call: impl FnMut(usize)) -> f64 {
    call(0);
    let started = Instant::now();
    let mut n = 0;
    while started.elapsed() < MEASURED {
        // Reading the clock for every row would be measured too.
        for _ in 0..8 {
            call(n);
            n += 1;
        }
    }
    n as f64 / started.elapsed().as_secs_f64()
}

fn tokens() {
    let text = "The quick brown fox jumps over the lazy dog, and 42 others follow. ".repeat(4000);
    for tokenizer in [Tokenizer::Cl100kBase, Tokenizer::O200kBase] {
        tokenizer.count("warm");
        let rate = rate(|_| {
            tokenizer.count(&text);
        });
        let megabytes = rate * text.len() as f64 / 1e6;
        let what = format!("token counting, {}", tokenizer.name());
        line(&what, format!("{megabytes:.0} MB/s"), "", "");
    }
}

/// A chain of thought of typical length that ends with a decision.
fn thoughts(end: &str) -> String {
    let steps = [
        "Let's think step by step.",
        "We are asked which of the following options explains why the pressure of the gas rises.",
        "Option (A) says that the volume grows, but at constant temperature that lowers the pressure.",
        "By the ideal gas law, $PV = nRT$, so $P = \\frac{nRT}{V}$ and halving $V$ doubles $P$.",
        "Option B would be right only if the temperature were lower, e.g. 273 K instead of 300 K.",
        "Hence $P_2 = 2 \\times 101.3 = 202.6$ kPa, which rules out (D) as well.",
        "I first thought of E, however it is not consistent with 1,200 J of work.",
    ];
    let mut text = steps.repeat(3).join("\n");
    text.push_str("\n\n");
    text.push_str(end);
    text
}

fn evaluators() {
    let question = Example::new()
        .with("context", "Paris is the capital of France.")
        .with("question", "What is the capital of France?")
        .with("answer", "Paris");
    let news = "The committee approved the budget for the coming year after a long debate, \
                and the mayor thanked everyone who had taken part in the public hearings. ";
    let summary = Example::new().with("answer", news.repeat(2));
    let choice = Example::new()
        .with(
            "choices",
            json!([
                "it expands",
                "it cools",
                "it is compressed",
                "it leaks",
                "none"
            ]),
        )
        .with("correct_letter", "C");
    let solved = Example::new().with("answer", "\\frac{14}{3}");
    let claim = Example::new().with("answer", "SUPPORTS");
    let instructed = Example::new()
        .with(
            "instruction_id_list",
            json!([
                "length_constraints:number_sentences",
                "keywords:existence",
                "detectable_format:number_bullet_lists",
                "punctuation:no_comma",
            ]),
        )
        .with(
            "kwargs",
            json!([
                {"num_sentences": 5, "relation": "at least"},
                {"keywords": ["pressure", "volume"]},
                {"num_bullets": 3},
                {},
            ]),
        );
    let language = Example::new()
        .with("instruction_id_list", json!(["language:response_language"]))
        .with("kwargs", json!([{"language": "en"}]));
    let parameters = json!({"type": "dict", "required": ["city"], "properties": {
        "city": {"type": "string"}, "days": {"type": "integer"}, "unit": {"type": "string"}}});
    let called = Example::new()
        .with(
            "function",
            json!([{"name": "get_weather", "parameters": parameters}]),
        )
        .with(
            "ground_truth",
            json!([{"get_weather": {"city": ["Paris"], "days": [3], "unit": ["C", ""]}}]),
        );
    let rows: Vec<(Box<dyn Evaluator>, &str, &Example, String)> = vec![
        (Box::new(AnswerQuality), "a sentence", &question, "The capital of France is Paris.".into()),
        (Box::new(SummarizationQuality::default()), "100 tokens", &summary, news.repeat(3)),
        (
            Box::new(MultipleChoiceAccuracy::default()),
            "chain of thought",
            &choice,
            thoughts("Therefore, the answer is (C)."),
        ),
        (
            Box::new(MathEquivalence),
            "chain of thought",
            &solved,
            thoughts("So the final answer is $\\boxed{4\\dfrac{2}{3}}$."),
        ),
        (
            Box::new(NliLabelMatch),
            "chain of thought",
            &claim,
            thoughts("The claim is not refuted; it is supported by the text."),
        ),
        (Box::new(IfEvalChecker), "4 instructions", &instructed, thoughts("* a\n* b\n* c")),
        (Box::new(IfEvalChecker), "language", &language, thoughts("That is all.")),
        (
            Box::new(FunctionCallMatch::default()),
            "a call in a fence",
            &called,
            "```json\n[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\", \"days\": 3}}]\n```".into(),
        ),
    ];
    let runtime = Runtime::new().unwrap();
    for (evaluator, about, example, response) in rows {
        let output = Output::reply(example, response.as_str());
        let once = runtime.block_on(evaluator.score(example, &output)).unwrap();
        assert!(
            once.unscored().next().is_none(),
            "{}: {once:?}",
            evaluator.name()
        );
        let rate = rate(|_| {
            let scores = runtime.block_on(evaluator.score(example, &output));
            std::hint::black_box(scores.unwrap());
        });
        let what = format!(
            "scoring, {}, {about} ({} bytes)",
            evaluator.name(),
            response.len()
        );
        line(&what, format!("{rate:.0} rows/s"), "", "");
    }
}

/// Parsing verdicts of a judge; asking it is an ordinary request.
fn verdicts() {
    let essay = thoughts("Accuracy: 4/5. Completeness: 3/5.\n\nOverall score: [[4]]");
    let rated = rate(|_| {
        std::hint::black_box(rating(&essay, Scale::default())).unwrap();
    });
    let comparison = thoughts("Model 2 is better than Model 1.\n\nMy final verdict is: [[B]]");
    let compared = rate(|_| {
        std::hint::black_box(preference(&comparison)).unwrap();
    });
    let what = format!("llm_judge, reading a rating ({} bytes)", essay.len());
    line(&what, format!("{rated:.0} rows/s"), "", "");
    let what = format!(
        "llm_judge, reading a preference ({} bytes)",
        comparison.len()
    );
    line(&what, format!("{compared:.0} rows/s"), "", "");
}

/// Programs in the sandbox, each in a separate Python process.
fn code() {
    let example = Example::new()
        .with("context", "def add(a, b):\n    \"\"\"Adds.\"\"\"\n")
        .with(
            "test",
            "def check(candidate):\n    assert candidate(1, 2) == 3\n",
        )
        .with("entry_point", "add");
    let output = Output::reply(&example, "```python\ndef add(a, b):\n    return a + b\n```");
    let mut settings = CodeExecutionSettings::default();
    settings.sandbox.launcher = Some(Launcher::new(env!("CARGO_BIN_EXE_context-bench")));
    let at_a_time = settings.concurrency;
    let evaluator = CodeExecution::new(settings);
    let runtime = Runtime::new().unwrap();
    let level = match evaluator.level() {
        Ok(level) => level.to_string(),
        Err(error) => return line("scoring, code_execution", "not run", error, ""),
    };
    let n = 60;
    let started = Instant::now();
    runtime.block_on(async {
        let all = (0..n).map(|_| evaluator.score(&example, &output));
        for scores in futures_util::future::join_all(all).await {
            assert_eq!(scores.unwrap().value("pass_at_1"), Some(1.0));
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    line(
        &format!("scoring, code_execution, {at_a_time} at a time, start of Python included"),
        format!("{:.0} rows/s", f64::from(n) / seconds),
        format!("sandbox: {level}"),
        &format!(
            "{:.0} ms each",
            1e3 * seconds * at_a_time as f64 / f64::from(n)
        ),
    );
}

/// The slowest known inputs, beside the limits that tests check.
fn worst_cases() {
    let words = |seed: usize| {
        (0..20_000)
            .map(|i| format!("w{}", i * seed % 977))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let (a, b) = (words(31), words(37));
    let per_second = rate(|_| {
        std::hint::black_box(Rouge::compare(&a, &b, RougeTokens::Google { stem: false }));
    });
    let milliseconds = format!("{:.1} ms", 1e3 / per_second);
    line(
        "ROUGE-L, -1 and -2 of 20,000 x 20,000 tokens",
        milliseconds,
        "",
        "",
    );
    let mut slowest = (Duration::ZERO, "");
    for (name, a, b) in math_inputs() {
        let started = Instant::now();
        std::hint::black_box(equivalent(&a, &b));
        slowest = slowest.max((started.elapsed(), name));
    }
    line(
        &format!("worst known input of math_equivalence ({})", slowest.1),
        format!("{:.1} ms", slowest.0.as_secs_f64() * 1e3),
        "bound 1000 ms",
        &format!("{:.0} %", slowest.0.as_secs_f64() * 100.0),
    );
}

/// Mathematics that takes long: powers, products, sums and nesting.
fn math_inputs() -> Vec<(&'static str, String, String)> {
    let pair = |name, a: String, change: (&str, &str)| {
        let b = a.replacen(change.0, change.1, 1);
        (name, a, b)
    };
    let sum = |n: usize| {
        (1..=n)
            .map(|i| format!("x_{{{i}}}^{i}"))
            .collect::<Vec<_>>()
            .join(" + ")
    };
    vec![
        pair("power of a sum", "(a+b+c+d+e+f)^{12}".into(), ("a", "2a")),
        pair(
            "product of sums",
            "(x+1)(y+2)(z+3)(w-4)".repeat(60),
            ("1", "7"),
        ),
        pair("tower of powers", "9^{9^{9^{9^{9}}}}".into(), ("9", "8")),
        pair("long sum", sum(400), ("x", "y")),
        pair(
            "nested radicals",
            format!("{}2{}", "\\sqrt{1+".repeat(400), "}".repeat(400)),
            ("2", "3"),
        ),
        pair(
            "nested fractions",
            format!("{}2{}", "\\frac{1}{1+".repeat(400), "}".repeat(400)),
            ("2", "3"),
        ),
        pair(
            "long numbers",
            format!("{}/{}", "7".repeat(4000), "3".repeat(4000)),
            ("7", "8"),
        ),
        pair(
            "list of answers",
            vec!["\\frac{1}{x+1}"; 300].join(", "),
            ("1", "2"),
        ),
    ]
}

fn metrics() {
    let rows: Vec<_> = (0..1_000_000_usize)
        .map(|i| EvalRow::new("p", i, [("f1", i as f64)].into_iter().collect(), 1, 1))
        .collect();
    let started = Instant::now();
    MeanScore::of("f1").compute(&rows);
    Latency.compute(&rows);
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    line(
        "metrics over 1,000,000 rows",
        format!("{milliseconds:.0} ms"),
        "",
        "",
    );
}
