//! `OfficialScore`: a response scored by the rule of the benchmark's authors.
//!
//! The rules themselves are pure functions in [`crate::official`]; here they meet the
//! fields of examples. Each rule is an evaluator with a name of its own, so that it can
//! be used on other data as well.

use std::fmt;

use async_trait::async_trait;
use serde_json::Value;

use super::{Evaluator, EvaluatorError, ResponseCut};
use crate::model::{Example, Identity, Output, Score, ScoreName, Scores};
use crate::official::infinitebench::{self, Rule as InfiniteBenchRule};
use crate::official::{
    bbh, best, drop, hotpotqa, letters, locomo, longbench, math, numbers, one, rouge_sets,
    triviaqa, truthfulqa,
};
use crate::text::chinese::words;
use crate::text::overlap::Overlap;
use crate::text::stringify::python_str;

/// A rule that a benchmark's authors score by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OfficialRule {
    /// The text after the last "answer is ", as it is.
    Bbh,
    /// Spans as bags of words, numbers as numbers, the best annotator.
    Drop,
    /// SQuAD's overlap, with yes and no as a whole.
    HotpotQa,
    /// Overlap after TriviaQA's normalisation.
    TriviaQa,
    /// SQuAD's overlap in the order of the official scripts.
    Squad,
    /// A rule of InfiniteBench.
    InfiniteBench(InfiniteBenchRule),
    /// A rule of LongBench.
    LongBench(LongBenchRule),
    /// "The correct answer is (B)".
    LongBenchV2,
    /// "answer is (B)" and its kin.
    Gpqa,
    /// The letter after "Answer:".
    AnswerLetter,
    /// One of the right names is there, case as written.
    NoLiMa,
    /// Overlap of stems by kind of question.
    LoCoMo,
    /// Nearer to what is true than to what is false.
    TruthfulQa,
    /// The number after `####`.
    Gsm8k,
    /// The last number after the word for an answer.
    Mgsm,
    /// The last box, equal as cleaned text.
    Math,
}

/// The rules of LongBench.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LongBenchRule {
    /// SQuAD's overlap.
    Overlap,
    /// The share of numbers that are right.
    Count,
    /// The same with the number of a paragraph.
    Retrieval,
    /// The classes that are named.
    Class,
    /// The first line of code.
    Code,
    /// ROUGE-L over sets of words.
    Rouge,
    /// F1 over Chinese words.
    ChineseOverlap,
    /// ROUGE-L over sets of Chinese words.
    ChineseRouge,
}

impl LongBenchRule {
    fn score(self, output: &str, gold: &str, classes: &[String]) -> f64 {
        match self {
            Self::Overlap => Overlap::official(output, gold).f1,
            Self::Count => longbench::count(output, gold),
            Self::Retrieval => longbench::retrieval(output, gold),
            Self::Class => longbench::class(output, gold, classes),
            Self::Code => longbench::code(output, gold),
            Self::Rouge => rouge_sets::score(output, gold),
            Self::ChineseOverlap => longbench::chinese_f1(&words(output), &words(gold)),
            Self::ChineseRouge => {
                rouge_sets::score(&words(output).join(" "), &words(gold).join(" "))
            }
        }
    }
}

