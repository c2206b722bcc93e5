//! Bills that are known to the last digit. The numbers are those of the examples that the price
//! book was specified with; those about caches that nobody asked are not here.

use serde_json::{Map, Value, json};

use super::{BookFile, Cost, PriceBook};
use crate::model::{ModelUse, TokenUse, UsageShape, WireUsage};

const BOOK: &str = r#"
schema: 1
book: {name: test, as_of: 2026-11-16}
models:
- {id: gpt-4o-mini, input: "0.15", output: "0.60", cache_read: "0.075"}
- {id: claude-sonnet-4-5, dated: true, input: "3", output: "15", cache_read: "0.30", cache_write_5m: "3.75", cache_write_1h: "6.00"}
- {id: claude-haiku-4-5, input: "1", output: "5", cache_read: "0.10", cache_write_5m: "1.25", cache_write_1h: "2"}
- {id: gpt-5.6-terra, input: "2", output: "12", cache_read: "0.20", cache_write_5m: "2.50"}
- id: gpt-5.4
  input: "2.5"
  output: "15"
  cache_read: "0.25"
  tiers: [{above: 272000, input: "5", output: "22.5", cache_read: "0.5"}]
- id: grok-4.5
  input: "2"
  output: "6"
  tiers: [{above: 200000, inclusive: true, input: "4", output: "12"}]
- id: deepseek-flash
  input: "0.30"
  output: "1.20"
  cache_read: "0.006"
  windows:
  - {utc: ["00:00-01:00", "04:00-06:00", "10:00-24:00"], weekdays: [1, 2, 3, 4, 5], input: "0.15", output: "0.60", cache_read: "0.003"}
  - {weekdays: [6, 7], input: "0.15", output: "0.60", cache_read: "0.003"}
- id: flexible
  input: "2"
  output: "4"
  tiers: [{service: flex, input: "1", output: "2"}, {service: flex, above: 1000, input: "3", output: "6"}]
- {id: plain, input: "1", output: "1"}
- {id: as-input, input: "1", output: "1", cache: as_input}
- {id: each, input: "0", output: "0", per_request: "0.01"}
- {id: llama, provider: local, free: true}
"#;

fn book() -> PriceBook {
    PriceBook::new(vec![BookFile::parse(BOOK, "test").expect("valid")]).expect("one currency")
}

fn map(usage: &Value) -> &Map<String, Value> {
    usage.as_object().expect("a map")
}

fn cost(model: &str, usage: WireUsage) -> Cost {
    book().cost(&ModelUse::call(Some(model.into()), usage))
}

/// The exact amount.
fn bill(model: &str, usage: WireUsage) -> String {
    let cost = cost(model, usage);
    cost.exact()
        .map_or_else(|| format!("{cost:?}"), |money| money.to_string())
}

fn of(buckets: [u64; 5]) -> WireUsage {
    let [
        uncached,
        cache_read,
        cache_write_short,
        cache_write_long,
        output,
    ] = buckets;
    WireUsage {
        uncached,
        cache_read,
        cache_write_short,
        cache_write_long,
        output,
        ..WireUsage::default()
    }
}

