//! A provider of which a fifth of the answers is faulty: counts add up, and what failed is
//! billed and saves nothing.

use context_bench::tap::ArmRole;
use context_bench_testkit::proxy::TestProxy;
use context_bench_testkit::{ChatServer, Reply};

use super::{TestRun, answer, arm, assert_counts, direct, examples};

#[test]
fn counts_add_up_when_a_fifth_is_faulty() {
    let server = ChatServer::start(|request| match request.index % 5 {
        1 => match request.index % 4 {
            0 => Reply::status(500),
            1 => Reply::status(429),
            2 => Reply::reset(),
            _ => Reply::truncated("cut"),
        },
        _ => answer(request),
    });
    let proxies = [TestProxy::pass_through(), TestProxy::retrying()];
    let arms = vec![
        direct(),
        arm("pass", ArmRole::PassThrough, &proxies[0]),
        arm("retrying", ArmRole::PassThrough, &proxies[1]),
    ];
    let mut run = TestRun::new(&server, arms);
    run.examples = examples(60);
    run.workers = 16;
    run.retries = 2;
    let result = run.run();
    assert_counts(&result, &server);
    for (name, totals) in &result.wire {
        assert_eq!(totals.unattributed.calls, 0, "{name}: {totals:?}");
        // Whatever the client sent is with a row, also with those that failed.
        let rows = result.rows_of(name);
        let facts = || rows.iter().filter_map(|row| row.wire.as_deref());
        let client: u64 = facts().map(|facts| facts.client_calls).sum();
        let calls: u64 = facts().map(|facts| facts.calls.total()).sum();
        assert_eq!(client, totals.client_calls, "{name}");
        assert_eq!(calls, totals.calls, "{name}");
    }
    let retries = result.wire["retrying"].by_class.retry;
    assert!(retries > 0, "{:?}", result.wire["retrying"]);
    let hidden = result.rows_of("retrying").iter();
    let hidden = hidden.filter_map(|row| row.wire.as_deref());
    assert!(hidden.clone().any(|facts| facts.defects.has(15)));
    // Our own further attempts are no secret of a proxy.
    let open = result.rows_of("direct").iter();
    let mut open = open.filter_map(|row| row.wire.as_deref());
    assert!(open.all(|facts| !facts.defects.has(15)));
}

#[test]
fn what_never_reached_the_provider_is_counted_apart() {
    let server = ChatServer::start(|_| Reply::status(500));
    let run = TestRun::new(&server, vec![direct()]);
    // Nobody listens at its address any more.
    drop(server);
    let result = run.run();
    let arm = &result.wire["direct"];
    assert_eq!(arm.calls, 12);
    assert_eq!((arm.unsent.calls, arm.unsent.bytes), (arm.calls, arm.bytes));
    let facts = result.rows.iter().filter_map(|row| row.wire.as_deref());
    let unsent: Vec<_> = facts.map(|facts| facts.unsent.calls).collect();
    assert_eq!(unsent, [1; 12]);
}

#[test]
fn rows_that_failed_say_what_was_sent() {
    let server = ChatServer::start(|_| Reply::status(500));
    let result = TestRun::new(&server, vec![direct()]).run();
    assert_counts(&result, &server);
    for row in &result.rows {
        assert!(row.failure.is_some());
        let facts = row.wire.as_deref().expect("facts");
        assert_eq!((facts.client_calls, facts.calls.primary), (1, 1));
        assert_eq!(facts.tokens(), None);
        assert!(facts.all_upstream_bytes > 0);
    }
    assert_eq!(result.summary["direct"].value("wire_saved"), None);
}
