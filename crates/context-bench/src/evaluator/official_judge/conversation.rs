//! MT-bench: both turns of a conversation, each rated on its own.

use serde_json::Value;

use super::{JudgedScores, OfficialJudge, spoken};
use crate::evaluator::EvaluatorError;
use crate::model::{Example, JudgeUsage, Output, Score};
use crate::official::mt_bench;
use crate::text::reasoning;
use crate::text::stringify::python_str;

impl OfficialJudge {
    pub(super) async fn mt_bench(&self, example: &Example, output: &Output) -> JudgedScores {
        let turns = match exchanges(example, output) {
            Ok(turns) => turns,
            Err(reason) => return (Err(EvaluatorError(reason)), JudgeUsage::default()),
        };
        let shown: Vec<_> = turns.iter().map(OwnExchange::shown).collect();
        let [first, ..] = &shown[..] else {
            let reason = "the conversation has no turn".to_owned();
            return (Err(EvaluatorError(reason)), JudgeUsage::default());
        };
        let first = std::slice::from_ref(first);
        let about = |turns| self.ask(Some(mt_bench::system(turns)), mt_bench::prompt(turns), None);
        let (one, both) = tokio::join!(about(first), about(&shown));
        let mut usage = one.1;
        usage += both.1;
        let ratings = [one.0, both.0].map(|reply| {
            reply.map(|reply| {
                let text = spoken(&reply);
                match mt_bench::rating(&text) {
                    Some(rating) => Score::value(rating),
                    None => self.unreadable("no rating in brackets", &reply, &text),
                }
            })
        });
        // Of a pair of which one call failed, a mean would be that of another benchmark.
        let scores = match ratings {
            [Ok(first), Ok(second)] => {
                let rated: Vec<f64> = [&first, &second].iter().filter_map(|s| s.get()).collect();
                let mean = match rated.len() {
                    0 => Score::unscored(first.reason().unwrap_or_default()),
                    n => Score::value(rated.iter().sum::<f64>() / n as f64),
                };
                let scores = [mean, first, second];
                Ok(self.names.iter().cloned().zip(scores).collect())
            }
            [Err(error), _] => Err(EvaluatorError(format!("turn 1: {error}"))),
            [_, Err(error)] => Err(EvaluatorError(format!("turn 2: {error}"))),
        };
        (scores, usage)
    }
}

/// One turn with its reference, as the example and the output have it.
struct OwnExchange {
    question: String,
    answer: String,
    reference: Option<String>,
}

impl OwnExchange {
    fn shown(&self) -> mt_bench::Exchange<'_> {
        mt_bench::Exchange {
            question: &self.question,
            answer: &self.answer,
            reference: self.reference.as_deref(),
        }
    }
}

/// What the user asks, turn by turn.
pub(super) fn questions(example: &Example) -> Vec<String> {
    let turns = example.get("turns").and_then(Value::as_array);
    let turns = turns
        .into_iter()
        .flatten()
        .filter(|turn| turn["role"] == "user");
    turns
        .map(|turn| python_str(&turn["content"]).into_owned())
        .collect()
}

/// The turns of a conversation with the answers to them.
fn exchanges(example: &Example, output: &Output) -> Result<Vec<OwnExchange>, String> {
    let questions = questions(example);
    let answers = output.get("turn_responses").and_then(Value::as_array);
    let answers = answers.filter(|answers| answers.len() == questions.len());
    let Some(answers) = answers else {
        return Err(format!(
            "the system answered no {} turns: the second question follows its own first answer, \
             which only a system that holds conversations can do",
            questions.len()
        ));
    };
    let category = example.stringified("category");
    let references = example.get("reference").and_then(Value::as_array);
    let references = references.filter(|_| mt_bench::needs_reference(&category));
    let turns = questions.into_iter().zip(answers).enumerate();
    Ok(turns
        .map(|(at, (question, answer))| {
            let text = python_str(answer);
            let answer = reasoning::split(&text).map_or(&*text, |(_, answer)| answer);
            let reference = references.and_then(|list| list.get(at)?.as_str());
            OwnExchange {
                question,
                answer: answer.to_owned(),
                reference: reference.filter(|text| !text.is_empty()).map(str::to_owned),
            }
        })
        .collect())
}
