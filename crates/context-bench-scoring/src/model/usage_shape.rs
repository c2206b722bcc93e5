//! `UsageShape`: what the members of a reported usage mean.

use serde_json::{Map, Value};

use super::{Output, TokenUse, WireUsage};

/// What the members of a reported usage mean. The API that was asked decides, never the
/// members: routers give those of one API beside those of another, and whoever guesses
/// counts tokens twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UsageShape {
    /// Chat completions: `prompt_tokens` includes what was in the cache.
    #[default]
    Chat,
    /// Responses: the same with other names.
    Responses,
    /// Anthropic: `input_tokens` excludes what was read from the cache or written to it.
    Anthropic,
}

impl UsageShape {
    /// That of an API, by its name as `api_reply` has it; none stands for chat completions.
    pub fn named(api: Option<&str>) -> Self {
        match api {
            Some("responses") => Self::Responses,
            Some("anthropic") => Self::Anthropic,
            _ => Self::Chat,
        }
    }

    /// That of the usage of an output.
    pub fn of(output: &Output) -> Self {
        let api = output.api_reply().and_then(|said| said.get("api"));
        Self::named(api.and_then(Value::as_str))
    }

    /// The tokens of a usage.
    pub(super) fn read(self, usage: &Map<String, Value>) -> TokenUse {
        let member = |key: &str| usage.get(key).and_then(number);
        let detail = |of: &str, key: &str| usage.get(of)?.get(key).and_then(number);
        let (prompt, cached, completion) = match self {
            Self::Chat => (
                member("prompt_tokens"),
                detail("prompt_tokens_details", "cached_tokens")
                    // As DeepSeek says it.
                    .or_else(|| member("prompt_cache_hit_tokens")),
                member("completion_tokens"),
            ),
            Self::Responses => (
                member("input_tokens"),
                detail("input_tokens_details", "cached_tokens"),
                member("output_tokens"),
            ),
            Self::Anthropic => {
                let cached = member("cache_read_input_tokens");
                let written = member("cache_creation_input_tokens").unwrap_or(0);
                let apart = written.saturating_add(cached.unwrap_or(0));
                let prompt = member("input_tokens").map(|input| input.saturating_add(apart));
                (prompt, cached, member("output_tokens"))
            }
        };
        let tokens = TokenUse {
            prompt,
            cached,
            completion,
            total: member("total_tokens"),
            reported: true,
            ..TokenUse::default()
        };
        match self {
            // Its total stands nowhere, but is all of it.
            Self::Anthropic => TokenUse {
                total: tokens.spent(),
                ..tokens
            },
            _ => tokens,
        }
    }

    /// The tokens of a usage in buckets that share none, as prices need them.
    pub fn buckets(self, usage: &Map<String, Value>) -> WireUsage {
        let member = |key: &str| usage.get(key).and_then(number);
        let detail = |of: &str, key: &str| usage.get(of)?.get(key).and_then(number);
        let TokenUse {
            prompt,
            cached,
            completion,
            ..
        } = self.read(usage);
        let (Some(prompt), Some(output)) = (prompt, completion) else {
            return WireUsage {
                unknown: 1,
                ..WireUsage::default()
            };
        };
        let (short, long) = match self {
            Self::Chat => (detail("prompt_tokens_details", "cache_write_tokens"), None),
            Self::Responses => (detail("input_tokens_details", "cache_write_tokens"), None),
            Self::Anthropic => {
                let short = detail("cache_creation", "ephemeral_5m_input_tokens");
                let long = detail("cache_creation", "ephemeral_1h_input_tokens");
                match (short, long) {
                    (None, None) => (member("cache_creation_input_tokens"), None),
                    both => both,
                }
            }
        };
        let found = WireUsage {
            cache_read: cached.unwrap_or(0),
            cache_write_short: short.unwrap_or(0),
            cache_write_long: long.unwrap_or(0),
            output,
            ..WireUsage::default()
        };
        match self {
            Self::Chat | Self::Responses => found.of_prompt(prompt),
            Self::Anthropic => {
                let created = member("cache_creation_input_tokens");
                let written = found
                    .cache_write_short
                    .saturating_add(found.cache_write_long);
                WireUsage {
                    uncached: member("input_tokens").unwrap_or(0),
                    inconsistent: u64::from(created.is_some_and(|created| created != written)),
                    ..found
                }
            }
        }
    }

    /// A usage in the words of chat completions, for sums over calls of several APIs.
    pub fn to_chat(self, usage: &Map<String, Value>) -> Map<String, Value> {
        if self == Self::Chat {
            return usage.clone();
        }
        let tokens = self.read(usage);
        let members = [
            ("prompt_tokens", tokens.prompt),
            ("completion_tokens", tokens.completion),
            ("total_tokens", tokens.total),
        ];
        let known = members.into_iter();
        known
            .filter_map(|(key, count)| Some((key.to_owned(), count?.into())))
            .collect()
    }
}

fn number(value: &Value) -> Option<u64> {
    let whole = value.as_f64().filter(|n| *n >= 0.0 && n.is_finite());
    value.as_u64().or(whole.map(|n| n.round() as u64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_api_decides_what_members_mean() {
        let read = |api: &str, usage: &Value| {
            let usage = usage.as_object().expect("a map");
            let tokens = TokenUse::reported(UsageShape::named(Some(api)), usage);
            (
                tokens.prompt,
                tokens.cached,
                tokens.completion,
                tokens.total,
            )
        };
        let anthropic = json!({"input_tokens": 3, "cache_creation_input_tokens": 12304,
            "cache_read_input_tokens": 100, "output_tokens": 550});
        assert_eq!(
            read("anthropic", &anthropic),
            (Some(12407), Some(100), Some(550), Some(12957))
        );
        let responses = json!({"input_tokens": 30, "output_tokens": 4, "total_tokens": 34,
            "input_tokens_details": {"cached_tokens": 20}});
        assert_eq!(
            read("responses", &responses),
            (Some(30), Some(20), Some(4), Some(34))
        );
        // A router with members of Anthropic beside a prompt that includes them.
        let routed = json!({"prompt_tokens": 12307, "completion_tokens": 550,
            "cache_creation_input_tokens": 12304});
        assert_eq!(
            read("openai", &routed),
            (Some(12307), None, Some(550), None)
        );
        // What is missing is missing.
        assert_eq!(
            read("anthropic", &json!({"output_tokens": 5})),
            (None, None, Some(5), None)
        );
        assert_eq!(read("responses", &anthropic).3, None);
        let chat = UsageShape::Anthropic.to_chat(anthropic.as_object().expect("a map"));
        let expected =
            json!({"prompt_tokens": 12407, "completion_tokens": 550, "total_tokens": 12957});
        assert_eq!(Value::Object(chat), expected);
    }
}
