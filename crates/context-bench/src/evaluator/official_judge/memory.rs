//! Answers from memory: whether they are right, and whether they claim what was never said.

use context_bench_memory::judge;

use super::{JudgedScores, OfficialJudge, asked, spoken};
use crate::evaluator::llm_judge::{has_ended, reference};
use crate::model::{Example, JudgeUsage, Score};

impl OfficialJudge {
    pub(super) async fn memory(&self, example: &Example, response: &str) -> JudgedScores {
        let gold = reference(example);
        if gold.trim().is_empty() {
            // Runs leave such questions out; whoever asks for the score is told why.
            let score = Score::unscored("the question has no right answer to compare with");
            return (Ok(self.each(&score)), JudgeUsage::default());
        }
        let prompt = judge::prompt(&asked(example), &gold, response);
        self.decided(prompt).await
    }

    pub(super) async fn false_memory(&self, example: &Example, response: &str) -> JudgedScores {
        let excerpt = example.stringified("context");
        let question = example.stringified("question");
        let gold = reference(example);
        let prompt = judge::false_memory_prompt(&question, &excerpt, &gold, response);
        self.decided(prompt).await
    }

    /// Asks for a yes, which is 1, or a no.
    async fn decided(&self, prompt: String) -> JudgedScores {
        let (reply, usage) = self.ask(None, prompt, None).await;
        let scores = reply.map(|reply| {
            let said = spoken(&reply);
            self.each(&match judge::verdict(&said, has_ended(&reply)) {
                Some(yes) => Score::from(yes).because(format!("the judge said `{}`", said.trim())),
                None => self.unreadable("neither yes nor no", &reply, &said),
            })
        });
        (scores, usage)
    }
}