#[test]
fn bills_of_providers() {
    // 1: what a cache served is part of the prompt.
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 64}});
    let found = UsageShape::Chat.buckets(map(&usage));
    assert_eq!(found, of([36, 64, 0, 0, 5]));
    assert_eq!(bill("gpt-4o-mini", found), "0.0000132");
    // 2: with Anthropic it is not.
    let usage = json!({"input_tokens": 100, "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 30, "output_tokens": 2});
    let found = UsageShape::Anthropic.buckets(map(&usage));
    assert_eq!(found, of([100, 30, 20, 0, 2]));
    assert_eq!(bill("claude-sonnet-4-5-20250929", found), "0.000414");
    // 3: a real bill; what is written is not counted twice (0.091311).
    let usage = json!({"input_tokens": 3, "cache_creation_input_tokens": 12304,
        "cache_read_input_tokens": 0, "output_tokens": 550});
    assert_eq!(
        bill(
            "claude-sonnet-4-5",
            UsageShape::Anthropic.buckets(map(&usage))
        ),
        "0.054399"
    );
    // 4: two lifetimes of a cache in one request.
    let usage = json!({"input_tokens": 1000, "cache_creation_input_tokens": 5000,
        "cache_creation": {"ephemeral_5m_input_tokens": 3000, "ephemeral_1h_input_tokens": 2000},
        "cache_read_input_tokens": 4000, "output_tokens": 0});
    let found = UsageShape::Anthropic.buckets(map(&usage));
    assert_eq!(
        (found, found.input()),
        (of([1000, 4000, 3000, 2000, 0]), 10_000)
    );
    assert_eq!(bill("claude-sonnet-4-5", found), "0.02745");
    // 5: written tokens are part of the prompt of Responses.
    let usage = json!({"input_tokens": 2600, "output_tokens": 0,
        "input_tokens_details": {"cached_tokens": 2000, "cache_write_tokens": 400}});
    let found = UsageShape::Responses.buckets(map(&usage));
    assert_eq!(found, of([200, 2000, 400, 0, 0]));
    assert_eq!(bill("gpt-5.6-terra", found), "0.0018");
}

#[test]
fn the_whole_of_a_long_request_has_the_prices_of_its_tier() {
    // 6
    for (prompt, expected) in [
        (272_000, "0.47"),
        (272_001, "0.932505"),
        (300_000, "1.0725"),
    ] {
        let usage = of([prompt - 100_000, 100_000, 0, 0, 1000]);
        assert_eq!(bill("gpt-5.4", usage), expected, "{prompt}");
    }
    assert_eq!(bill("grok-4.5", of([199_999, 0, 0, 0, 0])), "0.399998");
    assert_eq!(bill("grok-4.5", of([200_000, 0, 0, 0, 0])), "0.8");
    // Of calls that are summed up it is not known which of them were long.
    let mut many = ModelUse::call(Some("gpt-5.4".into()), of([300_000, 0, 0, 0, 0]));
    many.calls = 2;
    many.longest = 272_000;
    assert_eq!(book().cost(&many).exact().map(|m| m.to_f64()), Some(0.75));
    many.longest = 280_000;
    let cost = book().cost(&many);
    assert_eq!(
        (cost.least.to_f64(), cost.most.map(|m| m.to_f64())),
        (0.75, Some(1.5))
    );
}

#[test]
fn a_cache_that_is_written_again_and_again_costs_more_than_it_saves() {
    // 9
    let control = cost("claude-haiku-4-5", of([0, 146_572, 29_446, 0, 0]));
    let digest = cost("claude-haiku-4-5", of([0, 0, 85_876, 0, 0]));
    assert_eq!(control.least.to_string(), "0.0514647");
    assert_eq!(digest.least.to_string(), "0.107345");
}

#[test]
fn a_helper_model_is_billed_as_well() {
    // 12
    assert_eq!(
        bill("claude-sonnet-4-5", of([8000, 0, 0, 0, 300])),
        "0.0285"
    );
    let helper = cost("claude-haiku-4-5", of([8000, 0, 0, 0, 2000]));
    let answer = cost("claude-sonnet-4-5", of([2000, 0, 0, 0, 300]));
    let proxy: Cost = [helper, answer].into_iter().sum();
    assert_eq!(
        proxy.exact().map(|money| money.to_string()).as_deref(),
        Some("0.0285")
    );
}

#[test]
fn prices_depend_on_the_time_of_day() {
    // 13: the price of a hit is that of the book, not a tenth of the input (0.0006).
    let usage = json!({"prompt_tokens": 11_000, "prompt_cache_hit_tokens": 10_000,
        "prompt_cache_miss_tokens": 1_000, "completion_tokens": 0});
    let usage = UsageShape::Chat.buckets(map(&usage));
    assert_eq!(usage, of([1000, 10_000, 0, 0, 0]));
    let mut call = ModelUse::call(Some("deepseek-flash".into()), usage);
    let monday = 1_794_787_200;
    let hour = 3_600;
    for (at, expected) in [
        (monday + 2 * hour, "0.00036"),
        (monday + 5 * hour, "0.00018"),
        (monday + 6 * hour, "0.00036"),
        (monday + 23 * hour, "0.00018"),
        (monday + (5 * 24 + 2) * hour, "0.00018"),
    ] {
        call.at = Some(at);
        let exact = book().cost(&call).exact().map(|money| money.to_string());
        assert_eq!(exact.as_deref(), Some(expected), "{at}");
    }
    // Without a time both ends are known.
    call.at = None;
    let cost = book().cost(&call);
    assert_eq!(cost.exact(), None);
    assert_eq!(cost.least.to_string(), "0.00018");
    assert_eq!(
        cost.most.map(|money| money.to_string()).as_deref(),
        Some("0.00036")
    );
}

#[test]
fn what_is_tried_again_is_billed_again() {
    // 16
    let first = cost("claude-sonnet-4-5", of([1000, 0, 0, 0, 50]));
    let second = cost("claude-sonnet-4-5", of([1000, 0, 0, 0, 200]));
    assert_eq!(
        (first.least.to_string(), second.least.to_string()),
        ("0.00375".into(), "0.006".into())
    );
    let both: Cost = [first, second].into_iter().sum();
    assert_eq!(
        both.exact().map(|money| money.to_string()).as_deref(),
        Some("0.00975")
    );
}

#[test]
fn what_is_not_known_is_not_zero() {
    // 17: an answer without usage.
    let aborted = WireUsage {
        unknown: 1,
        ..WireUsage::default()
    };
    let unknown = cost("gpt-4o-mini", aborted);
    assert_eq!((unknown.most, unknown.is_priced), (None, false));
    let known = cost("gpt-4o-mini", of([1_000_000, 0, 0, 0, 0]));
    let both: Cost = [known, unknown].into_iter().sum();
    assert_eq!((both.least.to_string(), both.most), ("0.15".into(), None));
    // Models, members and services that the book does not have.
    for (model, usage) in [
        ("gpt-4o", of([1, 0, 0, 0, 0])),
        ("plain", of([1, 1, 0, 0, 0])),
        ("plain", of([1, 0, 1, 0, 0])),
        ("gpt-5.6-terra", of([1, 0, 0, 1, 0])),
    ] {
        assert_eq!(cost(model, usage), Cost::UNKNOWN, "{model}");
    }
    assert_eq!(bill("as-input", of([1, 1, 1, 1, 1])), "0.000005");
    let service = |name: &str, input: u64| {
        let call = ModelUse::call(Some("flexible".into()), of([input, 0, 0, 0, 1]));
        let cost = book().cost(&call.with_service(Some(name)));
        cost.exact().map(|money| money.to_string())
    };
    assert_eq!(service("default", 1).as_deref(), Some("0.000006"));
    assert_eq!(service("flex", 1).as_deref(), Some("0.000003"));
    assert_eq!(service("flex", 1001).as_deref(), Some("0.003009"));
    assert_eq!(service("priority", 1), None);
    // What costs nothing says so.
    let free = cost("llama", of([5, 0, 0, 0, 5]));
    assert_eq!(
        (free.exact().map(|m| m.pico()), free.is_priced),
        (Some(0), true)
    );
    assert_eq!(bill("each", of([7, 0, 0, 0, 7])), "0.01");
    // Members that contradict each other: the least is what is known.
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 1,
        "prompt_tokens_details": {"cached_tokens": 40}});
    let usage = UsageShape::Chat.buckets(map(&usage));
    assert_eq!((usage.uncached, usage.inconsistent), (0, 1));
    let odd = cost("gpt-4o-mini", usage);
    assert_eq!((odd.most, odd.is_priced), (None, true));
    // Missing counts are not zero either.
    let part = UsageShape::Chat.buckets(map(&json!({"prompt_tokens": 10})));
    assert_eq!(part.unknown, 1);
    assert!(TokenUse::reported(UsageShape::Chat, map(&json!({"prompt_tokens": 10}))).reported);
    // No number makes it panic.
    let endless = of([u64::MAX; 5]);
    assert!(cost("claude-sonnet-4-5", endless).least.to_f64() > 1e13);
}
