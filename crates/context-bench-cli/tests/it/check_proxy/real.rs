//! Real proxies, as they come from the registry: what they were seen to do is found, and what
//! they do not do is not.

use std::path::Path;

use context_bench_testkit::{needs_proxy, proxy_path};

use super::found;
use crate::program::{Done, arg, command, run_with};

/// Checks a proxy whose program is in this folder.
fn check(program: &str, args: &[&str]) -> Done {
    let folder = Path::new(program).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = command();
    command.env("PATH", format!("{}:{path}", folder.display()));
    // A machine that is busy makes a proxy late, which is not what is tested here.
    command.args(["check-proxy", "-q", "--output", "json", "--patience", "10"]);
    command.args(args);
    run_with(&mut command)
}

fn has(done: &Done, arm: usize, there: &[&str], absent: &[&str]) {
    assert_eq!(done.code, 4, "{done}");
    let found = found(done, arm);
    for defect in there {
        assert!(found.iter().any(|one| one == defect), "no {defect}: {done}");
    }
    for defect in absent {
        assert!(!found.iter().any(|one| one == defect), "{defect}: {done}");
    }
}

#[needs_proxy("bin/kompact")]
#[test]
fn kompact_rewrites_roles_and_drops_parts_and_cache_marks() {
    let done = check(proxy_path!("bin/kompact"), &["kompact"]);
    let absent = [
        "T01", "T04", "T07", "T10", "T11", "T12", "T13", "T15", "T17",
    ];
    for arm in 0..2 {
        has(&done, arm, &["T02", "T06", "T08", "T16"], &absent);
        let report = done.json();
        let missing = &report["arms"][arm]["apis"][2];
        assert_eq!(missing["not_offered"], "/v1/responses answers 404");
    }
}

#[needs_proxy("bin/headroom")]
#[test]
fn headroom_adds_a_tool_and_asks_again() {
    let done = check(
        proxy_path!("bin/headroom"),
        &["headroom", "--arm", "transform"],
    );
    let absent = [
        "T01", "T02", "T04", "T06", "T07", "T11", "T12", "T13", "T14", "T17",
    ];
    has(&done, 0, &["T05", "T15"], &absent);
}

/// The profile of headroom as its users start it, with its own cache of answers.
#[needs_proxy("bin/headroom")]
#[test]
fn headroom_answers_repeats_by_itself_unless_it_is_told_not_to() {
    let profile = Path::new(env!("CARGO_MANIFEST_DIR"));
    let profile = profile.join("../context-bench/catalog/proxies/headroom.yaml");
    let text = std::fs::read_to_string(profile).expect("a profile");
    let text = text.replace("  - --no-cache\n", "");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cached.yaml");
    std::fs::write(&file, text).expect("written");
    let args = [arg(&file), "--arm", "transform", "--api", "openai"];
    let done = check(proxy_path!("bin/headroom"), &args);
    has(&done, 0, &["T13"], &[]);
}

/// `make test` does not install it, since it is to be compiled (see `proxy::real`).
#[needs_proxy("bin/llmtrim")]
#[test]
fn llmtrim_adds_texts_sorts_tools_and_asks_again_over_tls() {
    let done = check(
        proxy_path!("bin/llmtrim"),
        &["llmtrim", "--arm", "transform"],
    );
    let absent = [
        "T01", "T02", "T04", "T06", "T07", "T10", "T11", "T12", "T13", "T17",
    ];
    has(&done, 0, &["T03", "T05", "T08", "T15"], &absent);
}

#[needs_proxy("litellm/bin/litellm")]
#[test]
fn litellm_changes_errors_and_headers_and_asks_again() {
    let done = check(
        proxy_path!("litellm/bin/litellm"),
        &["litellm", "--arm", "transform"],
    );
    let absent = ["T01", "T04", "T05", "T06", "T12", "T13", "T17"];
    has(&done, 0, &["T07", "T09", "T10", "T15", "T16"], &absent);
}