impl OfficialRule {
    /// All of them, with the name of the evaluator, what it says, and where it is from.
    pub const ALL: [(Self, &'static str, &'static str); 33] = {
        use InfiniteBenchRule as I;
        use LongBenchRule as L;
        [
            (
                Self::Bbh,
                "bbh",
                "text after the last `answer is `, as it is (Suzgun et al. 2022)",
            ),
            (
                Self::Drop,
                "drop",
                "spans as bags of words, numbers as numbers, best annotator (Dua et al. 2019): drop_f1, drop_em",
            ),
            (
                Self::HotpotQa,
                "hotpotqa",
                "SQuAD's overlap, yes and no as a whole (Yang et al. 2018): hotpot_f1, hotpot_em",
            ),
            (
                Self::TriviaQa,
                "triviaqa",
                "overlap after its own normalisation (Joshi et al. 2017): trivia_em, trivia_f1",
            ),
            (
                Self::Squad,
                "squad",
                "overlap in the order of the official scripts (Rajpurkar et al. 2016): squad_f1, squad_em",
            ),
            (
                Self::InfiniteBench(I::FirstInteger),
                "infinitebench_integer",
                "the first run of digits (Zhang et al. 2024)",
            ),
            (
                Self::InfiniteBench(I::Word),
                "infinitebench_word",
                "one of the words (Zhang et al. 2024)",
            ),
            (
                Self::InfiniteBench(I::Name),
                "infinitebench_name",
                "one of the words, in capitals (Zhang et al. 2024)",
            ),
            (
                Self::InfiniteBench(I::LastInteger),
                "infinitebench_last",
                "the last word is the number (Zhang et al. 2024)",
            ),
            (
                Self::InfiniteBench(I::FirstNumber),
                "infinitebench_number",
                "the first number (Zhang et al. 2024)",
            ),
            (
                Self::InfiniteBench(I::Choice),
                "infinitebench_choice",
                "letter or text of the option (Zhang et al. 2024)",
            ),
            (
                Self::InfiniteBench(I::Debug),
                "infinitebench_debug",
                "letter or function after a cue (Zhang et al. 2024)",
            ),
            (
                Self::InfiniteBench(I::Calculation),
                "infinitebench_calculation",
                "how far the list of numbers agrees (Zhang et al. 2024)",
            ),
            (
                Self::InfiniteBench(I::Overlap),
                "infinitebench_f1",
                "SQuAD's overlap, best reference (Zhang et al. 2024)",
            ),
            (
                Self::InfiniteBench(I::ChineseOverlap),
                "infinitebench_chinese",
                "F1 over Chinese characters (Zhang et al. 2024)",
            ),
            (
                Self::InfiniteBench(I::Summary),
                "infinitebench_summary",
                "ROUGE-L over sentences that newlines end (Zhang et al. 2024)",
            ),
            (
                Self::LongBench(L::Overlap),
                "longbench_f1",
                "SQuAD's overlap, best reference (Bai et al. 2023)",
            ),
            (
                Self::LongBench(L::Count),
                "longbench_count",
                "share of numbers that are right (Bai et al. 2023)",
            ),
            (
                Self::LongBench(L::Retrieval),
                "longbench_retrieval",
                "share of paragraph numbers that are right (Bai et al. 2023)",
            ),
            (
                Self::LongBench(L::Class),
                "longbench_class",
                "classes that are named (Bai et al. 2023)",
            ),
            (
                Self::LongBench(L::Code),
                "longbench_code",
                "likeness of the first line of code (Bai et al. 2023)",
            ),
            (
                Self::LongBench(L::Rouge),
                "longbench_rouge",
                "ROUGE-L of the package `rouge` (Bai et al. 2023)",
            ),
            (
                Self::LongBench(L::ChineseOverlap),
                "longbench_chinese",
                "F1 over Chinese words, best reference (Bai et al. 2023)",
            ),
            (
                Self::LongBench(L::ChineseRouge),
                "longbench_chinese_rouge",
                "ROUGE-L of the package `rouge` over Chinese words (Bai et al. 2023)",
            ),
            (
                Self::LongBenchV2,
                "longbench_v2",
                "`The correct answer is (B)` (Bai et al. 2024)",
            ),
            (
                Self::Gpqa,
                "gpqa",
                "`answer is (B)` and its kin (Rein et al. 2023)",
            ),
            (
                Self::AnswerLetter,
                "answer_letter",
                "the letter after `Answer:` (simple-evals, for MMLU and its kin)",
            ),
            (
                Self::NoLiMa,
                "nolima",
                "a right name is there, case as written (Modarressi et al. 2025)",
            ),
            (
                Self::LoCoMo,
                "locomo",
                "overlap of stems by kind of question (Maharana et al. 2024)",
            ),
            (
                Self::TruthfulQa,
                "truthfulqa",
                "nearer to true than to false answers by ROUGE-1 (Lin et al. 2021): truthful, true_rouge1, false_rouge1",
            ),
            (
                Self::Gsm8k,
                "gsm8k",
                "the number after `####` (Cobbe et al. 2021)",
            ),
            (
                Self::Mgsm,
                "mgsm",
                "the last number after the word for an answer (Shi et al. 2022, read as simple-evals does)",
            ),
            (
                Self::Math,
                "math",
                "the last box, equal as cleaned text (Hendrycks et al. 2021)",
            ),
        ]
    };

