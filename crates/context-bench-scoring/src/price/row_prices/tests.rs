use serde_json::json;

use super::super::BookFile;
use super::*;
use crate::model::{
    ArmRole, CallStats, Example, Failure, Output, Reply, Scores, WireFacts, WireUsage,
};

fn book(text: &str) -> PriceBook {
    let text = format!("schema: 1\nmodels: [{text}]\n");
    PriceBook::new(vec![BookFile::parse(&text, "p").expect("valid")]).expect("one currency")
}

const PRICES: &str = "{id: m, input: 1, output: 2, cache_read: 0.1, cache_write_5m: 3}, {id: help, input: 10, output: 10}";

fn row(said: &serde_json::Value, usage: &serde_json::Value) -> EvalRow {
    let output = Output::reply(&Example::new(), "x")
        .with("api_reply", said.clone())
        .with("api_usage", usage.clone());
    let mut row = EvalRow::new("s", 1_usize, Scores::new(), 0, 0);
    row.reply = Some(Box::new(Reply::of(&output)));
    row
}

fn exact(prices: &RowPrices, row: &EvalRow) -> Option<u128> {
    prices
        .cost(row)
        .exact()
        .map(|money| money.pico() / 1_000_000)
}

#[test]
fn rows_cost_what_their_tokens_cost() {
    let prices = RowPrices::new(book(PRICES), PriceBook::default());
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10});
    let plain = row(&json!({"model": "m"}), &usage);
    assert!(
        plain
            .reply
            .as_deref()
            .is_some_and(|reply| reply.calls.is_empty())
    );
    assert_eq!(exact(&prices, &plain), Some(120));
    // A reply that was stored costs the same.
    let stored = serde_json::to_value(&plain.reply).expect("valid");
    let mut again = plain.clone();
    again.reply = serde_json::from_value(stored).expect("valid");
    assert_eq!(exact(&prices, &again), Some(120));
    let written =
        json!({"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 5});
    let written = row(&json!({"model": "m", "api": "anthropic"}), &written);
    assert_eq!(exact(&prices, &written), Some(135));
    let calls = json!([{"model": "m", "uncached": 1, "output": 1}, {"model": "help", "uncached": 1, "output": 0}]);
    let several = row(&json!({"model": "m", "calls": calls}), &usage);
    assert_eq!(exact(&prices, &several), Some(13));
    let other = RowPrices::new(book("{id: m, input: 2, output: 4}"), PriceBook::default());
    assert_eq!(
        exact(&other, &plain),
        Some(240),
        "other prices, other money"
    );
}

#[test]
fn what_may_have_been_billed_is_not_exact() {
    let prices = RowPrices::new(book(PRICES), PriceBook::default());
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10});
    let plain = || row(&json!({"model": "m"}), &usage);
    assert_eq!(
        prices.cost(&row(&json!({"model": "n"}), &usage)),
        Cost::UNKNOWN
    );
    assert_eq!(prices.cost(&row(&json!({}), &usage)), Cost::UNKNOWN);
    assert_eq!(
        prices.cost(&row(&json!({"model": "m"}), &json!({}))),
        Cost::UNKNOWN
    );
    let mut late = plain();
    late.call = Some(Box::new(CallStats {
        attempts: 2,
        timeouts: 1,
        ..CallStats::default()
    }));
    let cost = prices.cost(&late);
    assert_eq!((cost.least.pico() / 1_000_000, cost.most), (120, None));
    let cached = row(&json!({"model": "m", "from_cache": "x-cache"}), &usage);
    let cost = prices.cost(&cached);
    assert_eq!(
        (cost.least.pico(), cost.most.map(|m| m.pico() / 1_000_000)),
        (0, Some(120))
    );
    let failed = |kind, attempts| {
        let mut row = EvalRow::new("s", 1_usize, Scores::new(), 0, 0);
        row.failure = Some(Box::new(Failure::new(kind, "no")));
        row.call = Some(Box::new(CallStats {
            attempts,
            ..CallStats::default()
        }));
        prices.cost(&row)
    };
    assert_eq!(failed(FailureKind::BadRequest, 1), Cost::NOTHING);
    assert_eq!(failed(FailureKind::BadRequest, 3), Cost::UNKNOWN);
    assert_eq!(failed(FailureKind::Timeout, 1), Cost::UNKNOWN);
}

