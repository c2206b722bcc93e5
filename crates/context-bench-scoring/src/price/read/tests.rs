use context_bench_error::Hint as _;

use super::*;

fn read(text: &str) -> Result<BookFile, PriceError> {
    BookFile::parse(text, "p.yaml")
}

#[test]
fn a_file_says_what_it_is_and_what_models_cost() {
    let file = read(
        "schema: 1\n\
         book: {name: ours, as_of: 2026-11-16, currency: eur, source: contract}\n\
         models:\n\
         - id: a\n  provider: us\n  aliases: [b]\n  dated: true\n  valid_from: 2026-01-02\n  \
           input: \"3.00\"\n  output: 15\n  cache_read: 0.3\n  per_request: \"0.01\"\n  \
           tiers: [{above: 10, input: 4}, {service: flex, input: 1}]\n  \
           windows: [{utc: [\"00:00-01:00\"], weekdays: [1], input: 2}]\n\
         - {id: llama, provider: local, free: true, source: here}\n",
    )
    .expect("valid");
    assert_eq!((&*file.name, &*file.currency), ("ours", "EUR"));
    assert_eq!(file.as_of.as_deref(), Some("2026-11-16"));
    let a = &file.entries[0];
    assert_eq!(a.prices.input, Some(Money::from_pico(3_000_000)));
    assert_eq!(a.prices.cache_read, Some(Money::from_pico(300_000)));
    assert_eq!(a.prices.per_request, Some(Money::from_pico(10_000_000_000)));
    assert_eq!(a.prices.cache_write_5m, None, "not given is not zero");
    assert_eq!((a.tiers.len(), a.windows.len()), (2, 1));
    assert_eq!(a.source.as_deref(), Some("contract"));
    assert!(file.entries[1].is_free);
    assert_eq!(file.entries[1].source.as_deref(), Some("here"));
    let plain = read("schema: 1\nmodels: []\n").expect("valid");
    assert_eq!((&*plain.name, &*plain.currency), ("p.yaml", "USD"));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, expected, hint) in [
        (
            "",
            "a file of prices is null, and a mapping is needed\n  at p.yaml",
            "example",
        ),
        (
            "models: []",
            "there is no `schema`\n  at p.yaml:1:1",
            "schema: 1",
        ),
        (
            "schema: 2\nmodels: []",
            "this format of prices is not known\n  at p.yaml:1:9",
            "reads",
        ),
        (
            "schema: 1",
            "there are no `models`\n  at p.yaml:1:1",
            "models:",
        ),
        (
            "schema: 1\nmodels: {}",
            "`models` is a mapping, and a list is needed\n  at p.yaml:2:9",
            "",
        ),
        (
            "schema: 1\nmodells: []",
            "a file of prices has no key `modells`\n  at p.yaml:2:1",
            "did you mean `models`",
        ),
        (
            "schema: 1\nmodels: [{input: 1}]",
            "a model without an `id`\n  at p.yaml:2:10",
            "answers",
        ),
        (
            "schema: 1\nmodels: [{id: a}]",
            "`a` has no price of `input`\n  at p.yaml:2:10",
            "free: true",
        ),
        (
            "schema: 1\nmodels: [{id: a, free: true, input: 0}]",
            "`a` is free and has prices\n  at p.yaml:2:10",
            "leave",
        ),
        (
            "schema: 1\nmodels: [{id: a, input: cheap}]",
            "`input: cheap` is no price\n  at p.yaml:2:25",
            "six decimals",
        ),
        (
            "schema: 1\nmodels: [{id: a, input: -1}]",
            "`input: -1` is no price\n  at p.yaml:2:25",
            "six decimals",
        ),
        (
            "schema: 1\nmodels: [{id: a, input: 0.0000001}]",
            "`input: 0.0000001` is no price\n  at p.yaml:2:25",
            "six decimals",
        ),
        (
            "schema: 1\nmodels: [{id: a, input: [1]}]",
            "`input` is a list, and a price is needed\n  at p.yaml:2:25",
            "",
        ),
        (
            "schema: 1\nmodels: [{id: a, input: 1, input: 2}]",
            "`input` is given twice\n  at p.yaml:2:28",
            "leave",
        ),
        (
            "schema: 1\nmodels: [{id: a, input: 1, cache: free}]",
            "`cache` may only be `as_input`\n  at p.yaml:2:35",
            "cache_read",
        ),
        (
            "schema: 1\nmodels: [{id: a, input: 1, tiers: [{input: 1}]}]",
            "a tier says neither `above` nor `service`\n  at p.yaml:2:36",
            "above: 272000",
        ),
        (
            "schema: 1\nmodels: [{id: a, input: 1, tiers: [{above: 5}]}]",
            "a tier has no prices\n  at p.yaml:2:36",
            "",
        ),
        (
            "schema: 1\nmodels: [{id: a, input: 1, windows: [{utc: [noon], input: 1}]}]",
            "`utc` is text, and times such as `\"04:00-06:00\"` is needed\n  at p.yaml:2:45",
            "midnight",
        ),
        (
            "schema: 1\nmodels: [{id: a, input: 1, windows: [{weekdays: [0], input: 1}]}]",
            "`weekdays` is an integer, and a day from 1 (Monday) to 7 is needed\n  at p.yaml:2:50",
            "",
        ),
        (
            "schema: 1\nbook: {as_of: today}\nmodels: []",
            "`as_of` is text, and a day such as `2026-11-16` is needed\n  at p.yaml:2:15",
            "",
        ),
    ] {
        let error = read(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
        let said = error.hint().unwrap_or_default();
        assert!(said.contains(hint), "{text}: {said}");
    }
    assert!(read("schema: [").is_err());
}
