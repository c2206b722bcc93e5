//! The likelihood of a part of a prompt, out of a reply that echoes the prompt.
//!
//! Where the part begins is found by the text of the tokens, which needs no tokenizer
//! here; where that does not fit (tokens that are parts of characters), by the offsets
//! that the reply gives. A reply that does not hold what is needed is an error: a
//! missing likelihood looks like a certain one.

use std::ops::Range;

use serde_json::Value;

/// Why a reply says nothing about a likelihood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MissingLogprobs {
    /// The endpoint does not do it at all.
    Unsupported(String),
    /// The endpoint does it after a context only.
    NoContext(String),
    /// This reply cannot be understood.
    Unreadable(String),
}

/// The log-likelihood of tokens, and whether each was the most likely one.
pub(super) type Likelihood = (f64, bool);

/// The echoed tokens of one choice of a reply.
#[derive(Debug)]
pub(super) struct Echo<'r> {
    tokens: Vec<&'r str>,
    logprobs: &'r [Value],
    tops: &'r [Value],
    offsets: Option<Vec<usize>>,
}

impl<'r> Echo<'r> {
    pub(super) fn read(choice: &'r Value) -> Result<Self, MissingLogprobs> {
        let lacks = |what: &str| {
            MissingLogprobs::Unsupported(format!("the endpoint's reply has no {what}"))
        };
        let Some(found) = choice.get("logprobs").filter(|found| found.is_object()) else {
            return Err(lacks("log-probabilities (`logprobs`)"));
        };
        let list = |name: &str| found.get(name).and_then(Value::as_array);
        let logprobs = list("token_logprobs").ok_or_else(|| lacks("`token_logprobs`"))?;
        let tokens = list("tokens").ok_or_else(|| lacks("`tokens`"))?;
        let tops = list("top_logprobs").ok_or_else(|| lacks("`top_logprobs`"))?;
        if tokens.len() != logprobs.len() || tops.len() != logprobs.len() {
            return Err(MissingLogprobs::Unreadable(
                "`tokens`, `token_logprobs` and `top_logprobs` have different lengths".into(),
            ));
        }
        let offsets = list("text_offset").and_then(|offsets| {
            let offset = |value: &Value| usize::try_from(value.as_u64()?).ok();
            offsets.iter().map(offset).collect::<Option<Vec<_>>>()
        });
        Ok(Self {
            tokens: tokens
                .iter()
                .map(|token| token.as_str().unwrap_or(""))
                .collect(),
            logprobs,
            tops,
            offsets: offsets.filter(|offsets| offsets.len() == tokens.len()),
        })
    }

    /// The likelihood of what follows the first `from` bytes of the prompt.
    pub(super) fn after(&self, prompt: &str, from: usize) -> Result<Likelihood, MissingLogprobs> {
        self.sum(self.span(prompt, from)?)
    }

    /// The likelihood of tokens `from` to `to` of a prompt of token numbers, with at
    /// least one generated after it.
    pub(super) fn of_tokens(&self, range: Range<usize>) -> Result<Likelihood, MissingLogprobs> {
        if self.tokens.len() <= range.end {
            return Err(no_echo());
        }
        self.sum(range)
    }

    /// The tokens that follow the first `from` bytes of the prompt.
    fn span(&self, prompt: &str, from: usize) -> Result<Range<usize>, MissingLogprobs> {
        if let Some(range) = self.span_by_text(prompt, from) {
            return Ok(range);
        }
        let n = prompt.chars().count();
        let from = prompt
            .get(..from)
            .map_or(0, |before| before.chars().count());
        if let Some(offsets) = &self.offsets
            && let Some(end) = offsets.iter().position(|offset| *offset == n)
            && offsets.is_sorted()
        {
            // A token that begins before and ends after the seam belongs to what follows.
            let ends = |i: usize| offsets.get(i + 1).copied().unwrap_or(n);
            let start = (0..end).find(|&i| ends(i) > from).unwrap_or(end);
            return Ok(start..end);
        }
        Err(match self.tokens.len() {
            0 | 1 => no_echo(),
            _ => MissingLogprobs::Unreadable(
                "the tokens of the reply are not those of the prompt".into(),
            ),
        })
    }

    fn span_by_text(&self, prompt: &str, from: usize) -> Option<Range<usize>> {
        let mut rest = prompt;
        let mut start = None;
        for (i, token) in self.tokens.iter().enumerate() {
            if rest.is_empty() {
                return Some(start.unwrap_or(i)..i);
            }
            match rest.strip_prefix(token) {
                Some(after) => rest = after,
                // A mark of the beginning, which the server put before the text.
                None if i == 0 => continue,
                None => return None,
            }
            if start.is_none() && prompt.len() - rest.len() > from {
                start = Some(i);
            }
        }
        let end = self.tokens.len();
        rest.is_empty().then(|| start.unwrap_or(end)..end)
    }

