//! The worked cases are whole.

use std::collections::BTreeSet;

use context_bench_testkit::worked;

#[test]
fn every_case_of_the_original_tool_has_its_own_id() {
    let cases = worked::original_tool();
    let ids: BTreeSet<&str> = cases
        .iter()
        .map(|case| case["id"].as_str().unwrap())
        .collect();
    assert_eq!((ids.len(), cases.len()), (448, 448));
}

#[test]
fn every_kind_of_case_of_the_harness_is_there() {
    let kinds = worked::lm_evaluation_harness();
    for kind in ["index", "filters_metrics", "prompts", "formats"] {
        assert!(!kinds[kind].as_array().unwrap().is_empty(), "{kind}");
    }
}
