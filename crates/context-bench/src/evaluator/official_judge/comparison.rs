//! AlpacaEval: an answer beside that of a baseline.

use super::{JudgedScores, OfficialJudge, asked, spoken};
use crate::evaluator::EvaluatorError;
use crate::model::{Example, JudgeUsage, Scores};
use crate::official::alpaca_eval;

impl OfficialJudge {
    pub(super) async fn alpaca_eval(&self, example: &Example, response: &str) -> JudgedScores {
        let baseline = example.stringified(&self.settings.baseline);
        if baseline == response {
            let scores = self.preferred(example, &baseline, response, alpaca_eval::DRAW);
            return (Ok(scores), JudgeUsage::default());
        }
        let instruction = asked(example);
        let model_first = alpaca_eval::is_shown_first(&instruction, &baseline, response);
        let (first, second) = match model_first {
            true => (response, &*baseline),
            false => (&*baseline, response),
        };
        let prompt = alpaca_eval::prompt(&instruction, first, second);
        let system = Some(alpaca_eval::SYSTEM);
        let (reply, usage) = self
            .ask(system, prompt, Some(alpaca_eval::TOP_TOKENS))
            .await;
        let scores = reply.and_then(|reply| {
            let text = spoken(&reply);
            let shown = match reply.first_tokens.is_empty() {
                true => alpaca_eval::discrete(&text),
                false => alpaca_eval::weighted(&reply.first_tokens),
            };
            let Some(shown) = shown else {
                let score = self.unreadable("neither `m` nor `M`", &reply, &text);
                return Err(EvaluatorError(
                    score.reason().unwrap_or_default().to_owned(),
                ));
            };
            let preference = alpaca_eval::unshuffled(shown, model_first);
            Ok(self.preferred(example, &baseline, response, preference))
        });
        (scores, usage)
    }

    /// The scores of a preference, with what the win rate at equal length is fitted to: how
    /// many characters the answer is longer, and how difficult the instruction is.
    pub(super) fn preferred(
        &self,
        example: &Example,
        baseline: &str,
        response: &str,
        preference: f64,
    ) -> Scores {
        let length = response.chars().count() as f64 - baseline.chars().count() as f64;
        let scores = [preference - 1.0, alpaca_eval::win(preference), length];
        let mut scores: Scores = self.names.iter().cloned().zip(scores).collect();
        let id = example.stringified("id");
        if let Some(difficulty) = self.settings.difficulties.get(&*id) {
            scores.set("alpaca_difficulty", *difficulty);
        }
        scores
    }
}
