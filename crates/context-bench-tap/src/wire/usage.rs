//! [`Usage`]: what a provider counts, in buckets that do not overlap.
//!
//! Which member means what is decided by the route, never by which members are there: routers
//! put cached tokens into `prompt_tokens` and keep the members of the other API beside it, and
//! whoever guesses counts them twice.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::field::number;
use super::route::WireFormat;

/// How a provider counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageShape {
    /// `prompt_tokens` or `input_tokens` include what was read from and written to a cache.
    Openai,
    /// `input_tokens` exclude them.
    Anthropic,
    /// `promptTokenCount` includes what was read.
    Gemini,
    /// The shape of OpenAI, with hits and misses of its own.
    Deepseek,
}

impl UsageShape {
    /// How an API counts by itself.
    pub fn of(format: WireFormat) -> Self {
        match format {
            WireFormat::AnthropicMessages => Self::Anthropic,
            WireFormat::Gemini => Self::Gemini,
            _ => Self::Openai,
        }
    }
}

/// Tokens of a call; the five buckets share none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input that no cache served or kept (`u`).
    pub uncached: u64,
    /// Input that a cache served (`r`).
    pub cache_read: u64,
    /// Input that was written to a cache for a short time (`w5`).
    pub cache_write_short: u64,
    /// Input that was written to a cache for an hour (`w1`).
    pub cache_write_long: u64,
    /// Output, reasoning included (`o`).
    pub output: u64,
    /// The part of the output that is reasoning, where the provider says so.
    pub reasoning: Option<u64>,
    /// Whether the members contradict each other. `uncached` is then 0 as the least that may
    /// have been, and the prompt as a whole the most.
    pub is_inconsistent: bool,
    /// What the provider said, as it said it.
    pub raw: Value,
}

impl Usage {
    /// Reads a usage object; none if it counts nothing that is known.
    pub fn read(shape: UsageShape, raw: &Value) -> Option<Self> {
        let usage = Self::counts(shape, raw)?;
        Some(Self {
            raw: raw.clone(),
            ..usage
        })
    }

    /// The same of an object that nobody else needs.
    pub(super) fn taken(shape: UsageShape, raw: Value) -> Option<Self> {
        let usage = Self::counts(shape, &raw)?;
        Some(Self { raw, ..usage })
    }

    /// The counts alone.
    fn counts(shape: UsageShape, raw: &Value) -> Option<Self> {
        if !raw.is_object() {
            return None;
        }
        match shape {
            UsageShape::Openai => openai(raw),
            UsageShape::Anthropic => anthropic(raw),
            UsageShape::Gemini => gemini(raw),
            UsageShape::Deepseek => deepseek(raw),
        }
    }

    /// Whether both count the same, however they say it.
    pub(crate) fn counts_like(&self, other: &Self) -> bool {
        let counts = |usage: &Self| {
            let buckets = [usage.uncached, usage.output, usage.cache_read];
            let written = [usage.cache_write_short, usage.cache_write_long];
            (buckets, written, usage.reasoning, usage.is_inconsistent)
        };
        counts(self) == counts(other)
    }

    /// All input tokens.
    pub fn input(&self) -> u64 {
        [
            self.cache_read,
            self.cache_write_short,
            self.cache_write_long,
        ]
        .into_iter()
        .fold(self.uncached, u64::saturating_add)
    }

    /// The share of the input that a cache served; none without input.
    pub fn hit_rate(&self) -> Option<f64> {
        let input = self.input();
        (input > 0).then(|| self.cache_read as f64 / input as f64)
    }

    /// With what is left of a prompt when the cached parts are taken out.
    fn with_uncached(mut self, prompt: u64, apart: u64) -> Self {
        match prompt.checked_sub(apart) {
            Some(uncached) => self.uncached = uncached,
            None => self.is_inconsistent = true,
        }
        self
    }
}

/// A member of one of these names.
fn either(raw: &Value, names: [&str; 2]) -> Option<u64> {
    number(raw, names[0]).or_else(|| number(raw, names[1]))
}

/// The members of a usage object of OpenAI that count. Either API's names may be there.
#[derive(Debug, Default, Deserialize)]
pub(super) struct OpenaiUsage {
    prompt_tokens: Option<u64>,
    input_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    output_tokens: Option<u64>,
    prompt_tokens_details: Option<OpenaiDetails>,
    input_tokens_details: Option<OpenaiDetails>,
    completion_tokens_details: Option<OpenaiDetails>,
    output_tokens_details: Option<OpenaiDetails>,
}

#[derive(Debug, Default, Deserialize)]
struct OpenaiDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

