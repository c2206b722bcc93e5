//! The two judges of answers from memory: whether an answer is right (`MemoryJudge`), and
//! whether it claims what was never said (`FalseMemoryRate`). What they are asked, and what
//! their replies mean.
//!
//! Who asks them, and how often, is not decided here.

use context_bench_scoring::text::words::is_word_char;

/// The most tokens of a reply.
pub const REPLY_TOKENS: u32 = 64;

/// Stands in for an excerpt where there is none.
const NO_EXCERPT: &str = "(no excerpt of the conversation is given)";

/// How both want the verdict.
const FORM: &str = "Write YES or NO on the first line, then one sentence with the reason.";

/// What the judge of right answers is asked.
pub fn prompt(question: &str, gold: &str, answer: &str) -> String {
    format!(
        "Decide whether an answer from memory is correct. It is correct when it holds the same \
         essential information as the right answer, in whatever words.\n\n\
         Question: {question}\n\nRight answer: {gold}\n\nAnswer: {answer}\n\n{FORM}"
    )
}

/// What the judge of false memories is asked. An excerpt is the end of a conversation that
/// may be far longer, so the right answer, where there is one, counts as said too: without
/// it a right answer about what came earlier would be a false memory.
pub fn false_memory_prompt(question: &str, excerpt: &str, gold: &str, answer: &str) -> String {
    let excerpt = match excerpt.trim() {
        "" => NO_EXCERPT,
        text => text,
    };
    let known = match gold.trim() {
        "" => String::new(),
        gold => format!("\n\nWhat the conversation says about the question: {gold}"),
    };
    format!(
        "Decide whether an answer from memory states facts that the conversation does not hold. \
         An answer that only says that it does not know states none.\n\n\
         Conversation:\n{excerpt}{known}\n\nQuestion: {question}\n\nAnswer: {answer}\n\n\
         Does the answer state facts that are not in the conversation? {FORM}"
    )
}

/// The verdict of a reply: the leftmost whole word `yes` or `no`, in any case. Of a reply
/// that did not end by itself only its first word and its finished lines count: the word in
/// a sentence that was cut may be anything.
pub fn verdict(reply: &str, ended: bool) -> Option<bool> {
    let words = |text: &str| {
        let mut words = text.split(|c: char| !is_word_char(c));
        words.find_map(|word| match word.to_lowercase().as_str() {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        })
    };
    if ended {
        return words(reply);
    }
    let begun = reply.trim_start_matches(|c: char| !is_word_char(c));
    let first = begun.split(|c: char| !is_word_char(c)).next();
    let finished = reply.rsplit_once('\n').map(|(lines, _)| lines);
    words(first.unwrap_or_default()).or_else(|| words(finished.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_in_the_words_of_models() {
        for (reply, expected) in [
            ("YES", Some(true)),
            ("**Yes** – same date.", Some(true)),
            ("<b>no</b>", Some(false)),
            ("Verdict: NO\nThe date differs.", Some(false)),
            ("{\"verdict\": \"yes\"}", Some(true)),
            ("The answer is NO, not yes", Some(false)),
            ("1) yes", Some(true)),
            ("yes_no", None),
            ("Noon, yesterday", None),
            ("Correct", None),
            ("ｙｅｓ", None),
            ("", None),
        ] {
            assert_eq!(verdict(reply, true), expected, "{reply}");
        }
    }

    #[test]
    fn a_reply_that_was_cut_says_what_it_finished() {
        for (reply, expected) in [
            ("YES", Some(true)),
            ("**NO**, because the", Some(false)),
            ("Verdict: YES\nThe answer names the", Some(true)),
            ("There is no doubt that the", None),
            ("Let me compare. The right answer says no", None),
            ("\n\n", None),
            ("", None),
        ] {
            assert_eq!(verdict(reply, false), expected, "{reply}");
        }
    }

    #[test]
    fn prompts_hold_what_is_judged() {
        let asked = prompt("When?", "in May", "in {gold} June");
        let pieces = [
            "Question: When?",
            "answer: in May",
            "Answer: in {gold} June",
        ];
        assert!(pieces.iter().all(|piece| asked.contains(piece)), "{asked}");
        let asked = false_memory_prompt("When?", "USER: in May", "in May", "in June");
        let pieces = [
            "USER: in May",
            "When?",
            "question: in May",
            "Answer: in June",
        ];
        assert!(pieces.iter().all(|piece| asked.contains(piece)), "{asked}");
        let asked = false_memory_prompt("When?", " ", "", "in June");
        assert!(asked.contains(NO_EXCERPT) && !asked.contains("What the conversation says"));
    }
}
