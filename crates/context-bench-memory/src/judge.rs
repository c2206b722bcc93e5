//! The judge of answers from memory (`MemoryJudge`): what it is asked, and what its reply means.
//!
//! Who asks it, and how often, is not decided here.

use context_bench_scoring::model::Score;
use context_bench_scoring::text::words::is_word_char;

/// The most tokens of a reply.
pub const REPLY_TOKENS: u32 = 64;

/// What the judge is asked.
pub fn prompt(question: &str, gold: &str, answer: &str) -> String {
    format!(
        "Decide whether an answer from memory is correct. It is correct when it holds the same \
         essential information as the right answer, in whatever words.\n\n\
         Question: {question}\n\nRight answer: {gold}\n\nAnswer: {answer}\n\n\
         Write YES or NO on the first line, then one sentence with the reason."
    )
}

/// The verdict of a reply: the leftmost whole word `yes` or `no`, in any case.
pub fn verdict(reply: &str) -> Option<bool> {
    let mut words = reply.split(|c: char| !is_word_char(c));
    words.find_map(|word| match word.to_lowercase().as_str() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    })
}

/// What is known without asking: an empty answer is wrong, and without a right answer
/// there is nothing to compare with. `None` means that the judge has to be asked.
pub fn without_asking(gold: &str, answer: &str) -> Option<Score> {
    if answer.trim().is_empty() {
        Some(Score::value(0.0))
    } else if gold.trim().is_empty() {
        Some(Score::unscored(
            "the question has no right answer to compare with",
        ))
    } else {
        None
    }
}

/// The score of a reply. A judge that fails, or that does not say yes or no, leaves the
/// answer unscored.
pub fn score(reply: Result<&str, &str>) -> Score {
    let reply = match reply {
        Ok(reply) => reply,
        Err(problem) => return Score::unscored(format!("the judge failed: {problem}")),
    };
    match verdict(reply) {
        Some(correct) => Score::value(f64::from(u8::from(correct))),
        None => {
            let start: String = reply.chars().take(80).collect();
            Score::unscored(format!("the judge says neither yes nor no: {start:?}"))
        }
    }
}