    fn sum(&self, range: Range<usize>) -> Result<Likelihood, MissingLogprobs> {
        if range.is_empty() {
            return Err(MissingLogprobs::Unreadable(
                "there is no token whose likelihood could be given".into(),
            ));
        }
        let mut sum = 0.0;
        let mut greedy = true;
        for at in range {
            let Some(logprob) = self.logprobs[at].as_f64() else {
                return Err(match at {
                    0 => MissingLogprobs::NoContext(
                        "the endpoint gives no log-probability for the first token of a text; \
                         name the text that begins a document for its model: `--model-args \
                         prefix=TEXT`"
                            .into(),
                    ),
                    at => MissingLogprobs::Unsupported(format!(
                        "the endpoint gives no log-probability for token {at} of the prompt"
                    )),
                });
            };
            sum += logprob;
            let tops = self.tops[at].as_object().into_iter().flatten();
            let best = tops.filter_map(|(_, value)| value.as_f64());
            greedy &= best.fold(f64::NEG_INFINITY, f64::max) <= logprob;
        }
        Ok((sum, greedy))
    }
}

fn no_echo() -> MissingLogprobs {
    MissingLogprobs::Unsupported(
        "the endpoint does not echo the prompt with its log-probabilities".into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn choice(tokens: &[&str], offsets: Option<&[usize]>) -> Value {
        let logprobs: Vec<Value> = (0..tokens.len())
            .map(|i| {
                if i == 0 {
                    Value::Null
                } else {
                    json!(-(i as f64))
                }
            })
            .collect();
        // The token itself is the best one but at odd places.
        let tops: Vec<Value> = (0..tokens.len())
            .map(|i| match i {
                0 => Value::Null,
                i => json!({"a": -(i as f64), "b": if i % 2 == 1 { -0.5 } else { -99.0 }}),
            })
            .collect();
        let mut logprobs =
            json!({"tokens": tokens, "token_logprobs": logprobs, "top_logprobs": tops});
        if let Some(offsets) = offsets {
            logprobs["text_offset"] = json!(offsets);
        }
        json!({"text": tokens.concat(), "logprobs": logprobs})
    }

    fn after(choice: &Value, prompt: &str, from: usize) -> Result<Likelihood, MissingLogprobs> {
        Echo::read(choice)?.after(prompt, from)
    }

    #[test]
    fn the_part_is_found_by_the_text_of_tokens() {
        let plain = choice(&["The", " cat", " sat", " down", "!"], None);
        assert_eq!(after(&plain, "The cat sat down", 7), Ok((-5.0, false)));
        assert_eq!(after(&plain, "The cat sat", 7), Ok((-2.0, true)));
        // Inside a token: the token counts.
        assert_eq!(after(&plain, "The cat sat", 8), Ok((-2.0, true)));
        let with_mark = choice(&["<s>", "The", " cat", "!"], None);
        assert_eq!(after(&with_mark, "The cat", 0), Ok((-3.0, false)));
        assert_eq!(after(&with_mark, "The cat", 3), Ok((-2.0, true)));
    }

    #[test]
    fn parts_of_characters_are_found_by_offsets() {
        // `é` in two tokens, neither of which is text.
        let split = choice(
            &["caf", "\u{fffd}", "\u{fffd}", " bar", "!"],
            Some(&[0, 3, 3, 4, 8]),
        );
        assert_eq!(after(&split, "café bar", 5), Ok((-3.0, false)));
        let drifting = choice(
            &["caf", "\u{fffd}", "\u{fffd}", " bar", "!"],
            Some(&[0, 3, 4, 5, 9]),
        );
        assert!(matches!(
            after(&drifting, "café bar", 5),
            Err(MissingLogprobs::Unreadable(_))
        ));
    }

    #[test]
    fn what_is_missing_is_never_a_number() {
        let no_logprobs = json!({"text": "x", "logprobs": null});
        let only_generated = choice(&["!"], Some(&[0]));
        let no_first = choice(&["The", " cat", "!"], None);
        for (choice, prompt, expected) in [
            (&no_logprobs, "The cat", "no log-probabilities"),
            (&only_generated, "The cat", "does not echo"),
            (&no_first, "The cat", "first token of a text"),
        ] {
            match after(choice, prompt, 0) {
                Err(MissingLogprobs::Unsupported(what) | MissingLogprobs::NoContext(what)) => {
                    assert!(what.contains(expected), "{what}")
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(matches!(
            after(&no_first, "A dog", 1),
            Err(MissingLogprobs::Unreadable(_))
        ));
        let echo = Echo::read(&no_first).expect("readable");
        assert_eq!(echo.of_tokens(1..2), Ok((-1.0, false)));
        assert!(echo.of_tokens(1..3).is_err());
    }
}