    /// The name of the evaluator.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(rule, ..)| *rule == self);
        found.map_or("", |(_, name, _)| name)
    }

    /// The names of the scores, the main one first.
    fn scores(self) -> &'static [&'static str] {
        match self {
            Self::Drop => &["drop_f1", "drop_em"],
            Self::HotpotQa => &["hotpot_f1", "hotpot_em"],
            Self::TriviaQa => &["trivia_em", "trivia_f1"],
            Self::Squad => &["squad_f1", "squad_em"],
            Self::TruthfulQa => &["truthful", "true_rouge1", "false_rouge1"],
            Self::Bbh => &["bbh"],
            Self::InfiniteBench(_) => &["infinitebench"],
            Self::LongBench(_) => &["longbench"],
            Self::LongBenchV2 => &["longbench_v2"],
            Self::Gpqa => &["gpqa"],
            Self::AnswerLetter => &["answer_letter"],
            Self::NoLiMa => &["nolima"],
            Self::LoCoMo => &["locomo"],
            Self::Gsm8k => &["gsm8k"],
            Self::Mgsm => &["mgsm"],
            Self::Math => &["math"],
        }
    }

    /// What an example must have.
    fn fields(self) -> &'static [&'static [&'static str]] {
        const ANSWERS: &[&str] = &["answer", "answers"];
        match self {
            Self::Drop => &[&["annotators", "answers", "answer"]],
            Self::LongBench(LongBenchRule::Class) => &[ANSWERS, &["classes"]],
            Self::LongBenchV2 | Self::Gpqa | Self::AnswerLetter => &[&["correct_letter"]],
            Self::InfiniteBench(InfiniteBenchRule::Choice | InfiniteBenchRule::Debug) => {
                &[ANSWERS, &["correct_letter"]]
            }
            Self::InfiniteBench(InfiniteBenchRule::Calculation) => {
                &[&["values", "answers", "answer"]]
            }
            // What was not said has no answer.
            Self::LoCoMo => &[&["type"]],
            Self::TruthfulQa => &[ANSWERS, &["incorrect_answers"]],
            Self::Mgsm => &[ANSWERS, &["language"]],
            _ => &[ANSWERS],
        }
    }
}

impl fmt::Display for OfficialRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Scores responses by the rule of a benchmark's authors. An empty response scores 0, as
/// it does for them.
#[derive(Debug, Clone)]
pub struct OfficialScore {
    rule: OfficialRule,
    names: Vec<ScoreName>,
    cut: ResponseCut,
}

impl OfficialScore {
    /// By a rule.
    pub fn new(rule: OfficialRule) -> Self {
        let names = rule.scores().iter().map(|name| ScoreName::from(*name));
        Self {
            rule,
            names: names.collect(),
            cut: ResponseCut::default(),
        }
    }

    /// Scores only a part of a response.
    #[must_use]
    pub fn cut(mut self, cut: ResponseCut) -> Self {
        self.cut = cut;
        self
    }

