//! What a model thought aloud before its answer, apart from the answer.
//!
//! Models that reason put it between `<think>` and `</think>`. Some chat templates write
//! the opening mark into the prompt, so that a reply has only the closing one.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// The reasoning of a reply and its answer; `None` when it holds no reasoning. A reply
/// that was cut while the model still reasoned has an empty answer.
pub fn split(reply: &str) -> Option<(&str, &str)> {
    let begun = reply.trim_start().strip_prefix(OPEN);
    match (begun, reply.find(CLOSE)) {
        (Some(inside), None) => Some((inside.trim(), "")),
        (begun, Some(at)) => {
            // In the middle of a text the marks are what the text is about.
            let before = &reply[..at];
            if begun.is_none() && before.contains(OPEN) {
                return None;
            }
            let thought = before.trim_start();
            let thought = thought.strip_prefix(OPEN).unwrap_or(thought);
            Some((thought.trim(), reply[at + CLOSE.len()..].trim_start()))
        }
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn answers_are_what_follows_the_reasoning() {
        for (reply, expected) in [
            ("Paris", None),
            ("", None),
            ("<think>a b</think>\n\nParis", Some(("a b", "Paris"))),
            (" <think>\na\n</think>Paris", Some(("a", "Paris"))),
            ("a b\n</think>\nParis", Some(("a b", "Paris"))),
            ("<think></think>Paris", Some(("", "Paris"))),
            ("<think>I wonder", Some(("I wonder", ""))),
            ("Models write <think>so</think> at times", None),
            (
                "<think>x</think>Write <think> and </think>",
                Some(("x", "Write <think> and </think>")),
            ),
        ] {
            assert_eq!(split(reply), expected, "{reply}");
        }
    }
}