impl OpenaiUsage {
    fn of(raw: &Value) -> Self {
        let details = |name: &str| {
            let members = raw.get(name)?;
            Some(OpenaiDetails {
                cached_tokens: number(members, "cached_tokens"),
                cache_write_tokens: number(members, "cache_write_tokens"),
                reasoning_tokens: number(members, "reasoning_tokens"),
            })
        };
        Self {
            prompt_tokens: number(raw, "prompt_tokens"),
            input_tokens: number(raw, "input_tokens"),
            completion_tokens: number(raw, "completion_tokens"),
            output_tokens: number(raw, "output_tokens"),
            prompt_tokens_details: details("prompt_tokens_details"),
            input_tokens_details: details("input_tokens_details"),
            completion_tokens_details: details("completion_tokens_details"),
            output_tokens_details: details("output_tokens_details"),
        }
    }

    /// The counts; none where nothing is counted.
    pub(super) fn counts(&self) -> Option<Usage> {
        let prompt = self.prompt_tokens.or(self.input_tokens);
        let output = self.completion_tokens.or(self.output_tokens);
        let (prompt, output) = (prompt.or(output.map(|_| 0))?, output.unwrap_or(0));
        type Details<'a> = [&'a Option<OpenaiDetails>; 2];
        let detail = |of: Details<'_>, member: fn(&OpenaiDetails) -> Option<u64>| {
            of.into_iter().flatten().find_map(member)
        };
        let of_input = [&self.prompt_tokens_details, &self.input_tokens_details];
        let of_output = [&self.completion_tokens_details, &self.output_tokens_details];
        let cache_read = detail(of_input, |one| one.cached_tokens).unwrap_or(0);
        let cache_write_short = detail(of_input, |one| one.cache_write_tokens).unwrap_or(0);
        let usage = Usage {
            cache_read,
            cache_write_short,
            output,
            reasoning: detail(of_output, |one| one.reasoning_tokens),
            ..Usage::default()
        };
        Some(usage.with_uncached(prompt, cache_read.saturating_add(cache_write_short)))
    }
}

fn openai(raw: &Value) -> Option<Usage> {
    OpenaiUsage::of(raw).counts()
}

fn anthropic(raw: &Value) -> Option<Usage> {
    let input = number(raw, "input_tokens");
    let output = number(raw, "output_tokens");
    input.or(output)?;
    let created = number(raw, "cache_creation_input_tokens");
    let by_time = raw
        .get("cache_creation")
        .filter(|members| members.is_object());
    let timed = |name| by_time.and_then(|members| number(members, name));
    let short = timed("ephemeral_5m_input_tokens");
    let long = timed("ephemeral_1h_input_tokens");
    let (short, long) = match (short, long) {
        (None, None) => (created.unwrap_or(0), 0),
        (short, long) => (short.unwrap_or(0), long.unwrap_or(0)),
    };
    let details = raw.get("output_tokens_details");
    Some(Usage {
        uncached: input.unwrap_or(0),
        cache_read: number(raw, "cache_read_input_tokens").unwrap_or(0),
        cache_write_short: short,
        cache_write_long: long,
        output: output.unwrap_or(0),
        reasoning: details
            .and_then(|details| either(details, ["thinking_tokens", "reasoning_tokens"])),
        is_inconsistent: created.is_some_and(|created| created != short.saturating_add(long)),
        raw: Value::Null,
    })
}

fn gemini(raw: &Value) -> Option<Usage> {
    let prompt = number(raw, "promptTokenCount");
    let candidates = number(raw, "candidatesTokenCount");
    prompt.or(candidates)?;
    let tools = number(raw, "toolUsePromptTokenCount").unwrap_or(0);
    let thoughts = number(raw, "thoughtsTokenCount");
    let cache_read = number(raw, "cachedContentTokenCount").unwrap_or(0);
    let usage = Usage {
        cache_read,
        output: candidates
            .unwrap_or(0)
            .saturating_add(thoughts.unwrap_or(0)),
        reasoning: thoughts,
        ..Usage::default()
    };
    Some(usage.with_uncached(prompt.unwrap_or(0).saturating_add(tools), cache_read))
}