    fn values(&self, example: &Example, output: &str) -> Result<Vec<f64>, EvaluatorError> {
        let golds = golds(example);
        let each = |score: &dyn Fn(&str) -> f64| best(golds.iter().map(|gold| score(gold)));
        let pair = |score: &dyn Fn(&str) -> (f64, f64)| -> Vec<f64> {
            let both = golds.iter().map(|gold| score(gold));
            let (first, second) = both.fold((0.0_f64, 0.0_f64), |best, one| {
                (best.0.max(one.0), best.1.max(one.1))
            });
            vec![first, second]
        };
        Ok(match self.rule {
            OfficialRule::Bbh => vec![each(&|gold| bbh::score(output, gold))],
            OfficialRule::HotpotQa => pair(&|gold| hotpotqa::score(output, gold)),
            OfficialRule::TriviaQa => {
                // What the authors' script compares with, where a record has it.
                let aliases = list(example.get("normalized_aliases"));
                let aliases = if aliases.is_empty() { &golds } else { &aliases };
                let scores = aliases.iter().map(|gold| triviaqa::score(output, gold));
                let (exact, f1) = scores.fold((0.0_f64, 0.0_f64), |best, one| {
                    (best.0.max(one.0), best.1.max(one.1))
                });
                vec![exact, f1]
            }
            OfficialRule::Squad => pair(&|gold| {
                let overlap = Overlap::official(output, gold);
                (overlap.f1, overlap.exact_match)
            }),
            OfficialRule::Drop => {
                let (exact, f1) = drop::best(&[output.to_owned()], &annotators(example, golds));
                vec![f1, exact]
            }
            OfficialRule::InfiniteBench(rule) => {
                let letter = example.stringified("correct_letter");
                let golds: Vec<String> = match rule {
                    InfiniteBenchRule::Choice | InfiniteBenchRule::Debug => golds
                        .into_iter()
                        .take(1)
                        .chain([letter.into_owned()])
                        .collect(),
                    // A list of answers has none twice, a list of values may.
                    InfiniteBenchRule::Calculation => match example.get("values") {
                        Some(Value::Array(values)) => texts(values),
                        _ => golds,
                    },
                    _ => golds,
                };
                vec![infinitebench::score(rule, output, &golds)]
            }
            OfficialRule::LongBench(rule) => {
                let classes = list(example.get("classes"));
                vec![each(&|gold| rule.score(output, gold, &classes))]
            }
            OfficialRule::LongBenchV2 => vec![is_letter(letters::longbench_v2(output), example)],
            OfficialRule::Gpqa => vec![is_letter(letters::gpqa(output), example)],
            OfficialRule::AnswerLetter => {
                let n = list(example.get("choices")).len();
                // Without options there may be ten, as in MMLU-Pro.
                let last = if n == 0 { 10 } else { n.min(26) };
                let last = u8::try_from(last - 1).map_or('Z', |at| char::from(b'A' + at));
                vec![is_letter(letters::answer_letter(output, last), example)]
            }
            OfficialRule::NoLiMa => vec![letters::contains(output, &golds)],
            OfficialRule::LoCoMo => {
                let kind = example.stringified("type");
                let category = locomo::Category::named(&kind)
                    .ok_or_else(|| format!("there is no kind of question `{kind}` in LoCoMo"))?;
                let gold = golds.first().map_or("", String::as_str);
                let options = list(example.get("choices"));
                let said = locomo::chosen(output, &options).unwrap_or(output);
                vec![locomo::score(category, said, gold)]
            }
            OfficialRule::TruthfulQa => {
                let wrong = list(example.get("incorrect_answers"));
                let near = truthfulqa::Nearness::of(output, &golds, &wrong);
                vec![near.accuracy(), near.to_true, near.to_false]
            }
            OfficialRule::Gsm8k => {
                let said = numbers::gsm8k(output);
                vec![each(&|gold| {
                    one(said.as_deref() == Some(&*gold.replace(',', "")))
                })]
            }
            OfficialRule::Mgsm => {
                let said = numbers::mgsm(output, &example.stringified("language"));
                vec![each(&|gold| {
                    one(said.as_deref() == Some(&*gold.replace(',', "")))
                })]
            }
            OfficialRule::Math => {
                // The authors compare with the last box of the worked solution.
                let solution = example.stringified("solution");
                vec![match math::last_box(&solution) {
                    Some(gold) => math::score(output, gold),
                    None => each(&|gold| math::score(output, gold)),
                }]
            }
        })
    }
}

/// All right answers: `answers`, else `answer`.
fn golds(example: &Example) -> Vec<String> {
    match example.get("answers") {
        Some(Value::Array(answers)) if !answers.is_empty() => texts(answers),
        _ => match example.get("answer") {
            None | Some(Value::Null) => Vec::new(),
            Some(answer) => vec![python_str(answer).into_owned()],
        },
    }
}

/// The spans of each annotator; without them each answer is one annotator's one span.
fn annotators(example: &Example, golds: Vec<String>) -> Vec<Vec<String>> {
    match example.get("annotators").and_then(Value::as_array) {
        Some(annotators) => annotators.iter().map(|spans| list(Some(spans))).collect(),
        None => golds.into_iter().map(|gold| vec![gold]).collect(),
    }
}

fn list(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(items)) => texts(items),
        Some(Value::Null) | None => Vec::new(),
        Some(one) => vec![python_str(one).into_owned()],
    }
}

fn texts(items: &[Value]) -> Vec<String> {
    items
        .iter()
        .map(|item| python_str(item).into_owned())
        .collect()
}

fn is_letter(said: Option<char>, example: &Example) -> f64 {
    let right = example.stringified("correct_letter");
    one(said.is_some_and(|letter| *right == *letter.encode_utf8(&mut [0; 4])))
}

#[async_trait]
impl Evaluator for OfficialScore {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn score_names(&self) -> &[ScoreName] {
        &self.names
    }

    fn required_fields(&self) -> &[&[&str]] {
        self.rule.fields()
    }