#[test]
fn a_model_that_nobody_named_has_only_prices_that_somebody_gave() {
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10});
    let plain = row(&json!({"model": "m"}), &usage);
    let unnamed = |own: PriceBook| RowPrices::new(book(PRICES), own).unnamed(["s".to_owned()]);
    assert_eq!(unnamed(PriceBook::default()).cost(&plain), Cost::UNKNOWN);
    assert_eq!(exact(&unnamed(book(PRICES)), &plain), Some(120));
    let used = |prices: &RowPrices| prices.used([("s", "m"), ("t", "m")].into_iter()).len();
    assert_eq!(used(&unnamed(PriceBook::default())), 1, "of `t`");
}

#[test]
fn behind_a_tap_all_calls_count_and_none_is_forgotten() {
    let prices = RowPrices::new(book(PRICES), PriceBook::default()).tapped(["s".to_owned()]);
    let used = |model: &str, uncached, unknown| {
        let usage = WireUsage {
            uncached,
            unknown,
            ..WireUsage::default()
        };
        ModelUse::call(Some(model.into()), usage)
    };
    let tapped = |uses: Vec<ModelUse>, primary, aux| {
        let mut row = row(
            &json!({"model": "m"}),
            &json!({"prompt_tokens": 9, "completion_tokens": 9}),
        );
        let mut facts = WireFacts {
            client_calls: 1,
            uses,
            ..WireFacts::default()
        };
        (facts.calls.primary, facts.calls.aux) = (primary, aux);
        row.wire = Some(Box::new(facts));
        row
    };
    let both = vec![used("m", 100, 0), used("help", 3, 0)];
    assert_eq!(exact(&prices, &tapped(both.clone(), 1, 1)), Some(130));
    assert_eq!(
        prices.cost(&tapped(Vec::new(), 0, 0)),
        Cost::NOTHING,
        "answered by the proxy itself"
    );
    assert_eq!(
        prices.cost(&tapped(Vec::new(), 1, 0)),
        Cost::UNKNOWN,
        "an earlier version"
    );
    let mut withheld = tapped(both.clone(), 1, 1);
    withheld.wire = None;
    assert_eq!(prices.cost(&withheld), Cost::UNKNOWN);
    let refused = vec![used("odd", 0, 0), used("m", 100, 0)];
    assert_eq!(exact(&prices, &tapped(refused, 2, 0)), Some(100));
    let cut = prices.cost(&tapped(vec![used("m", 0, 1), used("m", 100, 0)], 2, 0));
    assert_eq!((cut.least.pico() / 1_000_000, cut.most), (100, None));
    // The arm pays for what is nobody's, and for what was asked in earlier runs.
    let mut arm = ArmWire::new(ArmRole::Transform);
    arm.uses = both;
    arm.usage.uncached = 103;
    arm.unattributed.uses = vec![used("help", 3, 0)];
    arm.count_earlier(
        tapped(vec![used("m", 7, 0)], 1, 0)
            .wire
            .as_deref()
            .expect("facts"),
    );
    let cost = prices.arm_cost("s", &arm);
    assert_eq!(
        cost.exact().map(|money| money.pico() / 1_000_000),
        Some(137)
    );
    assert_eq!(
        prices.unattributed_cost("s", &arm).least.pico() / 1_000_000,
        30
    );
    arm.uses.clear();
    arm.earlier = None;
    assert_eq!(prices.arm_cost("s", &arm), Cost::UNKNOWN);
}

#[test]
fn the_digest_depends_on_the_prices_that_were_used_and_on_nothing_else() {
    let used = |text: &str| {
        let prices = RowPrices::new(book(text), PriceBook::default());
        UsedPrice::digest(&prices.used([("s", "m"), ("s", "odd")].into_iter()))
    };
    let plain = used("{id: m, input: 1}");
    assert_eq!(
        used("{id: m, input: \"1.00\", source: elsewhere}, {id: n, input: 5}"),
        plain
    );
    assert_ne!(used("{id: m, input: 2}"), plain);
    assert_ne!(
        used("{id: m, input: 1, tiers: [{above: 5, input: 1}]}"),
        plain
    );
}