fn deepseek(raw: &Value) -> Option<Usage> {
    let plain = openai(raw)?;
    let prompt = number(raw, "prompt_tokens").unwrap_or(0);
    let hit = number(raw, "prompt_cache_hit_tokens").unwrap_or(0);
    let usage = Usage {
        cache_read: hit,
        output: plain.output,
        reasoning: plain.reasoning,
        ..Usage::default()
    };
    Some(match number(raw, "prompt_cache_miss_tokens") {
        Some(uncached) => Usage { uncached, ..usage },
        None => usage.with_uncached(prompt, hit),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The buckets in the order u, r, w5, w1, o.
    fn buckets(usage: &Usage) -> [u64; 5] {
        [
            usage.uncached,
            usage.cache_read,
            usage.cache_write_short,
            usage.cache_write_long,
            usage.output,
        ]
    }

    #[test]
    fn worked_examples_fall_into_their_buckets() {
        use UsageShape::{Anthropic, Deepseek, Gemini, Openai};
        for (name, shape, raw, expected) in [
            (
                "1: cached part of a prompt",
                Openai,
                json!({"prompt_tokens": 100, "completion_tokens": 5,
                    "prompt_tokens_details": {"cached_tokens": 64}}),
                [36, 64, 0, 0, 5],
            ),
            (
                "2: input beside what is cached",
                Anthropic,
                json!({"input_tokens": 100, "cache_creation_input_tokens": 20,
                    "cache_read_input_tokens": 30, "output_tokens": 2}),
                [100, 30, 20, 0, 2],
            ),
            (
                "3: a real bill",
                Anthropic,
                json!({"input_tokens": 3, "cache_creation_input_tokens": 12304,
                    "cache_read_input_tokens": 0, "output_tokens": 550}),
                [3, 0, 12304, 0, 550],
            ),
            (
                "4: two lifetimes",
                Anthropic,
                json!({"input_tokens": 1000, "cache_read_input_tokens": 4000,
                    "cache_creation_input_tokens": 5000, "output_tokens": 0,
                    "cache_creation": {"ephemeral_5m_input_tokens": 3000,
                        "ephemeral_1h_input_tokens": 2000}}),
                [1000, 4000, 3000, 2000, 0],
            ),
            (
                "5: written tokens",
                Openai,
                json!({"input_tokens": 2600, "output_tokens": 0,
                    "input_tokens_details": {"cached_tokens": 2000, "cache_write_tokens": 400}}),
                [200, 2000, 400, 0, 0],
            ),
            (
                "13: hits and misses",
                Deepseek,
                json!({"prompt_tokens": 11000, "completion_tokens": 0,
                    "prompt_cache_hit_tokens": 10000, "prompt_cache_miss_tokens": 1000}),
                [1000, 10000, 0, 0, 0],
            ),
            (
                "13 without misses",
                Deepseek,
                json!({"prompt_tokens": 11000, "completion_tokens": 0,
                    "prompt_cache_hit_tokens": 10000}),
                [1000, 10000, 0, 0, 0],
            ),
            (
                "thoughts are output",
                Gemini,
                json!({"promptTokenCount": 100, "cachedContentTokenCount": 40,
                    "toolUsePromptTokenCount": 7, "candidatesTokenCount": 10,
                    "thoughtsTokenCount": 5, "totalTokenCount": 122}),
                [67, 40, 0, 0, 15],
            ),
        ] {
            let usage = Usage::read(shape, &raw).expect(name);
            assert_eq!(buckets(&usage), expected, "{name}");
            assert!(!usage.is_inconsistent, "{name}");
            assert_eq!(usage.raw, raw);
        }
    }

    #[test]
    fn the_route_decides_and_nothing_is_counted_twice() {
        // A router gives the members of Anthropic beside a prompt that includes them.
        let raw = json!({"prompt_tokens": 12307, "completion_tokens": 550,
            "cache_creation_input_tokens": 12304, "cache_read_input_tokens": 0,
            "prompt_tokens_details": {"cached_tokens": 0}});
        let usage = Usage::read(UsageShape::of(WireFormat::OpenaiChat), &raw).unwrap();
        assert_eq!(usage.input(), 12307);
    }

    #[test]
    fn contradictions_are_marked_and_nothing_is_made_up() {
        let raw = json!({"prompt_tokens": 10, "completion_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": 64}});
        let usage = Usage::read(UsageShape::Openai, &raw).unwrap();
        assert!(usage.is_inconsistent);
        assert_eq!(usage.uncached, 0);
        let raw = json!({"input_tokens": 1, "cache_creation_input_tokens": 9, "output_tokens": 1,
            "cache_creation": {"ephemeral_5m_input_tokens": 3}});
        assert!(
            Usage::read(UsageShape::Anthropic, &raw)
                .unwrap()
                .is_inconsistent
        );
        for raw in [
            json!(null),
            json!({}),
            json!({"total_tokens": 5}),
            json!([1]),
        ] {
            for shape in [
                UsageShape::Openai,
                UsageShape::Anthropic,
                UsageShape::Gemini,
            ] {
                assert_eq!(Usage::read(shape, &raw), None, "{raw}");
            }
        }
    }
}