    fn identity(&self) -> Option<Identity> {
        let version = match self.rule {
            // 2: the values of a calculation as they are, a letter for its option, the golds
            // that the authors' scripts compare with.
            OfficialRule::InfiniteBench(InfiniteBenchRule::Calculation)
            | OfficialRule::LoCoMo
            | OfficialRule::TriviaQa
            | OfficialRule::Math => 2,
            _ => 1,
        };
        Some(Identity::new(self.name(), version, self.cut.identity()))
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let response = output.response();
        let values = self.values(example, self.cut.of(&response))?;
        let scores = values.into_iter().map(Score::value);
        Ok(self.names.iter().cloned().zip(scores).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::evaluator::score_now;

    fn scored(rule: OfficialRule, fields: &Value, response: &str) -> Option<f64> {
        let mut example = Example::new();
        for (name, value) in fields.as_object().unwrap() {
            example = example.with(name.as_str(), value.clone());
        }
        let evaluator = OfficialScore::new(rule);
        assert!(evaluator.applies_to(&example), "{rule}");
        let output = Output::reply(&example, response);
        let scores = score_now(&evaluator, &example, &output)
            .expect("never waits")
            .unwrap();
        assert_eq!(scores.iter().count(), evaluator.score_names().len());
        scores.value(evaluator.score_names()[0].as_str())
    }

    #[test]
    fn fields_reach_their_rules() {
        use InfiniteBenchRule::{Calculation, Choice};
        for (rule, fields, response, expected) in [
            (
                OfficialRule::Bbh,
                json!({"answer": "(B)"}),
                "So the answer is (B).",
                1.0,
            ),
            (
                OfficialRule::Drop,
                json!({"annotators": [["Smith", "Jones"], ["Smith"]]}),
                "Smith",
                1.0,
            ),
            (OfficialRule::Drop, json!({"answers": ["4"]}), "4.0", 1.0),
            (
                OfficialRule::HotpotQa,
                json!({"answers": ["yes"]}),
                "Yes, both",
                0.0,
            ),
            (
                OfficialRule::TriviaQa,
                json!({"answers": ["x", "spider man"]}),
                "Spider-Man",
                1.0,
            ),
            (OfficialRule::Squad, json!({"answer": "USA"}), "U.S.A.", 1.0),
            (
                OfficialRule::InfiniteBench(Choice),
                json!({"answers": ["Paris"], "correct_letter": "B"}),
                "B. Paris",
                1.0,
            ),
            (
                OfficialRule::InfiniteBench(Calculation),
                json!({"answers": [1, 4]}),
                "[1, 5]",
                0.5,
            ),
            (
                OfficialRule::LongBench(LongBenchRule::Class),
                json!({"answers": ["City"], "classes": ["City", "Date"]}),
                "City or Date",
                0.5,
            ),
            (
                OfficialRule::LongBenchV2,
                json!({"correct_letter": "C"}),
                "The correct answer is (C)",
                1.0,
            ),
            (
                OfficialRule::AnswerLetter,
                json!({"correct_letter": "B", "choices": ["x", "y"]}),
                "Answer: C, no\nAnswer: $B$",
                1.0,
            ),
            (
                OfficialRule::Math,
                json!({"answer": "3", "solution": "so \\boxed{3}, thus \\boxed{4}"}),
                "\\boxed{4}",
                1.0,
            ),
            (
                OfficialRule::LoCoMo,
                json!({"answer": "", "type": "adversarial"}),
                "Not mentioned",
                1.0,
            ),
            (
                OfficialRule::TruthfulQa,
                json!({"answers": ["no"], "incorrect_answers": ["yes"]}),
                "yes",
                0.0,
            ),
            (
                OfficialRule::Gsm8k,
                json!({"answer": "1,234"}),
                "#### 1234",
                1.0,
            ),
            (
                OfficialRule::Mgsm,
                json!({"answer": "18", "language": "en"}),
                "Answer: 18.0",
                1.0,
            ),
            (
                OfficialRule::Math,
                json!({"answer": "\\frac{1}{2}"}),
                "\\boxed{0.5}",
                1.0,
            ),
        ] {
            let found = scored(rule, &fields, response);
            assert_eq!(found, Some(expected), "{rule}: {response}");
        }
    }

    #[test]
    fn every_rule_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> =
            OfficialRule::ALL.iter().map(|(_, name, _)| *name).collect();
        assert_eq!(names.len(), OfficialRule::ALL.len());
        assert!(names.iter().all(|name| !name.is_empty()));
    }
}
